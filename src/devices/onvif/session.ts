import type { Logger } from 'pino';
import { describe, type ErrorCode, isCode, SitewardError } from '#errors.ts';
import { type Backoff, backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { sleep, withDeadline } from '#lib/wait.ts';
import type { DeviceRef, Signal } from '#site/model/index.ts';
import type { CameraState, CameraStatus, MemoryPort } from './camera.ts';
import { type CreateLimit, createLimit } from './create-limit.ts';
import type { Device } from './device.ts';
import { createNormaliser, type Outcome } from './normalise.ts';
import type { Notification } from './notification.ts';
import type { DeviceInformation, Reads } from './reads.ts';
import { type PullPoint, pullPoint, type Style, type Subscription, styles } from './subscription.ts';
import type { Timing } from './timing.ts';

/** What a session tells its surroundings; metrics hang here. */
export interface SessionEvents {
  /** What became of one message, and what siteward made of it. */
  outcome(outcome: Outcome, message: Notification, signals: readonly Signal[]): void;
  failure(code: string): void;
  created(): void;
  /** Events arrive (again): time to read what may have changed meanwhile. */
  online(): void;
}

export interface SessionOptions {
  readonly source: DeviceRef;
  /** What a message is about: the camera itself, or one of a recorder's channels. */
  readonly sourceOf: (message: Notification) => DeviceRef;
  readonly device: Device;
  readonly reads: Reads;
  readonly addresses: 'repaired' | 'as_reported';
  readonly pullMs: number;
  readonly timing: Timing;
  readonly clock: Clock;
  readonly log: Logger;
  readonly memory: MemoryPort;
  readonly emit: (signals: readonly Signal[]) => Promise<void>;
  readonly events: SessionEvents;
}

/**
 * The event engine of one camera: connect, subscribe, pull, renew, and after any failure wait and begin again.
 * Invariants: every failure costs a wait; at most one pull point is ours at a time; the next pull begins after the
 * last one's signals were taken; nothing but the end of the signal ends `run`.
 */
export class CameraSession {
  readonly #options: SessionOptions;
  readonly #points: PullPoint;
  readonly #normaliser;
  readonly #retry: Backoff;
  readonly #creates: CreateLimit;
  readonly #memoryKey: string;
  #style = 0;
  #pullMs: number;
  #state: CameraState = 'stopped';
  #since: number;
  #reason: string | undefined;
  #lastEventAt: number | undefined;
  #lastPullAt: number | undefined;
  #linkTold: boolean | undefined;
  #failures = 0;
  #eventService: URL | undefined;
  #clockReadAt: number | undefined;
  #subscription: Subscription | undefined;
  #information: DeviceInformation | undefined;

  constructor(options: SessionOptions) {
    const { source, device, addresses, timing, clock } = options;
    this.#options = options;
    this.#points = pullPoint(device, addresses);
    this.#normaliser = createNormaliser({ sourceOf: options.sourceOf, wall: () => clock.wall() });
    this.#retry = backoff({ baseMs: timing.retryBaseMs, capMs: timing.retryCapMs });
    this.#creates = createLimit({ clock, perWindow: timing.createsPerWindow, windowMs: timing.createWindowMs });
    this.#memoryKey = `onvif/subscription/${source.id}`;
    this.#pullMs = options.pullMs;
    this.#since = clock.wall();
  }

  /** Runs until the signal aborts, then closes the pull point (2 s at most). Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#connect(signal);
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted) break;
        await this.#recover(error, signal).catch(() => undefined);
      }
    }
    // The run's own signal is gone; the goodbye has its own short deadline.
    await this.#unsubscribe(new AbortController().signal);
    this.#enter('stopped');
  }

  status(): Omit<CameraStatus, 'id' | 'profiles' | 'stream'> {
    const offset = this.#options.device.clock.offsetS;
    const information = this.#information;
    return {
      state: this.#state,
      since: this.#since,
      ...(this.#reason !== undefined && { reason: this.#reason }),
      ...(this.#lastEventAt !== undefined && { lastEventAt: this.#lastEventAt }),
      ...(this.#lastPullAt !== undefined && { lastPullAt: this.#lastPullAt }),
      ...(offset !== undefined && { clockOffsetS: offset }),
      ...(information !== undefined && { ...information }),
      unknownTopics: this.#normaliser.unknownTopics(),
    };
  }

  /** Whether events arrive. */
  get up(): boolean {
    return this.#linkTold === true;
  }

  #enter(state: CameraState, reason?: string) {
    if (state !== this.#state) this.#since = this.#options.clock.wall();
    this.#state = state;
    this.#reason = reason;
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const { device, reads, memory } = this.#options;
    this.#enter('connecting', this.#reason);
    device.latch.check();
    // The first contact: a camera that does not answer this at all is not asked more.
    await device.readClock(signal).catch(otherwise(0, ['camera_fault', 'camera_bad_answer']));
    this.#clockReadAt = this.#options.clock.monotonic();
    this.#information = await reads.deviceInformation(signal).catch(otherwise(this.#information, mild));
    this.#eventService = (await reads.services(signal).catch(otherwise(undefined, mild))) ?? device.base;
    // What an earlier run left behind would use up one of the camera's few slots.
    const old = parseSubscription(await this.#recall(memory.get(this.#memoryKey), signal));
    if (this.#subscription === undefined && old !== undefined) this.#subscription = old;
    await this.#unsubscribe(signal);
  }

  /** The memory is a convenience: one that hangs or fails must not keep the camera from being watched. */
  #recall<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
    return withDeadline(memoryMs, signal, () => work, 'the memory').catch(() => undefined);
  }

  async #subscribe(signal: AbortSignal): Promise<Subscription> {
    const { device, memory, events } = this.#options;
    this.#enter('subscribing', this.#reason);
    for (let tries = 0; ; tries += 1) {
      await this.#creates.wait(signal);
      try {
        events.created();
        const made = await this.#points.create(this.#eventService ?? device.base, this.#currentStyle, signal);
        this.#subscription = made;
        await this.#recall(memory.set(this.#memoryKey, JSON.stringify(made)), signal);
        return made;
      } catch (error) {
        // A fault may come from the way we ask: once the next way is tried at once, unless the camera is just full.
        const ask = error instanceof SitewardError && error.code === 'camera_fault' && error.facts.full !== true;
        if (!ask) throw error;
        this.#style = (this.#style + 1) % styles.length;
        if (tries >= 1) throw error;
      }
    }
  }

  get #currentStyle(): Style {
    return styles[this.#style] ?? { addressing: true, time: 'duration' };
  }

  /** Subscribes, then pulls until something fails. Returns when the pull point is to be made anew in the ordinary way. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, timing, device } = this.#options;
    const subscription = await this.#subscribe(signal);
    await this.#points.synchronise(subscription, this.#currentStyle, signal).catch(unlessStopped(signal));
    const started = clock.monotonic();
    let lease = leaseOf(subscription.grantedMs, started);
    this.#enter('pulling', this.#reason);
    for (let pulls = 0; ; pulls += 1) {
      // The first pull is short: it shows at once whether events can arrive.
      const holdMs = pulls === 0 ? timing.firstPullMs : Math.min(this.#pullMs, lease.longestPullMs);
      await this.#pullOnce(subscription, holdMs, signal);
      if (clock.monotonic() - started >= timing.goodAfterMs) this.#retry.reset();
      if (clock.monotonic() - (this.#clockReadAt ?? 0) >= timing.clockEveryMs) {
        this.#clockReadAt = clock.monotonic();
        await device.readClock(signal).catch(unlessStopped(signal));
      }
      if (clock.monotonic() >= lease.renewAt && lease.renewable) lease = await this.#renew(subscription, lease, signal);
      if (clock.monotonic() >= lease.replaceAt) break;
    }
    await this.#unsubscribe(signal);
    this.#options.log.debug('pull point ends and is made anew');
  }

  async #pullOnce(subscription: Subscription, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { clock, events, timing } = this.#options;
    const began = clock.monotonic();
    const pulled = await this.#pullWithPatience(subscription, timeoutMs, signal);
    this.#lastPullAt = clock.wall();
    const taken = pulled.messages.map((message) => {
      const { signals, outcomes } = this.#normaliser.take([message], clock.monotonic());
      const outcome = outcomes[0] ?? 'empty';
      events.outcome(outcome, message, signals);
      return { signals, outcome };
    });
    const expired = this.#normaliser.expire(clock.monotonic());
    const empty = taken.every(({ outcome }) => outcome === 'empty');
    if (!empty) this.#lastEventAt = clock.wall();
    this.#failures = 0;
    this.#enter('pulling');
    await this.#tellLink(true);
    await this.#emit([...taken.flatMap(({ signals }) => signals), ...expired]);
    // Firmware that ignores the timeout must not make this a hot loop (bug 37).
    const least = empty ? timing.emptyPullMs : timing.fullPullMs;
    await sleep(least - (clock.monotonic() - began), signal);
  }

  /** A connection that was cut while the camera held the request means that it cannot hold so long: once more, shorter. */
  async #pullWithPatience(subscription: Subscription, timeoutMs: number, signal: AbortSignal) {
    const { clock, timing, events } = this.#options;
    const began = clock.monotonic();
    try {
      return await this.#points.pull(subscription, this.#currentStyle, timeoutMs, signal);
    } catch (error) {
      const heldMs = clock.monotonic() - began;
      if (!isCode(error, 'camera_unreachable') || heldMs < timing.emptyPullMs || signal.aborted) throw error;
      events.failure('pull_cut');
      this.#pullMs = Math.max(timing.leastPullMs, Math.min(this.#pullMs, Math.floor(heldMs * 0.8)));
      await sleep(timing.retryBaseMs, signal);
      return await this.#points.pull(subscription, this.#currentStyle, this.#pullMs, signal);
    }
  }

  async #renew(subscription: Subscription, lease: Lease, signal: AbortSignal): Promise<Lease> {
    const { clock, log } = this.#options;
    this.#enter('renewing');
    const absolute: Style = { ...this.#currentStyle, time: 'absolute' };
    for (const style of [this.#currentStyle, absolute]) {
      try {
        const life = await this.#points.renew(subscription, style, signal);
        return leaseOf(life, clock.monotonic());
      } catch (error) {
        if (!isCode(error, 'camera_fault') && !isCode(error, 'camera_bad_answer')) throw error;
        log.debug({ reason: describe(error) }, 'the camera does not renew its pull point');
      }
    }
    return { ...lease, renewable: false };
  }

  /** Every failure ends here: told, counted, and followed by a wait. */
  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const { device, events, log, timing } = this.#options;
    const code = error instanceof SitewardError ? error.code : 'internal';
    const reason = describe(error).slice(0, 300);
    events.failure(code);
    this.#failures += 1;
    const refused = code === 'camera_auth';
    this.#enter(refused ? 'auth_failed' : 'backoff', reason);
    const waitMs = refused ? Math.max(device.latch.leftMs, timing.retryBaseMs) : this.#nextWait();
    // One lost pull is repaired quietly; the link is down when a second step fails, or when the repair takes long.
    const down = refused || this.#failures >= 2 || this.#linkTold !== true || waitMs > quietMs;
    if (down) await this.#tellLink(false, reason).catch(unlessStopped(signal));
    if (code === 'internal') log.error({ err: error }, 'camera session failed; it begins again');
    log.debug({ code, reason, waitMs }, 'camera session waits');
    await sleep(waitMs, signal);
  }

  #nextWait(): number {
    return Math.max(this.#options.timing.retryBaseMs, this.#retry.next());
  }

  async #tellLink(up: boolean, reason?: string): Promise<void> {
    if (this.#linkTold === up) return;
    const { source, log, events } = this.#options;
    await this.#emit([{ kind: 'link', source, layer: 'device', up, ...(reason !== undefined && { reason }) }]);
    this.#linkTold = up;
    if (up) {
      events.online();
      log.info('camera events arrive');
    } else log.warn({ reason }, 'camera events do not arrive');
  }

  /** Signals that could not be handed over are asked for again: states by a new pull point's present values. */
  async #emit(signals: readonly Signal[]): Promise<void> {
    if (signals.length === 0) return;
    try {
      await this.#options.emit(signals);
    } catch (error) {
      this.#normaliser.reset();
      throw error;
    }
  }

  async #unsubscribe(signal: AbortSignal): Promise<void> {
    const subscription = this.#subscription;
    if (subscription === undefined) return;
    this.#subscription = undefined;
    try {
      await this.#points.unsubscribe(subscription, this.#currentStyle, signal);
    } catch (error) {
      // Only an answer tells that it is gone; otherwise it stays remembered and is ended at the next start.
      if (!isCode(error, 'camera_fault') && !isCode(error, 'camera_bad_answer')) return;
    }
    await this.#recall(this.#options.memory.delete(this.#memoryKey), signal);
  }
}

/** When to renew a pull point and when to replace one that cannot be renewed; monotonic milliseconds. */
interface Lease {
  readonly renewAt: number;
  readonly replaceAt: number;
  readonly renewable: boolean;
  /** A pull held for longer would outlive the pull point. */
  readonly longestPullMs: number;
}

const longestLeaseMs = 180_000;
const memoryMs = 1000;
/** A wait of this length is worth telling. */
const quietMs = 5000;

function leaseOf(grantedMs: number, now: number): Lease {
  const half = Math.min(grantedMs, longestLeaseMs) / 2;
  return {
    renewAt: now + half,
    replaceAt: now + grantedMs * 0.9,
    renewable: true,
    longestPullMs: Math.max(1000, half),
  };
}

/** Failures of a step that say nothing about the next one. */
const mild: readonly ErrorCode[] = ['camera_fault', 'camera_bad_answer', 'deadline'];

function otherwise<T>(value: T, codes: readonly ErrorCode[]): (error: unknown) => T {
  return (error) => {
    if (error instanceof SitewardError && codes.includes(error.code)) return value;
    throw error;
  };
}

/** For steps that may fail in any way. */
function unlessStopped(signal: AbortSignal): () => undefined {
  return () => {
    signal.throwIfAborted();
    return undefined;
  };
}

function parseSubscription(text: string | undefined): Subscription | undefined {
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as Partial<Subscription>;
    const usable = typeof value.url === 'string' && URL.canParse(value.url) && typeof value.to === 'string';
    const { url = '', to = '', parameters = [] } = value;
    return usable && Array.isArray(parameters) ? { url, to, parameters, grantedMs: 0 } : undefined;
  } catch {
    return undefined;
  }
}
