import { readdirSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { syncDirectory } from './side.ts';

const keep = 2;
/** Most bytes of a set that is kept for people to look at; a larger one is cut after its salvage. */
const keptBytes = 64 * 1024 ** 2;
const suffixes = ['-wal', '-shm', '.page1', ''] as const;

/**
 * Sets a damaged database aside as `<file>.corrupt-<n>`, its log and shared memory with it: a `-wal` alone is
 * worthless, and a database without it is older than it looks. The newest two sets are kept. Returns the new path.
 */
export function quarantine(path: string): string {
  const dir = dirname(path);
  const numbers = setNumbers(path);
  const target = `${path}.corrupt-${(numbers.at(-1) ?? 0) + 1}`;
  for (const suffix of suffixes) {
    if (statSync(path + suffix, { throwIfNoEntry: false })) renameSync(path + suffix, target + suffix);
  }
  for (const old of numbers.slice(0, Math.max(0, numbers.length + 1 - keep))) {
    for (const suffix of suffixes) {
      rmSync(`${path}.corrupt-${old}${suffix}`, { recursive: true, force: true });
    }
  }
  syncDirectory(dir);
  return target;
}

/** To be called when nothing more is to be read from it: what lies above the bound is given back to the disk. */
export function shorten(kept: string): void {
  for (const suffix of ['-wal', ''] as const) {
    const found = statSync(kept + suffix, { throwIfNoEntry: false });
    if (found?.isFile() === true && found.size > keptBytes) truncateSync(kept + suffix, keptBytes);
  }
}

function setNumbers(path: string): number[] {
  const prefix = `${basename(path)}.corrupt-`;
  const numbers = readdirSync(join(dirname(path)))
    .filter((name) => name.startsWith(prefix))
    .map((name) => Number(/^\d+/.exec(name.slice(prefix.length))?.[0]))
    .filter((number) => Number.isInteger(number));
  return [...new Set(numbers)].sort((a, b) => a - b);
}
