import { BoundedMap } from '#lib/bounded.ts';

/** Frames of one account that are remembered, so that one that comes again is one event. */
const recentCap = 64;
/** After so long without it the same frame is another one: the numbers have gone round. */
const recentMs = 600_000;

export interface FrameName {
  /** Number, kind and text, without the time. */
  readonly base: string;
  readonly seq: string;
  /** The time in the frame, where it has one. */
  readonly at?: number | undefined;
}

/** The site remembers a report for twenty minutes, longer than this and `recentMs` together, and is told again before they end. */
const remindMs = 240_000;

interface Taken {
  /** How the site was told it. */
  readonly report: string;
  readonly at: number | undefined;
  readonly heardMono: number;
  readonly toldMono: number;
  readonly kept: Promise<boolean>;
}

/** A frame that comes again. `isDue`: the site would forget it. */
export interface Repeat {
  readonly report: string;
  readonly kept: Promise<boolean>;
  readonly isDue: boolean;
}

/**
 * Tells a frame that comes again from a new one with the same number and text. A panel repeats the last one until it is acknowledged,
 * with its first time or with the time of the sending; an earlier one with a later time is new, since the panel has begun its numbers anew.
 */
export class Repeats {
  readonly #taken = new BoundedMap<string, Taken>(recentCap);
  #last: FrameName | undefined;
  /** False for a panel that gives frames of different texts the same number: then only the time tells them apart. */
  #isCounting = true;

  /** What it was when it came first; undefined for a new frame. It is remembered from now on anew. */
  known(frame: FrameName, mono: number): Repeat | undefined {
    const before = this.#taken.get(frame.base);
    if (before === undefined || mono - before.heardMono >= recentMs) return undefined;
    const isLast = this.#isCounting && this.#last?.base === frame.base;
    const isLater = frame.at !== undefined && before.at !== undefined && frame.at > before.at;
    if (isLater && !isLast) return undefined;
    // Whoever never takes an answer repeats it for ever.
    const isDue = mono - before.toldMono >= remindMs;
    const told = isDue ? { toldMono: mono } : {};
    this.#taken.set(frame.base, { ...before, ...told, at: isLater ? frame.at : before.at, heardMono: mono });
    return { report: before.report, kept: before.kept, isDue };
  }

  /** The name of a new frame for the site, which knows for a while the one that had the same number and text before. */
  reportOf({ base, at }: FrameName, wall: number): string {
    return `${base.slice(0, 16)}${this.#taken.has(base) ? `~${at ?? wall}` : ''}`;
  }

  add(frame: FrameName, report: string, mono: number, kept: Promise<boolean>): void {
    if (this.#last !== undefined && this.#last.base !== frame.base) this.#isCounting = this.#last.seq !== frame.seq;
    this.#last = frame;
    this.#taken.set(frame.base, { report, at: frame.at, heardMono: mono, toldMono: mono, kept });
  }

  forget({ base }: FrameName): void {
    this.#taken.delete(base);
  }
}
