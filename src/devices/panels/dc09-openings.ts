import { createHash } from 'node:crypto';
import { unlessAborted } from '#lib/wait.ts';

/** Where it is remembered over a restart. */
export interface OpeningsMemory {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<void>;
}

/** Openings of one second that are told apart. */
const sameCap = 8;
/** A disk that does not answer must not hold the frames behind. */
const waitMs = 2000;

interface Newest {
  readonly at: number;
  /** The openings of that second: sequence number and what was encrypted. */
  readonly seen: readonly string[];
}

/**
 * Tells an opening that its panel has just made from one that somebody plays again. Of an encrypted frame only what is inside the
 * cipher cannot be changed, so that neither its number nor where it comes from shows anything: its time must be newer than all that
 * was heard of the panel, also before a restart.
 */
export class Openings {
  readonly #memory: OpeningsMemory;
  readonly #key: string;
  #heardAt = Number.NEGATIVE_INFINITY;
  #newest: Newest | undefined;

  /** With another key of the panel the memory begins anew: what was recorded under the old one cannot be read any more. */
  constructor(memory: OpeningsMemory, account: string, keys: readonly Buffer[]) {
    this.#memory = memory;
    const name = createHash('sha256').update(`${account}|`);
    for (const key of keys) name.update(key);
    this.#key = `opening-${name.digest('hex').slice(0, 32)}`;
  }

  /** A frame of this time was opened with the key. */
  heard(at: number): void {
    this.#heardAt = Math.max(this.#heardAt, at);
  }

  /**
   * `new`, `known`: this very frame was taken before, `old`: it may be somebody else's. Rejects when what was before the start cannot
   * be read: then nobody knows. `mostAt`: what lies after it was heard of a clock that is not right any more.
   */
  async judge(frame: { at: number; seq: string; cipher: string }, mostAt: number): Promise<'new' | 'known' | 'old'> {
    const newest = await this.#recall();
    const { at } = frame;
    if (newest.at === at && newest.seen.includes(nameOf(frame))) return 'known';
    if (newest.at === at && newest.seen.some((name) => name.endsWith(digest(frame.cipher)))) return 'old';
    const before = [newest.at, this.#heardAt].filter((one) => one <= mostAt);
    return before.every((one) => one <= at) ? 'new' : 'old';
  }

  /** It was done; resolves when that is remembered, or cannot be. */
  async taken(frame: { at: number; seq: string; cipher: string }): Promise<void> {
    const before = this.#newest?.at === frame.at ? this.#newest.seen : [];
    this.#newest = { at: frame.at, seen: [...before, nameOf(frame)].slice(-sameCap) };
    await unlessAborted(this.#memory.set(this.#key, JSON.stringify(this.#newest)), AbortSignal.timeout(waitMs)).catch(
      () => {},
    );
  }

  async #recall(): Promise<Newest> {
    if (this.#newest !== undefined) return this.#newest;
    const text = await unlessAborted(this.#memory.get(this.#key), AbortSignal.timeout(waitMs));
    this.#newest ??= text === undefined ? nothing : read(text);
    return this.#newest;
  }
}

const nothing: Newest = { at: Number.NEGATIVE_INFINITY, seen: [] };

function read(text: string): Newest {
  try {
    const { at, seen } = JSON.parse(text) as Record<string, unknown>;
    if (typeof at === 'number' && Array.isArray(seen)) return { at, seen: seen.map(String).slice(0, sameCap) };
  } catch {
    // As if it was never written; the window of the clock is left.
  }
  return nothing;
}

const digest = (cipher: string): string => createHash('sha256').update(cipher.toUpperCase()).digest('hex').slice(0, 32);
const nameOf = ({ seq, cipher }: { seq: string; cipher: string }): string => `${seq}-${digest(cipher)}`;
