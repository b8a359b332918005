import type { Logger } from 'pino';
import { describe, isCode, SitewardError } from '#errors.ts';
import { type Backoff, backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { never, sleep, wakeup, withDeadline } from '#lib/wait.ts';
import type { DeviceRef, Signal } from '#site/model/index.ts';
import type { CameraStatus, CameraWarning, MemoryPort } from './camera.ts';
import type { Device } from './device.ts';
import { type DeviceNews, deviceNews } from './device-news.ts';
import { type HoldTime, holdTime } from './hold-time.ts';
import { Intake } from './intake.ts';
import { longestPullMs } from './lease.ts';
import { Link } from './link.ts';
import type { Outcome } from './normalise.ts';
import type { Notification } from './notification.ts';
import { createOccupant, type Occupant } from './occupant.ts';
import { isRefused, OwnPoint } from './own-point.ts';
import type { DeviceInformation, Reads } from './reads.ts';
import type { Sense, SilentInputs } from './sense.ts';
import { mild, otherwise, unlessStopped } from './session-failures.ts';
import { Learning } from './session-learning.ts';
import { sessionMemory } from './session-memory.ts';
import type { Pulled } from './subscription.ts';
import type { Timing } from './timing.ts';
import type { TopicRow } from './topic-row.ts';
import { createWarnings, repeats } from './warnings.ts';

/** What a session tells its surroundings; metrics hang here. */
export interface SessionEvents {
  /** What became of one message, and what siteward made of it. */
  outcome(outcome: Outcome, message: Notification, signals: readonly Signal[]): void;
  failure(code: string): void;
  created(): void;
  /** Events arrive again, perhaps of a camera that started anew: time to read what may have changed meanwhile. */
  online(): void;
}

/** What a session knows of its device. */
type SessionStatus = Omit<
  CameraStatus,
  'kind' | 'id' | 'name' | 'host' | 'channels' | 'hints' | 'identity' | 'profiles' | 'stream'
>;

export interface SessionOptions {
  readonly source: DeviceRef;
  readonly sense: Sense;
  readonly silent: SilentInputs;
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
  /** The installer's own meaning of topics. */
  readonly topics?: readonly TopicRow[];
}

/**
 * The event engine of one camera: connect, subscribe, pull, renew, and after any failure wait and begin again.
 * Invariants: every failure costs a wait; at most one pull point is ours at a time; the next pull begins after the
 * last one's signals were taken; nothing but the end of the signal ends `run`.
 */
export class CameraSession {
  readonly #options: SessionOptions;
  readonly #point: OwnPoint;
  readonly #intake: Intake;
  readonly #link: Link;
  readonly #news: DeviceNews;
  readonly #occupant: Occupant;
  readonly #retry: Backoff;
  readonly #hold: HoldTime;
  readonly #learning: Learning;
  readonly #warnings = createWarnings();
  readonly #vanishes = repeats(vanishes.times, vanishes.windowMs);
  readonly #wake = wakeup();
  #eventService: URL | undefined;
  #lastPullAt: number | undefined;
  #clockReadAt = 0;
  #information: DeviceInformation | undefined;
  #reachable = false;
  /** It could not be reached since events last arrived. */
  #away = false;
  #repairing = true;

  constructor(options: SessionOptions) {
    const { source, device, addresses, timing, clock, log, events } = options;
    const wall = () => clock.wall();
    const memory = sessionMemory(options.memory, source.id, wall);
    this.#options = options;
    this.#point = new OwnPoint({ device, addresses, timing, clock, log, memory, created: () => events.created() });
    const { sense, silent, topics = [] } = options;
    this.#intake = new Intake({ sense, silent, topics, clock, log, timing, warnings: this.#warnings, events });
    this.#link = new Link({ source, wall, log, emit: (signals) => this.#emit(signals) });
    this.#news = deviceNews(source, wall);
    this.#occupant = createOccupant(source, device);
    this.#retry = backoff({ baseMs: timing.retryBaseMs, capMs: timing.retryCapMs });
    this.#hold = holdTime(timing, { configuredMs: options.pullMs, wall });
    this.#learning = new Learning({ memory, device, point: this.#point, hold: this.#hold, occupant: this.#occupant });
  }

  /** Runs until the signal aborts, then closes the pull point (2 s at most). Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#learning.recall(signal);
    while (!signal.aborted) {
      try {
        await this.#connect(signal);
        // Between two pull points nothing is asked: what happens then is not told.
        for (;;) await this.#follow(signal);
      } catch (error) {
        if (signal.aborted) break;
        await this.#recover(error, signal).catch(() => undefined);
      }
    }
    // The run's own signal is gone. Beyond the deadline nothing is forgotten any more: a new session may run by then.
    await withDeadline(endMs, never(), (short) => this.#point.end(short), 'the end of a pull point').catch(
      () => undefined,
    );
    this.#link.enter('stopped');
  }

  /** Ends a wait after a failure: a person has changed something. */
  retryNow(): void {
    if (this.#link.state === 'backoff') this.#wake.wake();
  }

  status(): SessionStatus {
    const { clock, device } = this.#options;
    const now = clock.monotonic();
    const { offsetS } = device.clock;
    const { rebootSeenAt } = this.#news;
    const authenticated = device.account.wasAccepted('events');
    const heldMs = device.account.leftMs('events');
    const flowing = this.up ? this.#intake.flowing : 'no';
    const { lastEventAt } = this.#intake;
    return {
      ...this.#link.status(),
      reachable: this.#reachable,
      ...(authenticated !== undefined && { authenticated }),
      ...(heldMs > 0 && { loginHeldS: Math.ceil(heldMs / 1000) }),
      flowing,
      warnings: [
        ...this.#warnings.active(now),
        ...(this.up && flowing === 'no' ? [mute] : []),
        ...(device.clear.warning === undefined ? [] : [{ code: 'basic_asked' as const, text: device.clear.warning }]),
        ...this.#occupant.warnings(),
      ],
      ...(rebootSeenAt !== undefined && { rebootSeenAt }),
      ...(lastEventAt !== undefined && { lastEventAt }),
      ...(this.#lastPullAt !== undefined && { lastPullAt: this.#lastPullAt }),
      ...(offsetS !== undefined && { clockOffsetS: offsetS }),
      ...(this.#information !== undefined && { ...this.#information }),
      unknownTopics: this.#intake.unknownTopics(),
    };
  }

  /** Whether events arrive. */
  get up(): boolean {
    return this.#link.up;
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const { device, reads, clock } = this.#options;
    this.#link.enter('connecting');
    device.account.check('events');
    // The first contact: a camera that does not answer this at all is not asked more.
    await device.readClock(signal).catch(otherwise(0, ['camera_fault', 'camera_bad_answer']));
    this.#reachable = true;
    this.#clockReadAt = clock.monotonic();
    const before = device.account.wasAccepted('events');
    const information = await reads.deviceInformation(signal).catch(otherwise(undefined, mild));
    await this.#learning.recallDevice(signal);
    if (information !== undefined) {
      this.#information = information;
      await this.#occupant.named(information, { before, wasAway: this.#away }, signal);
      if (this.#occupant.other !== undefined) await this.#emit(this.#occupant.news());
    }
    this.#eventService = await reads.services(signal).catch(otherwise(undefined, mild));
    await this.#options.sense.learn(signal).catch(otherwise(undefined, mild));
    // A pull point that is gone before its time, after the camera was away: it has started anew.
    if ((await this.#point.end(signal)) === 'lost' && this.#away) this.#news.restarted();
  }

  /** Subscribes, then pulls until something fails. Returns when the pull point is to be made anew in the ordinary way. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, timing, device, events, log } = this.#options;
    const point = this.#point;
    this.#link.enter('subscribing');
    await point.make(this.#eventService, signal);
    await this.#synchronise(signal);
    const started = clock.monotonic();
    this.#intake.synchronised();
    for (;;) {
      // The first pull is short: it shows at once whether events can arrive. So is one after a flood, for what waits.
      const isShort = point.pulls === 0 || this.#intake.holdsBack;
      const holdMs = isShort ? timing.firstPullMs : this.#holdMs();
      await this.#pullOnce(holdMs, signal);
      const now = clock.monotonic();
      if (now - started >= timing.goodAfterMs) this.#retry.reset();
      const clockEveryMs = this.#news.clockIsOff ? timing.clockOffEveryMs : timing.clockEveryMs;
      if (now - this.#clockReadAt >= clockEveryMs) {
        this.#clockReadAt = now;
        await device.readClock(signal).catch(unlessStopped(signal));
        const wasRead = this.#learning.isRead;
        await this.#learning.recallDevice(signal);
        await this.#learning.keep(signal);
        await this.#emit([...this.#news.clockRead(device.clock), ...(wasRead ? [] : this.#occupant.news())]);
      }
      if (now >= point.lease.renewAt && point.lease.renewable) {
        this.#link.enter('renewing');
        await point.renew(signal);
      }
      if (now >= point.lease.replaceAt) break;
      const silence = this.#intake.silence();
      if (silence === 'ask') await this.#synchronise(signal);
      if (silence === 'anew') {
        events.failure('silent');
        log.info('the camera answers pulls but sends nothing; its pull point is made anew');
        break;
      }
    }
    await point.end(signal);
  }

  /** Asks how things stand. What comes soon after tells that, and is no news by itself. */
  async #synchronise(signal: AbortSignal): Promise<void> {
    this.#intake.subscribed();
    await this.#point.synchronise(signal).catch(unlessStopped(signal));
  }

  /** Not longer than the camera and the pull point can, nor than until something is due by itself. */
  #holdMs(): number {
    const { clock, sense } = this.#options;
    const now = clock.monotonic();
    const dueMs = Math.max(leastHoldMs, sense.dueMs(now));
    return Math.min(this.#hold.ms, longestPullMs(this.#point.lease, now), dueMs);
  }

  async #pullOnce(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { clock, timing, sense } = this.#options;
    const began = clock.monotonic();
    const { messages, wasCut, isPart } = await this.#pullWithPatience(timeoutMs, signal);
    this.#lastPullAt = clock.wall();
    const { heard, signals, eager } = this.#intake.take(messages);
    await this.#flows(signal);
    this.#news.heard(heard);
    // What the device tells of its start comes with the first pulls.
    const news = this.#point.pulls === 2 ? this.#news.restart() : [];
    await this.#emit(sense.refine([...signals, ...news], clock.monotonic()));
    // What was in the answer that was cut, or beyond what is taken of one, comes no more: the states it told are asked for.
    if (wasCut || isPart) await this.#synchronise(signal);
    // Firmware that ignores the timeout must not make this a hot loop (bug 37), nor one that floods (bug 49).
    await sleep((eager && !isPart ? timing.fullPullMs : timing.emptyPullMs) - (clock.monotonic() - began), signal);
  }

  /** A pull was answered. */
  async #flows(signal: AbortSignal): Promise<void> {
    await this.#link.good();
    this.#reachable = true;
    this.#away = false;
    if (this.#repairing) this.#options.events.online();
    this.#repairing = false;
    if (this.#point.pulls !== 1) return;
    await this.#learning.keep(signal);
    await this.#emit([...this.#news.clockRead(this.#options.device.clock), ...this.#occupant.news()]);
  }

  /** The device of this name, which answers now, is meant. Throws `camera_refused` where another one answers. */
  async trustDevice(name: string, signal: AbortSignal): Promise<void> {
    if (!(await this.#learning.trust(name, signal)))
      this.#options.log.warn('the trusted device could not be remembered yet; it is tried again');
    await this.#emit(this.#occupant.news());
  }

  /** The device that answers has told its MAC, by which it is found again at another address. */
  async macRead(mac: string, signal: AbortSignal): Promise<void> {
    await this.#learning.macRead(mac, signal);
  }

  /** Who answers, and who belongs here. */
  get occupant(): Occupant {
    return this.#occupant;
  }

  /** A connection that was cut while the camera held the request means that it cannot hold so long: once more, shorter. */
  async #pullWithPatience(timeoutMs: number, signal: AbortSignal): Promise<Pulled & { readonly wasCut: boolean }> {
    const { clock, timing, events } = this.#options;
    const began = clock.monotonic();
    try {
      const pulled = await this.#point.pull(timeoutMs, signal);
      this.#hold.held(timeoutMs, false);
      return { ...pulled, wasCut: false };
    } catch (error) {
      const heldMs = clock.monotonic() - began;
      if (!isCode(error, 'camera_unreachable') || heldMs < timing.emptyPullMs || signal.aborted) throw error;
      events.failure('pull_cut');
      const shorterMs = this.#hold.cut(heldMs);
      await sleep(timing.retryBaseMs, signal);
      const pulled = await this.#point.pull(shorterMs, signal);
      this.#hold.held(shorterMs, true);
      await this.#learning.keep(signal);
      return { ...pulled, wasCut: true };
    }
  }

  /** Every failure ends here: told, counted, and followed by a wait. */
  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const { device, events, log, timing } = this.#options;
    const code = error instanceof SitewardError ? error.code : 'internal';
    const reason = describe(error).slice(0, 300);
    events.failure(code);
    this.#repairing = true;
    if (code === 'camera_unreachable' || code === 'deadline') {
      this.#reachable = false;
      this.#away = true;
    }
    if (isRefused(error)) this.#noteRefused();
    const refused = code === 'camera_auth';
    const waitMs = Math.max(device.account.leftMs('events'), timing.retryBaseMs, refused ? 0 : this.#retry.next());
    await this.#link.failed(reason, { refused, waitMs }).catch(unlessStopped(signal));
    // The core forgets what a camera sees while it is away; all of it is told anew.
    if (!this.up) this.#intake.reset();
    if (code === 'internal') log.error({ err: error }, 'camera session failed; it begins again');
    log.debug({ error_code: code, reason, waitMs }, 'camera session waits');
    await this.#wake.wait(waitMs, signal);
  }

  /** A pull point that never brought an answer was asked in the wrong way; one that did has vanished (bug 68). */
  #noteRefused(): void {
    const { clock, log, events } = this.#options;
    if (this.#point.pulls === 0) {
      this.#point.refused();
      return;
    }
    const now = clock.monotonic();
    if (this.#away) return;
    if (this.#vanishes(now) && this.#warnings.note('taken_over', takenOverText, now)) {
      events.failure('taken_over');
      log.warn(`taken_over: ${takenOverText}`);
    }
  }

  /** Signals that could not be handed over are asked for again: states by a new pull point's present values. */
  async #emit(signals: readonly Signal[]): Promise<void> {
    if (signals.length === 0) return;
    try {
      await this.#options.emit(signals);
    } catch (error) {
      this.#intake.reset();
      throw error;
    }
  }
}

const leastHoldMs = 1000;
/** Less than a part of the daemon has for its stop. */
const endMs = 1800;
/** So often within this time a pull point that worked is gone: nobody's reboots. */
const vanishes = { times: 3, windowMs: 30 * 60_000 };
const mute: CameraWarning = {
  code: 'mute',
  text: 'It answers, but no longer sends its present states as it did before; restart it, or switch its events off and on',
};
const takenOverText =
  'Its event subscription vanishes again and again, probably taken over by another client (recorder, app, second bridge); many cameras serve only one';
