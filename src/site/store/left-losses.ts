import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { NewGap } from './types.ts';

const fileName = 'losses';
const fileBytes = 4096;

/**
 * What a stop could not write because the disk took nothing: counts of lost events, for the next start. The file is made while there is room
 * and written in place, which needs no free block on most file systems.
 */
export class LeftLosses {
  readonly #path: string;
  #kept: readonly NewGap[] = [];
  #begun: Promise<unknown> = Promise.resolve();

  constructor(dir: string) {
    this.#path = join(dir, fileName);
  }

  /** Empty where there is no file, or a power cut tore it; it is made where it is not whole. Throws what the disk says. */
  begin(): Promise<readonly NewGap[]> {
    const begun = this.#begin();
    this.#begun = begun.catch(() => undefined);
    return begun;
  }

  /** Everything it held at the start stands in gap records now. */
  async taken(): Promise<void> {
    if (this.#kept.length === 0) return;
    this.#kept = [];
    await this.#overwrite();
  }

  /** Beside what is not taken yet, synced. Throws what the disk says. */
  async leave(losses: readonly NewGap[]): Promise<void> {
    if (losses.length === 0) return;
    await this.#begun;
    this.#kept = [...this.#kept, ...losses];
    await this.#overwrite();
  }

  async #begin(): Promise<readonly NewGap[]> {
    const found = await readFile(this.#path, 'utf8').catch(() => '');
    this.#kept = parsed(found.trimEnd());
    if (Buffer.byteLength(found) !== fileBytes) await this.#overwrite();
    return this.#kept;
  }

  async #overwrite(): Promise<void> {
    const fits = text(this.#kept).length <= fileBytes ? this.#kept : byLane(this.#kept);
    const file = await open(this.#path, 'r+').catch(() => open(this.#path, 'w', 0o600));
    try {
      await file.write(text(fits).padEnd(fileBytes), 0);
      await file.datasync();
    } finally {
      await file.close();
    }
  }
}

function text(losses: readonly NewGap[]): string {
  const json = JSON.stringify(losses);
  return `${crc32(json).toString(16)} ${json}`;
}

function parsed(line: string): readonly NewGap[] {
  const json = line.slice(line.indexOf(' ') + 1);
  try {
    return Number.parseInt(line, 16) === crc32(json) ? (JSON.parse(json) as NewGap[]) : [];
  } catch {
    return [];
  }
}

/** One for each lane. */
function byLane(losses: readonly NewGap[]): NewGap[] {
  const sums = new Map<string, NewGap>();
  for (const one of losses) {
    const { count = 0, seqFrom = one.seqFrom, seqTo = one.seqTo, at = one.at } = sums.get(one.lane) ?? {};
    sums.set(one.lane, {
      ...one,
      count: count + one.count,
      seqFrom: Math.min(seqFrom, one.seqFrom),
      seqTo: Math.max(seqTo, one.seqTo),
      at: Math.max(at, one.at),
    });
  }
  return [...sums.values()];
}
