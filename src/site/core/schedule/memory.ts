import type { Deadline, LocalDate, ScheduleId, SchedulePlan, Stamp } from '#site/model/index.ts';

/** What the schedules remember. Plain data: it is stored as JSON with the state and comes back equal. */
export interface SchedulesMemory {
  /** The last tick. */
  readonly seen?: Deadline;
  /** When the wall clock was last found set in the boot of `seen`, by its monotonic clock. */
  readonly setAt?: number;
  /** By id; those no longer in the plan are forgotten. */
  readonly schedules: Readonly<Record<ScheduleId, ScheduleMemory>>;
}

export interface ScheduleMemory {
  /** When the schedule runs, as it said when last seen; a schedule that says something else begins anew. */
  readonly says: string;
  /**
   * Dates whose slot is over: it ran, was left out for a holiday, or had passed when the schedule was first seen. A
   * set and not the last date, because a clock that stood a year ahead must not silence a year of slots. Above the cap
   * the one finished first gives way.
   */
  readonly done: readonly LocalDate[];
  /** Of dates done in the boot of `seen`: the wall clock minus the monotonic one, which tells how the clock was set. */
  readonly setting?: Readonly<Record<LocalDate, number>>;
  /** How often a date was done anew because the clock had been wrong the first time. */
  readonly again?: number;
  /**
   * Dates of which was told that nothing was done, though their moment may still come where the clock went back. Never
   * those of an arming: that a partition stays open is told each time (safety 7). Above the cap the oldest gives way.
   */
  readonly told?: readonly LocalDate[];
  /** The last date people were warned for. */
  readonly warned?: LocalDate;
  readonly postponed?: Postponement;
}

export interface Postponement {
  readonly date: LocalDate;
  readonly due: Deadline;
  /** From the moment it was given to `due`, milliseconds. */
  readonly withinMs: number;
  readonly times: number;
  /** Over all times, milliseconds. */
  readonly totalMs: number;
}

/** At most so many finished dates per schedule, and so many told: a daily schedule's last month. */
const doneCap = 32;

export const emptySchedules: SchedulesMemory = { schedules: {} };

export const saying = ({ at, days, holidays, action }: SchedulePlan): string =>
  [at, [...days].sort().join(','), holidays, action.kind].join(' ');

/** Undefined for a schedule that is new, or not the same as before. */
export function memoryOf(memory: SchedulesMemory, schedule: SchedulePlan): ScheduleMemory | undefined {
  const known = Object.hasOwn(memory.schedules, schedule.id) ? memory.schedules[schedule.id] : undefined;
  return known?.says === saying(schedule) ? known : undefined;
}

/** How the wall clock is set. */
export const settingOf = ({ wall, mono }: Pick<Stamp, 'wall' | 'mono'>): number => Math.round(wall - mono);

export function finish(memory: ScheduleMemory, date: LocalDate, at: Stamp): ScheduleMemory {
  const { postponed, ...rest } = memory;
  const done = [...memory.done.filter((one) => one !== date), date].slice(-doneCap);
  const settings = Object.entries({ ...memory.setting, [date]: settingOf(at) });
  return {
    ...rest,
    done,
    setting: Object.fromEntries(settings.filter(([one]) => done.includes(one))),
    ...(postponed !== undefined && postponed.date !== date && { postponed }),
  };
}

export const tell = (memory: ScheduleMemory, date: LocalDate): ScheduleMemory => ({
  ...memory,
  told: [...(memory.told ?? []), date].slice(-doneCap),
});

/**
 * Milliseconds until a postponed slot; negative when it has passed. Somebody asked for more minutes, so within one
 * boot they are counted on the monotonic clock, which no step shortens. After a start of the machine only the wall
 * clock is left; if it then says more than was asked for, it went back, and the slot is due: late is safer than never.
 */
export function postponedLeft(at: Stamp, { due, withinMs }: Postponement): number {
  if (at.boot === due.boot) return due.mono - at.mono;
  const left = due.wall - at.wall;
  return left > withinMs ? 0 : left;
}
