import { uptime } from 'node:os';
import { describe } from '#errors.ts';
import type { Note } from './quiet.ts';
import { readSide, type SideFile, type StartMarks, writeSide } from './side.ts';

/** So many starts without a clean stop within the window are taken for a crash loop. */
const loopStarts = 3;
const loopSeconds = 120;
const againMs = 5000;

/** The side file as this run knows it. */
export class SideKeeper {
  readonly #dir: string;
  readonly #note: Note;
  readonly #wall: () => number;
  #side: SideFile | undefined;
  #starts: StartMarks | undefined;
  #told = false;
  /** When a writing that failed is tried again (performance.now). */
  #againAt: number | undefined;

  constructor({ dir, note, wall }: { dir: string; note: Note; wall: () => number }) {
    this.#dir = dir;
    this.#note = note;
    this.#wall = wall;
    this.#side = readSide(dir, wall);
  }

  get side(): SideFile | undefined {
    return this.#side;
  }

  /** The disk did not take what was to be written, and may take it now. */
  get isBehind(): boolean {
    return this.#againAt !== undefined && performance.now() >= this.#againAt;
  }

  /** Notes a start. True when this one belongs to a crash loop: the daemon then does what it must and nothing else. */
  noteStart(boot: string): boolean {
    const now = Math.round(uptime());
    const before = this.#side?.starts?.boot === boot ? this.#side.starts.uptimes : [];
    const uptimes = [...before, now].slice(-loopStarts);
    this.#starts = { boot, uptimes };
    return uptimes.length >= loopStarts && now - (uptimes[0] ?? 0) <= loopSeconds;
  }

  /** A failure is told once and mended by the next writing. */
  write(change: Partial<SideFile> & Pick<SideFile, 'epoch' | 'id'>): void {
    const starts = change.starts ?? this.#starts;
    this.#starts = starts;
    this.#side = { created: this.#wall(), ...this.#side, ...change, ...(starts !== undefined && { starts }) };
    try {
      writeSide(this.#dir, this.#side);
      this.#told = false;
      this.#againAt = undefined;
    } catch (error) {
      if (!this.#told) this.#note('error', 'the side file of the store cannot be written', { reason: describe(error) });
      this.#told = true;
      this.#againAt = performance.now() + againMs;
    }
  }
}
