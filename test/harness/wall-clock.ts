import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The library that gives one process another wall clock, where Debian puts it; undefined where it is not installed. */
export const faketime = ['/usr/lib', ...readdirSync('/usr/lib').map((name) => join('/usr/lib', name))]
  .map((folder) => join(folder, 'faketime', 'libfaketimeMT.so.1'))
  .find((path) => existsSync(path));

/** For the name of a test that is skipped without it. */
export const whyNoFaketime = faketime === undefined ? ' (needs the Debian package faketime)' : '';

/** A wall clock of its own for a process; a step of it does not touch the monotonic clock. */
const steps = { LD_PRELOAD: faketime ?? '', FAKETIME_DONT_FAKE_MONOTONIC: '1' };

/** One that stays so far from the true time, seconds. */
export const clockAt = (offsetS: number) => ({ ...steps, FAKETIME: `${signed(offsetS)}` });

export interface WallClock {
  /** For the environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  /** Moves it so far from the true time, seconds. */
  set(offsetS: number): void;
}

/** One that can be moved while the process runs, by a file in this folder. */
export function wallClock(folder: string, offsetS = 0): WallClock {
  const file = join(folder, 'offset');
  const set = (seconds: number) => writeFileSync(file, `${signed(Math.round(seconds))}\n`);
  set(offsetS);
  return { env: { ...steps, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' }, set };
}

const signed = (seconds: number) => `${seconds < 0 ? '' : '+'}${seconds}`;
