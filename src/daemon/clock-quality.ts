import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Clock } from '#lib/clock.ts';
import type { ClockQuality } from '#site/model/index.ts';

/** No moment before this can be true: the source is younger. */
const notBefore = Date.UTC(2026, 10, 1);
/** systemd-timesyncd makes this file when the kernel's clock is synchronised. */
const timesyncMark = '/run/systemd/timesync/synchronized';
const stepMs = 2000;
const confirmedForMs = 24 * 3_600_000;
const agreeMs = 10_000;

/**
 * How far the wall clock can be trusted. `synced`: the time service says so, or the cloud's `Date` agreed within the
 * last day; `doubtful`: before this version was written, or the cloud disagrees; `holdover`: anything between.
 */
export interface ClockQualityWatch {
  current(): ClockQuality;
  /** The cloud's clock minus ours, milliseconds, over verified TLS. */
  compare(offsetMs: number): void;
  /** Looks for a step; to be called about once a minute. */
  check(): void;
}

export function watchClock(options: { clock: Clock; log: Logger; isSynchronised?: () => boolean }): ClockQualityWatch {
  const { clock, log } = options;
  const isSynchronised = options.isSynchronised ?? (() => existsSync(timesyncMark));
  let base = clock.wall() - clock.monotonic();
  let comparison: { readonly mono: number; readonly offsetMs: number } | undefined;

  return {
    current() {
      if (clock.wall() < notBefore) return 'doubtful';
      const fresh = comparison !== undefined && clock.monotonic() - comparison.mono < confirmedForMs;
      if (fresh && comparison !== undefined) return Math.abs(comparison.offsetMs) <= agreeMs ? 'synced' : 'doubtful';
      return isSynchronised() ? 'synced' : 'holdover';
    },
    compare(offsetMs) {
      comparison = { mono: clock.monotonic(), offsetMs };
    },
    check() {
      const now = clock.wall() - clock.monotonic();
      const step = now - base;
      base = now;
      if (Math.abs(step) <= stepMs) return;
      // What the cloud said belongs to the clock before the step.
      comparison = undefined;
      log.warn({ stepMs: Math.round(step) }, 'the wall clock was set while siteward ran; intervals are not affected');
    },
  };
}
