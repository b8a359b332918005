import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Clock } from '#lib/clock.ts';
import { ok, type Part } from '#lib/health.ts';
import { sleep } from '#lib/wait.ts';
import type { ClockQuality, TrustedMoment } from './model/index.ts';

/** No moment before this can be true: the source is younger. */
const writtenAt = Date.UTC(2026, 10, 1);
/**
 * systemd-timesyncd makes this file when the kernel's clock is synchronised. /run is memory on every system with
 * systemd, so that looking for it waits for no disk.
 */
const timesyncMark = '/run/systemd/timesync/synchronized';
const stepMs = 2000;
const confirmedForMs = 24 * 3_600_000;
/**
 * A clock this close to the cloud's is right, as far as the cloud can tell: a `Date` counts whole seconds, and where in
 * the round trip it was taken is not known. With the half second and a usual round trip, events of a clock that agrees
 * are never more than 2 s wrong.
 */
const agreeMs = 1_400;
/** An answer that took longer tells no time. */
const slowMs = 2_000;
/** A `Date` header counts whole seconds: on average the server is so much further. */
const dateMs = 500;
const lookEveryMs = 1_000;
/** The time service is not asked at each input: in a flood of them that alone would take a noticeable part of the machine. */
const askEveryMs = 1_000;

/**
 * How far the wall clock can be trusted. `synced`: the time service says so, or the cloud's `Date` agreed within the
 * last day; `doubtful`: it is behind what is known to have happened, it was set while siteward ran and nobody has
 * confirmed it since, or the cloud disagrees; `holdover`: anything between. A clock in doubt ages no command.
 */
export interface ClockQualityWatch {
  current(): ClockQuality;
  /** The cloud's `Date` minus our clock in the middle of a round trip, milliseconds, over verified TLS. */
  compare(offsetMs: number, roundTripMs: number): void;
  /** Something is on record for this moment (wall clock, milliseconds): unless confirmed, it cannot be earlier now. */
  notBefore(wallMs: number): void;
  /** Looks for a step, says it in the log, and tells the time if the time service stands for it. */
  check(): void;
}

export interface ClockWatchOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly isSynchronised?: () => boolean;
  /** Told each time somebody stands for the time. */
  readonly onTrusted?: (moment: TrustedMoment) => void;
  /** Told after the wall clock was set. */
  readonly onStep?: (byMs: number) => void;
}

/**
 * The wall clock's keeper. It never sets any clock and schedules nothing by it: a step is found by the monotonic
 * clock, within a second while `clockWatch` runs and before each input is stamped.
 */
export function watchClock(options: ClockWatchOptions): ClockQualityWatch {
  const { clock, log, onTrusted } = options;
  const ask = options.isSynchronised ?? (() => existsSync(timesyncMark));
  let asked: { readonly mono: number; readonly is: boolean } | undefined;
  let base = clock.wall() - clock.monotonic();
  let earliest = 0;
  let stepped = false;
  let comparison: { readonly mono: number; readonly offsetMs: number } | undefined;

  function check(): void {
    const now = clock.wall() - clock.monotonic();
    const step = now - base;
    if (Math.abs(step) <= stepMs) return;
    base = now;
    stepped = true;
    // What the cloud said belongs to the clock before the step.
    comparison = undefined;
    asked = undefined;
    log.warn({ stepMs: Math.round(step) }, 'the wall clock was set while siteward ran; intervals are not affected');
    options.onStep?.(step);
  }

  /** What the cloud said within the last day, about the clock as it is set now. */
  function recentOffsetMs(): number | undefined {
    if (comparison === undefined || clock.monotonic() - comparison.mono >= confirmedForMs) return undefined;
    return comparison.offsetMs;
  }

  function isSynchronised(): boolean {
    const mono = clock.monotonic();
    if (asked === undefined || mono - asked.mono >= askEveryMs) asked = { mono, is: ask() };
    return asked.is;
  }

  return {
    current() {
      check();
      if (clock.wall() < writtenAt) return 'doubtful';
      const offsetMs = recentOffsetMs();
      if (offsetMs !== undefined) return Math.abs(offsetMs + dateMs) <= agreeMs ? 'synced' : 'doubtful';
      if (isSynchronised()) return 'synced';
      return stepped || clock.wall() < earliest ? 'doubtful' : 'holdover';
    },
    compare(offsetMs, roundTripMs) {
      check();
      if (roundTripMs > slowMs) return;
      comparison = { mono: clock.monotonic(), offsetMs };
      stepped = false;
      const off = offsetMs + dateMs;
      const wall = clock.wall() + (Math.abs(off) <= agreeMs ? 0 : off);
      if (wall >= writtenAt) onTrusted?.({ mono: clock.monotonic(), wall, source: 'cloud' });
    },
    notBefore(wallMs) {
      earliest = Math.max(earliest, wallMs);
    },
    check() {
      check();
      // What the cloud says wins: it is asked over TLS, and it is the cloud that reads the times.
      if (recentOffsetMs() !== undefined || clock.wall() < writtenAt || !isSynchronised()) return;
      onTrusted?.({ mono: clock.monotonic(), wall: clock.wall(), source: 'ntp' });
    },
  };
}

/** Looks at the clock once a second, by the monotonic clock. */
export function clockWatch(quality: Pick<ClockQualityWatch, 'check'>): Part {
  const abort = new AbortController();
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    for (;;) {
      quality.check();
      await sleep(lookEveryMs, abort.signal);
    }
  }

  return {
    name: 'clock',
    async start() {
      running = run().catch(() => undefined);
    },
    async stop() {
      abort.abort();
      await running;
    },
    health: () => ok({}),
  };
}
