import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { syncDirectory } from './side.ts';

const keep = 2;

/**
 * Sets a damaged database aside as `<file>.corrupt-<n>`, its log and shared memory with it: a `-wal` alone is
 * worthless, and a database without it is older than it looks. The newest two sets are kept. Returns the new path.
 */
export function quarantine(path: string): string {
  const dir = dirname(path);
  const numbers = setNumbers(path);
  const target = `${path}.corrupt-${(numbers.at(-1) ?? 0) + 1}`;
  for (const suffix of ['-wal', '-shm', '']) {
    if (statSync(path + suffix, { throwIfNoEntry: false })) renameSync(path + suffix, target + suffix);
  }
  for (const old of numbers.slice(0, Math.max(0, numbers.length + 1 - keep))) {
    for (const suffix of ['', '-wal', '-shm']) {
      rmSync(`${path}.corrupt-${old}${suffix}`, { recursive: true, force: true });
    }
  }
  syncDirectory(dir);
  return target;
}

function setNumbers(path: string): number[] {
  const prefix = `${basename(path)}.corrupt-`;
  const numbers = readdirSync(join(dirname(path)))
    .filter((name) => name.startsWith(prefix))
    .map((name) => Number(/^\d+/.exec(name.slice(prefix.length))?.[0]))
    .filter((number) => Number.isInteger(number));
  return [...new Set(numbers)].sort((a, b) => a - b);
}
