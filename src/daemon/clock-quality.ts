import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Clock } from '#lib/clock.ts';
import type { ClockQuality } from '#site/model/index.ts';

/** No moment before this can be true: the source is younger. */
const writtenAt = Date.UTC(2026, 10, 1);
/** systemd-timesyncd makes this file when the kernel's clock is synchronised. */
const timesyncMark = '/run/systemd/timesync/synchronized';
const stepMs = 2000;
const confirmedForMs = 24 * 3_600_000;
const agreeMs = 10_000;

/**
 * How far the wall clock can be trusted. `synced`: the time service says so, or the cloud's `Date` agreed within the
 * last day; `doubtful`: it is behind what is known to have happened, it was set while siteward ran and nobody has
 * confirmed it since, or the cloud disagrees; `holdover`: anything between. A clock in doubt ages no command.
 */
export interface ClockQualityWatch {
  current(): ClockQuality;
  /** The cloud's clock minus ours, milliseconds, over verified TLS. */
  compare(offsetMs: number): void;
  /** Something is on record for this moment (wall clock, milliseconds): unless confirmed, it cannot be earlier now. */
  notBefore(wallMs: number): void;
  /** Looks for a step and says it in the log; to be called now and then. */
  check(): void;
}

export function watchClock(options: { clock: Clock; log: Logger; isSynchronised?: () => boolean }): ClockQualityWatch {
  const { clock, log } = options;
  const isSynchronised = options.isSynchronised ?? (() => existsSync(timesyncMark));
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
    log.warn({ stepMs: Math.round(step) }, 'the wall clock was set while siteward ran; intervals are not affected');
  }

  return {
    current() {
      check();
      if (clock.wall() < writtenAt) return 'doubtful';
      const isFresh = comparison !== undefined && clock.monotonic() - comparison.mono < confirmedForMs;
      if (isFresh && comparison !== undefined) return Math.abs(comparison.offsetMs) <= agreeMs ? 'synced' : 'doubtful';
      if (isSynchronised()) return 'synced';
      return stepped || clock.wall() < earliest ? 'doubtful' : 'holdover';
    },
    compare(offsetMs) {
      check();
      comparison = { mono: clock.monotonic(), offsetMs };
      stepped = false;
    },
    notBefore(wallMs) {
      earliest = Math.max(earliest, wallMs);
    },
    check,
  };
}
