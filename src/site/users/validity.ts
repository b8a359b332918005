import { localIso } from '#lib/local-iso.ts';
import { type ClockQuality, type WeekWindow, windowDays } from '#site/model/index.ts';
import type { Unfit, UserRecord } from './types.ts';

/** A minute in the time of a site, in texts that sort as time does. */
export interface SiteTime {
  /** `2026-12-01T18:30`. */
  readonly minute: string;
  /** 0 is Monday. */
  readonly weekday: number;
}

/** Wall clock milliseconds as the clock on the wall of the site shows them. Throws `RangeError` for an unknown zone. */
export function siteTime(wallMs: number, timezone: string): SiteTime {
  const minute = localIso(wallMs, timezone).slice(0, 16);
  return { minute, weekday: (new Date(`${minute.slice(0, 10)}T00:00:00Z`).getUTCDay() + 6) % 7 };
}

type Limits = Pick<UserRecord, 'validFrom' | 'validUntil' | 'windows'>;

/** Why somebody's code does not count now; undefined when it does. Who has no limits needs no clock. */
export function unfit(limits: Limits, at: SiteTime, clock: ClockQuality): Unfit | undefined {
  const { windows } = limits;
  if (limits.validFrom === undefined && limits.validUntil === undefined && windows === undefined) return undefined;
  if (clock === 'doubtful') return 'clock in doubt';
  return (
    outOfDates(limits, at) ?? (windows?.some((window) => isOpen(window, at)) === false ? 'outside hours' : undefined)
  );
}

/** Compared as far as the limit is written: a day as a day, so that the last one counts to its end. */
export function outOfDates({ validFrom, validUntil }: Limits, { minute }: SiteTime): Unfit | undefined {
  if (validFrom !== undefined && minute.slice(0, validFrom.length) < validFrom) return 'not yet valid';
  if (validUntil === undefined) return undefined;
  const now = minute.slice(0, validUntil.length);
  const isOver = validUntil.length > 10 ? now >= validUntil : now > validUntil;
  return isOver ? 'expired' : undefined;
}

function isOpen({ days, from, to }: WeekWindow, { minute, weekday }: SiteTime): boolean {
  const time = minute.slice(11);
  const on = (day: number) => days.some((name) => windowDays[(day + 7) % 7] === name);
  if (from < to) return on(weekday) && time >= from && time < to;
  return (on(weekday) && time >= from) || (on(weekday - 1) && time < to);
}
