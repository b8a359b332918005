import type { Logger } from 'pino';
import { describe, isCode, SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import type { AddressMode } from './address.ts';
import { type CreateLimit, createLimit } from './create-limit.ts';
import type { Device } from './device.ts';
import { type Lease, leaseOf } from './lease.ts';
import type { Learned, SessionMemory } from './session-memory.ts';
import { type Pulled, type PullPoint, pullPoint, type Style, type Subscription } from './subscription.ts';
import type { Timing } from './timing.ts';
import { createWays, type Ways } from './ways.ts';

export interface OwnPointOptions {
  readonly device: Device;
  readonly addresses: AddressMode;
  readonly timing: Timing;
  readonly clock: Clock;
  readonly log: Logger;
  readonly memory: SessionMemory;
  /** One more was asked for. */
  readonly created: () => void;
}

interface Held {
  readonly subscription: Subscription;
  lease: Lease;
  /** Answered pulls. */
  pulls: number;
}

/**
 * The one pull point that is ours at a camera: asked for in the way the camera wants, renewed in its dialect, ended, and
 * remembered over a restart, since a forgotten one uses up one of the camera's few slots.
 */
export class OwnPoint {
  readonly #options: OwnPointOptions;
  readonly #points: PullPoint;
  readonly #creates: CreateLimit;
  #ways: Ways;
  #renewTime: Style['time'] = 'duration';
  #held: Held | undefined;

  constructor(options: OwnPointOptions) {
    const { device, addresses, timing, clock } = options;
    this.#options = options;
    this.#points = pullPoint(device, addresses, timing);
    this.#creates = createLimit({ clock, perWindow: timing.createsPerWindow, windowMs: timing.createWindowMs });
    this.#ways = createWays(device.base);
  }

  get lease(): Lease {
    return this.#held?.lease ?? leaseOf(0, this.#options.clock.monotonic());
  }

  /** Answered pulls of the present one. */
  get pulls(): number {
    return this.#held?.pulls ?? 0;
  }

  get way(): Learned['way'] {
    return this.#ways.learned;
  }

  /** Takes what an earlier run found out. */
  use(way: Learned['way']): void {
    this.#ways = createWays(this.#options.device.base, way);
  }

  /** Makes a new one; there is none of ours now. `eventService`: what the camera names; it is tried rather than believed. */
  async make(eventService: URL | undefined, signal: AbortSignal): Promise<void> {
    const { created, clock, memory } = this.#options;
    this.#ways.begin(eventService);
    for (let tries = 0; ; tries += 1) {
      await this.#creates.wait(signal);
      try {
        created();
        const { url, style } = this.#ways.current;
        const subscription = await this.#points.create(url, style, signal);
        this.#held = { subscription, lease: leaseOf(subscription.grantedMs, clock.monotonic()), pulls: 0 };
        return await memory.keepSubscription(subscription, signal);
      } catch (error) {
        // It may come from the way we ask: once the next way is tried at once, unless the camera is just full.
        if (!isRefused(error)) throw error;
        this.#ways.refused();
        if (tries >= 1) throw error;
      }
    }
  }

  /** Asks for the present state of everything; best effort. */
  synchronise(signal: AbortSignal): Promise<void> {
    return this.#points.synchronise(this.#present().subscription, this.#style, signal);
  }

  async pull(timeoutMs: number, signal: AbortSignal): Promise<Pulled> {
    const held = this.#present();
    const pulled = await this.#points.pull(held.subscription, this.#style, timeoutMs, signal);
    held.pulls += 1;
    if (held.pulls === 1) this.#ways.worked();
    return pulled;
  }

  /** In the camera's dialect; one that refuses both is made anew before its end. */
  async renew(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const held = this.#present();
    for (const time of [this.#renewTime, this.#renewTime === 'duration' ? 'absolute' : 'duration'] as const) {
      try {
        const lifeMs = await this.#points.renew(held.subscription, { ...this.#style, time }, signal);
        this.#renewTime = time;
        held.lease = leaseOf(lifeMs, clock.monotonic());
        return;
      } catch (error) {
        if (!isCode(error, 'camera_fault') && !isCode(error, 'camera_bad_answer')) throw error;
        log.debug({ reason: describe(error) }, 'the camera does not renew its pull point');
        // Who asks was refused and not how: one try more is one nearer to a locked account.
        if (error instanceof SitewardError && error.facts.status === 401) break;
      }
    }
    held.lease = { ...held.lease, renewable: false };
  }

  /** The pull point, if there is one, was refused before it ever brought an answer: it was asked in the wrong way. */
  refused(): void {
    if (this.#held !== undefined) this.#ways.refused();
  }

  /**
   * Ends it, or what an earlier run left. `unknown`: no answer; it stays remembered and is ended later. `gone`: the camera
   * did not know it. `lost`: the same, before its time was over.
   */
  async end(signal: AbortSignal): Promise<'ended' | 'gone' | 'lost' | 'unknown'> {
    const { memory, clock } = this.#options;
    const left = this.#held?.subscription ?? (await memory.subscription(signal));
    if (left === undefined) return 'ended';
    let result: 'ended' | 'gone' | 'lost' = 'ended';
    try {
      await this.#points.unsubscribe(left, this.#style, signal);
    } catch (error) {
      if (!isRefused(error)) return 'unknown';
      result = clock.monotonic() < this.lease.endsAt ? 'lost' : 'gone';
    }
    this.#held = undefined;
    await memory.keepSubscription(undefined, signal);
    return result;
  }

  get #style(): Style {
    return this.#ways.current.style;
  }

  #present(): Held {
    if (this.#held === undefined) throw new SitewardError('internal', 'There is no pull point');
    return this.#held;
  }
}

/** The camera understood that something was asked, and did not do it. One that is just full is no such. */
export const isRefused = (error: unknown): boolean =>
  error instanceof SitewardError &&
  (error.code === 'camera_fault' || error.code === 'camera_bad_answer') &&
  error.facts.full !== true;
