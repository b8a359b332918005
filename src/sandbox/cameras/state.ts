import { createHash } from 'node:crypto';
import type { Clock } from '#lib/clock.ts';
import { sleep } from '#lib/wait.ts';
import { Authenticator } from './auth.ts';
import { type Scene, takePicture } from './picture.ts';
import { Subscriptions } from './subscriptions.ts';
import { type Notification, type Property, type PropertyName, properties, propertyNames } from './topics.ts';

/** What one simulated camera is and remembers. */
export class CameraState {
  readonly id: string;
  /** Set once the port is known. */
  url = '';
  readonly serial: string;
  readonly mac: string;
  readonly subscriptions: Subscriptions;
  readonly auth: Authenticator;
  readonly #on = new Set<PropertyName>();
  readonly #requests = new Map<string, number>();
  readonly #pictureBytes: number;
  readonly #pictureMs: number;
  readonly #clock: Clock;
  #clockSkewMs: number;
  #pictures = 0;

  constructor(options: {
    id: string;
    clock: Clock;
    username: string;
    password: string;
    clockSkewMs: number;
    subscriptionLimit: number;
    pictureBytes: number;
    pictureMs: number;
  }) {
    this.id = options.id;
    this.#clock = options.clock;
    this.#clockSkewMs = options.clockSkewMs;
    this.#pictureBytes = options.pictureBytes;
    this.#pictureMs = options.pictureMs;
    const digest = createHash('sha256').update(options.id).digest('hex');
    this.serial = digest.slice(0, 12).toUpperCase();
    // 02: locally administered.
    this.mac = ['02', ...(digest.slice(12, 22).match(/../g) ?? [])].join(':');
    const now = () => this.now();
    this.subscriptions = new Subscriptions({ limit: options.subscriptionLimit, now });
    this.auth = new Authenticator({ ...options, realm: 'camera', now });
  }

  /** The camera's own clock, milliseconds since 1970. */
  now(): number {
    return this.#clock.wall() + this.#clockSkewMs;
  }

  setClockSkew(ms: number, { keepsSubscriptions = false } = {}): void {
    if (keepsSubscriptions) this.subscriptions.moveBy(ms - this.#clockSkewMs);
    this.#clockSkewMs = ms;
  }

  /** Tells every subscriber when the state changed. */
  set(name: PropertyName, on: boolean): void {
    if (this.#on.has(name) === on) return;
    if (on) this.#on.add(name);
    else this.#on.delete(name);
    this.subscriptions.notify(this.#messages(name, 'Changed'));
  }

  /** The present state of every property, for a new subscriber. */
  initial(): Notification[] {
    return propertyNames.flatMap((name) => this.#messages(name, 'Initialized'));
  }

  /** Rejects when the signal aborts. */
  async picture(signal: AbortSignal): Promise<Buffer> {
    if (this.#pictureMs > 0) await sleep(this.#pictureMs, signal);
    this.#pictures += 1;
    const scene: Scene = {
      id: this.id,
      counter: this.#pictures,
      timeMs: this.now(),
      person: this.#on.has('person'),
      motion: this.#on.has('motion'),
      tampered: this.#on.has('tamper'),
    };
    return takePicture(scene, this.#pictureBytes);
  }

  /** Counts one request; names beyond 200 are counted as `other`. */
  count(operation: string): void {
    const key = this.#requests.size < 200 || this.#requests.has(operation) ? operation : 'other';
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1);
  }

  counts(): Record<string, number> {
    return Object.fromEntries(this.#requests);
  }

  #messages(name: PropertyName, operation: 'Initialized' | 'Changed'): Notification[] {
    const value = this.#on.has(name) ? 'true' : 'false';
    const told: readonly Property[] = properties[name];
    return told.map(({ topic, source, item }) => ({
      topic,
      operation,
      source,
      data: { [item]: value },
      at: this.now(),
    }));
  }
}
