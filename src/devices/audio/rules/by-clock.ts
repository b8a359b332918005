import type { Holiday, HolidayRule, LocalTime, Stamp, Weekday } from '#site/model/index.ts';

/** A time of day at which something plays by itself. */
export interface ClockSlot {
  readonly id: string;
  readonly days: readonly Weekday[];
  readonly at: LocalTime;
  readonly holidays: HolidayRule;
}

export interface ClockPlan {
  /** IANA name. */
  readonly timezone: string;
  readonly holidays: readonly Holiday[];
  readonly slots: readonly ClockSlot[];
}

export interface ClockRun {
  readonly id: string;
  /** On the clocks of the site, such as 2026-03-29. */
  readonly date: string;
  /** Wall clock, milliseconds. */
  readonly at: number;
}

/** The next runs after a moment, in their order, without those a holiday takes away. Pure. */
export type NextRuns = (plan: ClockPlan, afterWall: number) => readonly ClockRun[];

/** So far both clocks may run apart before the wall clock counts as set, or the machine as asleep. */
const stepMs = 1_000;
/** What is found later is not made up. */
const lateMs = 2_000;

export interface Look {
  readonly due: readonly ClockRun[];
  /** The clock was set: what is next must be asked anew. */
  readonly wasSet: boolean;
}

/**
 * What is due now, of what is next since the last look. What was missed is not made up: while siteward was down or the machine
 * asleep, while the clock was in doubt, and where it was set over it. Pure.
 */
export function look(before: Stamp, now: Stamp, next: readonly ClockRun[]): Look {
  const wasSet = Math.abs(now.wall - before.wall - (now.mono - before.mono)) > stepMs;
  if (wasSet || now.clock === 'doubtful') return { due: [], wasSet };
  return { due: next.filter(({ at }) => at > before.wall && at <= now.wall && now.wall - at <= lateMs), wasSet };
}

/** Of a month, the first working day from this day on, by its date; its last possible one is two days later. */
export function isFirstWorkingDay(date: string, day: number): boolean {
  const of = Number(date.slice(8));
  const weekday = new Date(`${date}T00:00:00Z`).getUTCDay();
  if (weekday === 0 || weekday === 6) return false;
  return of === day || (weekday === 1 && of > day && of <= day + 2);
}
