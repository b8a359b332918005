import type { Clock } from '#lib/clock.ts';
import { unlessAborted } from '#lib/wait.ts';
import type { DeviceId } from '#site/model/index.ts';

/** Where it is remembered over a restart. */
export interface HeardMemory {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<void>;
  keys?(): Promise<readonly string[]>;
  delete?(key: string): Promise<void>;
}

export const heardKey = (panel: DeviceId): string => `heard-${panel}`;

/** Forgets panels that are no longer configured: the room for keys is bounded. */
export async function forgetRemoved(
  memory: HeardMemory | undefined,
  panels: readonly { readonly id: DeviceId }[],
): Promise<void> {
  const known = new Set(panels.map(({ id }) => heardKey(id)));
  const keys = await memory?.keys?.().catch(() => []);
  for (const key of keys ?? [])
    if (key.startsWith('heard-') && !known.has(key)) await memory?.delete?.(key).catch(() => {});
}

/** A disk that does not answer keeps nothing waiting (milliseconds). */
const waitMs = 1000;
/** It is written no more often, and no shorter silence but at the end of a run (milliseconds). */
const leastApartMs = 600_000;

/** How long it was silent, when that was written, by which clocks; `wall` only where the time was known. */
interface Saved {
  readonly silentMs: number;
  readonly mono: number;
  readonly boot: string;
  readonly wall?: number;
}

interface Options {
  readonly key: string;
  /** So long may nothing be heard; undefined: for ever. */
  readonly limitMs: number | undefined;
  readonly memory: HeardMemory | undefined;
  readonly clock: Clock;
  /** False while siteward does not know the time. */
  readonly knowsTime: () => boolean;
}

/**
 * How long nothing was heard of a panel while it could have been, also over restarts of siteward: else one that is restarted more often
 * than its panels must call would never tell that one is dead. What was silent before counts only after a short time away, by the clock of the
 * machine, or by the wall clock where both of its times were known: whatever a clock does, the silence begins anew at most.
 */
export class Heard {
  readonly #options: Options;
  #mono: number;
  readonly #startMono: number;
  #deafSince: number | undefined;
  #isHeard = false;
  #before: Saved | undefined;
  #keptMs = 0;
  #keptMono: number;

  constructor(options: Options) {
    this.#options = options;
    this.#startMono = options.clock.monotonic();
    this.#mono = this.#startMono;
    this.#keptMono = this.#startMono;
    this.#deafSince = this.#startMono;
  }

  /** What an earlier run has kept; without it the silence begins now. */
  async recall(): Promise<void> {
    const { memory, key, limitMs } = this.#options;
    if (memory === undefined || limitMs === undefined) return;
    const text = await unlessAborted(memory.get(key), AbortSignal.timeout(waitMs)).catch(() => undefined);
    const saved = text === undefined ? undefined : read(text);
    if (saved === undefined) return;
    this.#keptMs = saved.silentMs;
    if (this.#isHeard) await this.#forget();
    else this.#before = saved;
  }

  /** Nothing can be heard for now, or can again: time without a line is no silence of the panel. */
  listening(is: boolean): void {
    const now = this.#options.clock.monotonic();
    if (!is) this.#deafSince ??= now;
    else if (this.#deafSince !== undefined) {
      this.#mono += now - Math.max(this.#deafSince, this.#mono);
      this.#deafSince = undefined;
    }
  }

  heard(): void {
    this.#mono = this.#options.clock.monotonic();
    this.#isHeard = true;
    this.#before = undefined;
    // What is on disk would count after a death without warning.
    if (this.#keptMs > 0) void this.#forget();
  }

  /** Whether it is silent for longer than it may. Call now and then: it also keeps how long it is. */
  isLost(): boolean {
    const { limitMs, clock } = this.#options;
    if (limitMs === undefined) return false;
    const ownMs = this.#ownMs();
    const apartMs = Math.max(limitMs / 10, leastApartMs);
    // A shorter silence is not worth a write, and one more with the next word.
    if (ownMs + this.#beforeMs(limitMs) >= apartMs && clock.monotonic() - this.#keptMono >= apartMs) void this.save();
    // Who comes back has some time to be heard.
    return ownMs >= limitMs || (ownMs >= limitMs / 10 && ownMs + this.#beforeMs(limitMs) >= limitMs);
  }

  /** For the next run; resolves when it is kept, or cannot be. */
  async save(): Promise<void> {
    const { limitMs } = this.#options;
    if (limitMs === undefined) return;
    await this.#keep(this.#ownMs() + this.#beforeMs(limitMs));
  }

  #ownMs(): number {
    return Math.max(0, (this.#deafSince ?? this.#options.clock.monotonic()) - this.#mono);
  }

  /** A tenth may not have been written, and another one it may have been away. */
  #beforeMs(limitMs: number): number {
    const { clock, knowsTime } = this.#options;
    const before = this.#before;
    if (before === undefined) return 0;
    const isSameBoot = before.boot === clock.bootId;
    if (!isSameBoot && (before.wall === undefined || !knowsTime())) return 0;
    const startWall = clock.wall() - (clock.monotonic() - this.#startMono);
    const awayMs = isSameBoot ? this.#startMono - before.mono : startWall - (before.wall ?? 0);
    return awayMs >= 0 && awayMs <= limitMs / 5 ? before.silentMs : 0;
  }

  #forget(): Promise<void> {
    return this.#keep(0);
  }

  async #keep(silentMs: number): Promise<void> {
    const { memory, key, clock, knowsTime } = this.#options;
    this.#keptMs = silentMs;
    this.#keptMono = clock.monotonic();
    const wall = knowsTime() ? { wall: clock.wall() } : {};
    const saved: Saved = { silentMs, mono: clock.monotonic(), boot: clock.bootId, ...wall };
    const done = memory?.set(key, JSON.stringify(saved)) ?? Promise.resolve();
    await unlessAborted(done, AbortSignal.timeout(waitMs)).catch(() => {});
  }
}

function read(text: string): Saved | undefined {
  try {
    const { silentMs, mono, boot, wall } = JSON.parse(text) as Record<string, unknown>;
    if (typeof silentMs !== 'number' || typeof mono !== 'number' || typeof boot !== 'string') return undefined;
    if (!(silentMs >= 0)) return undefined;
    return { silentMs, mono, boot, ...(typeof wall === 'number' && { wall }) };
  } catch {
    return undefined;
  }
}
