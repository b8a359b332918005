import type { EngineEffect, EngineInput } from '../../../../../src/devices/audio/engine/index.ts';
import type { Random } from '../../../../proof/random.ts';
import type { TimeLine } from './line.ts';

type Effect<K extends EngineEffect['kind']> = Extract<EngineEffect, { kind: K }>;
type WithoutTime<T> = T extends unknown ? Omit<T, 'at'> : never;
export type Report = WithoutTime<
  Extract<EngineInput, { kind: 'prepared' | 'unprepared' | 'first_sample' | 'ended' | 'failed' | 'silent' }>
>;

/** What a run is, and what came of it, as a listener beside the speaker would tell. */
export interface Heard {
  readonly run: number;
  readonly order: Effect<'prepare'>;
  lengthMs?: number;
  preparedAt?: number;
  startedAt?: number;
  /** It sounds from here on. */
  from?: number;
  to?: number;
  /** Somebody else has the device for longer. */
  held?: boolean;
  /** The driver has settled, or was killed. */
  over: boolean;
}

const messageMs = (key: string): number => 300 + (Number(key.replace(/\D/g, '')) % 7) * 900;
export const lengthOf = ({ message, repeat, gapMs }: Effect<'prepare'>): number =>
  messageMs(message.key) * repeat + gapMs * (repeat - 1) + 200;

/** Speakers that mostly do what they are told, and the player that prepares for them. */
export class Devices {
  readonly runs = new Map<number, Heard>();
  /** Those that are not over. */
  readonly active = new Map<number, Heard>();
  readonly #line: TimeLine;
  readonly #random: Random;
  readonly #pending = new Map<number, () => void>();
  onReport: (report: Report) => void = () => {};
  onSound: (heard: Heard) => void = () => {};
  onSilence: (heard: Heard) => void = () => {};
  faults = true;

  constructor(line: TimeLine, random: Random) {
    this.#line = line;
    this.#random = random;
  }

  #later(run: number, ms: number, go: () => void): void {
    this.#pending.get(run)?.();
    this.#pending.set(run, this.#line.after(ms, go));
  }

  #fault(share: number): boolean {
    return this.faults && this.#random.chance(share);
  }

  #heard(run: number): Heard {
    const heard = this.runs.get(run);
    if (heard === undefined) throw new TypeError(`run ${run} was never prepared`);
    return heard;
  }

  prepare(order: Effect<'prepare'>): void {
    const { run } = order;
    const heard: Heard = { run, order, over: false };
    this.runs.set(run, heard);
    this.active.set(run, heard);
    if (this.#fault(0.02)) return;
    const ms = this.#fault(0.05) ? this.#random.whole(100, 6_000) : this.#random.whole(0, 30);
    if (this.#fault(0.03)) {
      const reason = this.#random.pick(['message_gone', 'format'] as const);
      this.#later(run, ms, () => this.#settle(heard, { kind: 'unprepared', run, reason }));
      return;
    }
    this.#later(run, ms, () => {
      heard.lengthMs = lengthOf(order);
      heard.preparedAt = this.#line.now;
      this.onReport({ kind: 'prepared', run, lengthMs: heard.lengthMs });
    });
  }

  drop(run: number): void {
    this.#end(this.#heard(run));
  }

  start(run: number): void {
    const heard = this.#heard(run);
    // Of one that was busy, the first time.
    heard.startedAt ??= this.#line.now;
    if (this.#fault(0.02)) return;
    const ms = this.#fault(0.03) ? this.#random.whole(1_000, 9_000) : this.#random.whole(5, 120);
    const reason = this.#random.pick(['busy', 'busy', 'not_found', 'connection_lost', 'auth'] as const);
    if (heard.held === true || this.#fault(0.06)) {
      const isOver = reason !== 'busy' && heard.held !== true;
      if (!isOver) heard.held ??= this.#random.chance(0.3);
      const report = { kind: 'failed', run, playedMs: 0, reason: isOver ? reason : 'busy' } as const;
      this.#later(run, ms, () => (isOver ? this.#settle(heard, report) : this.onReport(report)));
      return;
    }
    this.#later(run, ms, () => {
      heard.from = this.#line.now;
      this.onSound(heard);
      this.#sound(heard);
      this.onReport({ kind: 'first_sample', run });
    });
  }

  #sound(heard: Heard): void {
    const { run, lengthMs = 0 } = heard;
    if (this.#fault(0.03)) return;
    if (this.#fault(0.04)) {
      const playedMs = this.#random.whole(0, lengthMs);
      const report = { kind: 'failed', run, playedMs, reason: 'connection_lost' } as const;
      this.#later(run, playedMs, () => this.#settle(heard, report));
      return;
    }
    const share = this.#fault(0.03) ? this.#random.between(0, 0.89) : this.#random.between(0.99, 1.01);
    const delivered = this.#random.pick(['heard', 'sent', 'accepted'] as const);
    const report = { kind: 'ended', run, playedMs: Math.round(lengthMs * share), delivered } as const;
    this.#later(run, lengthMs * share, () => this.#settle(heard, report));
  }

  stop(run: number, withinMs: number): void {
    const heard = this.#heard(run);
    if (this.#fault(0.1)) return;
    const ms = this.#random.whole(0, withinMs + 1);
    this.#later(run, ms, () => {
      const playedMs = heard.from === undefined ? 0 : this.#line.now - heard.from;
      this.#settle(heard, { kind: 'silent', run, playedMs });
    });
  }

  kill(run: number): void {
    this.#end(this.#heard(run));
  }

  #settle(heard: Heard, report: Report): void {
    this.#end(heard);
    this.onReport(report);
  }

  #end(heard: Heard): void {
    this.#pending.get(heard.run)?.();
    this.#pending.delete(heard.run);
    this.active.delete(heard.run);
    heard.over = true;
    if (heard.from !== undefined && heard.to === undefined) {
      heard.to = this.#line.now;
      this.onSilence(heard);
    }
  }

  /** Players are fed by the daemon: without it they are silent. */
  crash(): void {
    for (const heard of [...this.active.values()]) this.#end(heard);
    this.runs.clear();
  }
}
