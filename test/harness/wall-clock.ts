import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The library that gives one process another wall clock, where Debian puts it; undefined where it is not installed. */
export const faketime = ['/usr/lib', ...readdirSync('/usr/lib').map((name) => join('/usr/lib', name))]
  .map((folder) => join(folder, 'faketime', 'libfaketimeMT.so.1'))
  .find((path) => existsSync(path));

/** For the name of a test that is skipped without it. */
export const whyNoFaketime = faketime === undefined ? ' (needs the Debian package faketime)' : '';

/** A wall clock of its own for a process; a step of it does not touch the monotonic clock. */
const faked = { LD_PRELOAD: faketime ?? '', FAKETIME_DONT_FAKE_MONOTONIC: '1' };

/** One that stays so far from the true time, seconds. */
export const clockAt = (offsetS: number) => ({ ...faked, FAKETIME: `${signed(offsetS)}` });

export interface WallClock {
  /** For the environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  /** Moves it so far from the true time, seconds. */
  set(offsetS: number): void;
  /** How far it was from the true time, and since when; the first holds from the beginning. */
  readonly steps: readonly ClockStep[];
}

export interface ClockStep {
  /** By the clock of the machine, milliseconds. */
  readonly from: number;
  readonly offsetMs: number;
}

/** One that can be moved while the process runs, by a file in this folder. */
export function wallClock(folder: string, offsetS = 0): WallClock {
  const file = join(folder, 'offset');
  const steps: ClockStep[] = [];
  function set(seconds: number): void {
    const whole = Math.round(seconds);
    writeFileSync(file, `${signed(whole)}\n`);
    steps.push({ from: steps.length === 0 ? 0 : Date.now(), offsetMs: whole * 1000 });
  }
  set(offsetS);
  return { env: { ...faked, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' }, set, steps };
}

const signed = (seconds: number) => `${seconds < 0 ? '' : '+'}${seconds}`;
