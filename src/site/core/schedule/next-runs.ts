import type { LocalDate, LocalTime, ScheduleActionKind, ScheduleId, SchedulesPlan } from '#site/model/index.ts';
import { dayMs, localMs, timeMs } from './local-time.ts';
import { memoryOf, type SchedulesMemory } from './memory.ts';
import { dayAt, slotOn, spanAround } from './slots.ts';
import { stepMs } from './tick.ts';

/** One line of `siteward schedule`. */
export interface UpcomingRun {
  readonly schedule: ScheduleId;
  readonly name: string;
  readonly action: ScheduleActionKind;
  /** The slot's own date and time on the site's clocks. */
  readonly date: LocalDate;
  readonly time: LocalTime;
  /** When it runs, wall clock milliseconds. */
  readonly at: number;
  readonly holiday?: string;
  /** It is left out because of the holiday. */
  readonly skipped: boolean;
  /** Its time does not exist on that date: it runs at the first instant after the gap. */
  readonly afterGap: boolean;
  readonly postponed: boolean;
}

const maxUpcoming = 100;
/** No further ahead than this, so that a schedule for rare holidays ends the search. */
const horizonDays = 400;

/**
 * The next runs of all schedules in their order; those a holiday takes away stand among them, marked. `count` is
 * brought within 1 and 100. With `memory`, what is over is left out and what was postponed stands at its new time.
 */
export function nextRuns(
  plan: SchedulesPlan,
  {
    afterWall,
    count,
    memory,
  }: { readonly afterWall: number; readonly count: number; readonly memory?: SchedulesMemory },
): UpcomingRun[] {
  const wanted = Math.min(Math.max(Math.trunc(count) || 1, 1), maxUpcoming);
  const runs: UpcomingRun[] = [];
  const first = dayAt(spanAround(plan, afterWall, { backMs: dayMs, aheadMs: 0 }).from);
  for (let day = first; day < first + horizonDays; day++) {
    // Asked before the date is added: a postponed run may have moved behind some of the next date.
    const enough = runs.length >= wanted;
    runs.push(...runsOn(plan, day, afterWall, memory).filter(({ at }) => at > afterWall));
    if (enough) break;
  }
  return runs.sort((one, other) => one.at - other.at).slice(0, wanted);
}

function runsOn(plan: SchedulesPlan, day: number, wall: number, memory: SchedulesMemory | undefined): UpcomingRun[] {
  return plan.schedules.flatMap((schedule) => {
    const slot = slotOn(plan, schedule, day);
    const known = memory === undefined ? undefined : memoryOf(memory, schedule);
    // What was done and still lies ahead was done by a wrong clock.
    const isOver = slot !== undefined && slot.due <= wall + stepMs && known?.done.includes(slot.date) === true;
    if (slot === undefined || isOver) return [];
    const postponed = known?.postponed?.date === slot.date ? known.postponed : undefined;
    return {
      schedule: schedule.id,
      name: schedule.name,
      action: schedule.action.kind,
      date: slot.date,
      time: schedule.at,
      at: postponed?.due.wall ?? slot.due,
      ...(slot.holiday !== undefined && { holiday: slot.holiday }),
      skipped: slot.skipped,
      afterGap: localMs(plan.timezone, slot.due) !== day * dayMs + timeMs(schedule.at),
      postponed: postponed !== undefined,
    };
  });
}
