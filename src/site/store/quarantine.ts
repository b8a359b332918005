import { readdirSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { syncDirectory } from './side.ts';

/** Sets that were read stay for people to look at as long as there are not more than so many. */
const keep = 2;
/** One that was not read holds events nobody else has; above this number the oldest goes, and its salvage counts it as lost. */
const mostSets = 16;
/** Most bytes of a set that is kept for people to look at; a larger one is cut after its salvage. */
const keptBytes = 64 * 1024 ** 2;
/** `.read`: nothing more is to be taken from it. */
const suffixes = ['-wal', '-shm', '.page1', '.read', ''] as const;

/**
 * Sets a damaged database aside as `<file>.corrupt-<n>`, its log and shared memory with it: a `-wal` alone is
 * worthless, and a database without it is older than it looks. The newest two sets are kept, and every one that was not
 * read to its end. Returns the new path.
 */
export function quarantine(path: string): string {
  const dir = dirname(path);
  const target = halfAside(path) ?? `${path}.corrupt-${(setNumbers(path).at(-1) ?? 0) + 1}`;
  const numbers = setNumbers(path).filter((number) => target !== `${path}.corrupt-${number}`);
  for (const suffix of suffixes) {
    if (statSync(path + suffix, { throwIfNoEntry: false })) renameSync(path + suffix, target + suffix);
  }
  const old = (most: number) => numbers.slice(0, Math.max(0, numbers.length + 1 - most));
  const read = old(keep).filter((number) => exists(`${path}.corrupt-${number}.read`));
  for (const number of new Set([...read, ...old(mostSets)])) removeSet(`${path}.corrupt-${number}`);
  syncDirectory(dir);
  return target;
}

function removeSet(kept: string): void {
  for (const suffix of suffixes) rmSync(kept + suffix, { recursive: true, force: true });
}

/** On a full disk what is kept for people only goes before any event does; true when there was something. */
export function removeRead(path: string): boolean {
  const read = setNumbers(path)
    .map((number) => `${path}.corrupt-${number}`)
    .filter((kept) => exists(`${kept}.read`));
  for (const kept of read) removeSet(kept);
  return read.length > 0;
}

/** Everything that was set aside, read or not. */
export function removeAll(path: string): void {
  for (const number of setNumbers(path)) removeSet(`${path}.corrupt-${number}`);
}

/** The newest set; undefined when there is none. */
function newestAside(path: string): string | undefined {
  const newest = setNumbers(path).at(-1);
  return newest === undefined ? undefined : `${path}.corrupt-${newest}`;
}

/** The newest set if it was not read to its end: from an older one delivered events would be sent again. */
export function unreadAside(path: string): string | undefined {
  const newest = newestAside(path);
  return newest === undefined || exists(`${newest}.read`) ? undefined : newest;
}

/** Sets that were not read to their end, newest first. */
export const unreadSets = (path: string): string[] =>
  setNumbers(path)
    .map((number) => `${path}.corrupt-${number}`)
    .filter((kept) => !exists(`${kept}.read`))
    .reverse();

/** To be called when nothing more is to be read from a set. */
export function markRead(kept: string): void {
  shorten(kept);
  writeFileSync(`${kept}.read`, '', { mode: 0o600 });
  syncDirectory(dirname(kept));
}

/**
 * The name of a set whose database did not go there yet, its log did: the power failed in between. The database comes last, so
 * that it is never used without its log.
 */
function halfAside(path: string): string | undefined {
  const newest = newestAside(path);
  if (newest === undefined || exists(newest) || !exists(path)) return undefined;
  return exists(`${newest}-wal`) || exists(`${newest}-shm`) ? newest : undefined;
}

/** Why the file must be set aside though it may look sound; undefined when it need not. */
export const interruption = (path: string): string | undefined =>
  halfAside(path) === undefined ? undefined : interrupted;

/** Why a file is filled anew when a former run ended in the middle of setting one aside. */
export const interrupted = 'siteward ended while it was being set aside';

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

/** What lies above the bound is given back to the disk. */
function shorten(kept: string): void {
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
