import { z } from 'zod';
import type { ArmMode } from './arming.ts';
import { type PartitionId, shortId } from './ids.ts';

/** The id a technician gives a schedule in the configuration. */
export const scheduleId = shortId;
export type ScheduleId = z.infer<typeof scheduleId>;

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export const weekday = z.enum(weekdays);
export type Weekday = z.infer<typeof weekday>;

/** Days of the week as people write them: `mon`, `mon-fri`, or `daily`. */
export const dayRange = z
  .string()
  .regex(
    new RegExp(`^(daily|(${weekdays.join('|')})(-(${weekdays.join('|')}))?)$`),
    'must be a day such as mon, days such as mon-fri, or daily',
  );

/** The days that some ranges name, in the order of the week. */
export const daysOf = (ranges: readonly string[]): readonly Weekday[] =>
  weekdays.filter((day) => ranges.some((range) => daysOfOne(range).includes(day)));

/** "fri-mon" goes over the end of the week. */
function daysOfOne(range: string): readonly Weekday[] {
  if (range === 'daily') return weekdays;
  const [first = -1, last = first] = range.split('-').map((day) => (weekdays as readonly string[]).indexOf(day));
  const length = ((last - first + 7) % 7) + 1;
  return Array.from({ length }, (_, index) => weekdays[(first + index) % 7]).filter((day) => day !== undefined);
}

/** A time of day on the site's own clock. */
export const localTime = z.string().regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'must be a time of day such as 22:00');
export type LocalTime = z.infer<typeof localTime>;
/** Minutes from midnight on. */
export const minuteOf = (time: LocalTime): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

/** A date of the site's own calendar; as text, dates compare in their order. */
export const localDate = z.iso.date('must be a date such as 2026-12-24');
export type LocalDate = z.infer<typeof localDate>;

/** Both days included. */
export interface Holiday {
  readonly from: LocalDate;
  readonly to: LocalDate;
  readonly name: string;
}

/** What a schedule does on a holiday: stay away, run on holidays alone, or take them as any other day. */
export const holidayRule = z.enum(['skip', 'only', 'ignore']);
export type HolidayRule = z.infer<typeof holidayRule>;

/** How often, and by how much in all, people may put off one arming. */
export interface PostponeLimit {
  readonly times: number;
  readonly totalMs: number;
}

export type ScheduleAction =
  | {
      readonly kind: 'arm';
      readonly partitions: readonly PartitionId[];
      readonly mode: ArmMode;
      /** Safety 7: what an open zone means. `bypass` arms without it, `fail` reports that the site is not armed. */
      readonly notReady: 'fail' | 'bypass';
      /** So long an arming waits for zones to close and for the panel to be there, milliseconds. */
      readonly waitMs: number;
      readonly postpone: PostponeLimit;
    }
  /** Undoes what this arm schedule did, if nobody changed it since (C12). */
  | { readonly kind: 'disarm'; readonly schedule: ScheduleId }
  | { readonly kind: 'announce'; readonly message: string }
  | { readonly kind: 'testReport' };
export type ScheduleActionKind = ScheduleAction['kind'];
export type ScheduledArm = Extract<ScheduleAction, { kind: 'arm' }>;

export interface SchedulePlan {
  readonly id: ScheduleId;
  readonly name: string;
  readonly days: readonly Weekday[];
  readonly at: LocalTime;
  readonly holidays: HolidayRule;
  readonly action: ScheduleAction;
}

/** All schedules of the site, and the calendar they go by. */
export interface SchedulesPlan {
  /** IANA name. */
  readonly timezone: string;
  readonly schedules: readonly SchedulePlan[];
  readonly holidays: readonly Holiday[];
}

/**
 * What the owner of a closed shop expects where the configuration is silent. Nobody comes, so nothing may disarm and
 * nothing need be announced. Arming does no harm to what is armed already and catches who came in all the same; the
 * station waits for its test report on every day.
 */
export const holidayDefault: Readonly<Record<ScheduleActionKind, HolidayRule>> = {
  arm: 'ignore',
  disarm: 'skip',
  announce: 'skip',
  testReport: 'ignore',
};

export const postponeDefault: PostponeLimit = { times: 2, totalMs: 2 * 3_600_000 };
