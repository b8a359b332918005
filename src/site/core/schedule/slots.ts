import type { Holiday, LocalDate, SchedulePlan, SchedulesPlan } from '#site/model/index.ts';
import { type Day, dateOf, dayMs, hourMs, instantOf, localMs, timeMs, weekdayOf } from './local-time.ts';

/**
 * One run a schedule has, named by schedule and local date: there is at most one a date, whatever the clocks do. A gap
 * that lasts until midnight makes it run on the next date; it keeps the name of its own.
 */
export interface Slot {
  readonly date: LocalDate;
  /** Wall clock, milliseconds. */
  readonly due: number;
  /** The holiday it falls on. */
  readonly holiday?: string;
  /** It does not run because of the holiday. */
  readonly skipped: boolean;
}

/** Clocks move by two hours at most (Antarctica/Troll), so a local time is never further than this from its instant. */
export const marginMs = 3 * hourMs;

export const slotId = (schedule: SchedulePlan, date: LocalDate): string => `${schedule.id}/${date}`;

/** A span on the site's own clocks: the slots with a time within it are those that can be due in a span of time. */
export interface Span {
  readonly from: number;
  readonly to: number;
  /** The moment it lies around. */
  readonly now: number;
}

export function spanAround(
  plan: SchedulesPlan,
  wall: number,
  { backMs, aheadMs }: { readonly backMs: number; readonly aheadMs: number },
): Span {
  const local = localMs(plan.timezone, wall);
  return { from: local - backMs - marginMs, to: local + aheadMs + marginMs, now: local };
}

export const dayAt = (local: number): Day => Math.floor(local / dayMs);

/**
 * The slots of one schedule in a span of the site's clocks, without those to leave out, by date and time on those
 * clocks. Finding an instant costs some 60 microseconds, so it is done for no date that cannot matter.
 */
export function slotsIn(
  plan: SchedulesPlan,
  schedule: SchedulePlan,
  span: Span,
  leaveOut: (date: LocalDate, local: number) => boolean,
): Slot[] {
  const time = timeMs(schedule.at);
  const slots: Slot[] = [];
  for (let day = dayAt(span.from); day <= dayAt(span.to); day++) {
    const local = day * dayMs + time;
    if (local < span.from || local > span.to || leaveOut(dateOf(day), local)) continue;
    const slot = slotOn(plan, schedule, day);
    if (slot !== undefined) slots.push(slot);
  }
  return slots;
}

/** The slot of a date; undefined when the schedule has nothing to do with that date. */
export function slotOn(plan: SchedulesPlan, schedule: SchedulePlan, day: Day): Slot | undefined {
  if (!schedule.days.includes(weekdayOf(day))) return undefined;
  const date = dateOf(day);
  const holiday = holidayOn(plan.holidays, date);
  if (schedule.holidays === 'only' && holiday === undefined) return undefined;
  return {
    date,
    due: instantOf(plan.timezone, day, schedule.at),
    ...(holiday !== undefined && { holiday: holiday.name }),
    skipped: schedule.holidays === 'skip' && holiday !== undefined,
  };
}

const holidayOn = (holidays: readonly Holiday[], date: LocalDate): Holiday | undefined =>
  holidays.find(({ from, to }) => from <= date && date <= to);
