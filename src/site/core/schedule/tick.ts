import type {
  LocalDate,
  ScheduleAction,
  ScheduleActionKind,
  ScheduledArm,
  ScheduleId,
  SchedulePlan,
  SchedulesPlan,
  Stamp,
} from '#site/model/index.ts';
import { dayMs, hourMs, minuteMs } from './local-time.ts';
import {
  finish,
  memoryOf,
  postponedLeft,
  type ScheduleMemory,
  type SchedulesMemory,
  saying,
  settingOf,
  tell,
} from './memory.ts';
import { marginMs, type Slot, type Span, slotId, slotsIn, spanAround } from './slots.ts';

interface SlotOf<A extends ScheduleAction> {
  readonly schedule: ScheduleId;
  /** `night/2026-03-29`: schedule and local date. */
  readonly slot: string;
  /** Wall clock, milliseconds. */
  readonly due: number;
  readonly action: A;
}
/** To be done now. `again`: it was done before, by a clock that was wrong; counted, so that each time has a name of its own. */
export type SlotAction = SlotOf<ScheduleAction> & { readonly lateMs: number; readonly again?: number };
/** An arming that is near. */
export type SlotWarning = SlotOf<ScheduledArm> & { readonly leftMs: number };
/**
 * Will not be done. `late`: found after its time; `clock`: the clock is not good enough; `unwatched`: whether the moment
 * really came cannot be told, because the bridge was off or its clock was set.
 */
export type MissedSlot = SlotOf<ScheduleAction> & { readonly reason: 'late' | 'clock' | 'unwatched' };

export interface ScheduleTick {
  readonly memory: SchedulesMemory;
  /** In the order they are to be done. */
  readonly due: readonly SlotAction[];
  readonly warnings: readonly SlotWarning[];
  readonly missed: readonly MissedSlot[];
}

/**
 * How late a slot may be found and still be done. A missed disarm is never done late (C12): its tolerance is that of
 * the tick. An announcement is of its moment; a test report is better late than not at all.
 */
export const toleranceMs: Readonly<Record<ScheduleActionKind, number>> = {
  arm: 60 * minuteMs,
  disarm: 2 * minuteMs,
  announce: 5 * minuteMs,
  testReport: 12 * hourMs,
};
const warnMs = 5 * minuteMs;
/** So far the two clocks may run apart between two ticks before the wall clock counts as set. */
export const stepMs = 2 * minuteMs;
/** After the wall clock was set nothing is disarmed for so long: a clock that is wrong for a moment opens no door. */
const steadyMs = 10 * minuteMs;
/** Slots older than this are not looked for. */
const backMs = dayMs;
/** The span in which a wall clock says something; beyond it `Date` and croner have limits of their own. */
const wallMax = Date.UTC(2200, 0);

interface Open extends Slot {
  readonly leftMs: number;
}

interface Tick {
  readonly plan: SchedulesPlan;
  readonly at: Stamp;
  readonly span: Span;
  readonly seen: SchedulesMemory['seen'];
  readonly setAt: number | undefined;
  readonly due: SlotAction[];
  readonly warnings: SlotWarning[];
  readonly missed: MissedSlot[];
}

/** Whether a moment can be placed in a calendar at all. */
export const placeable = ({ wall }: Stamp): boolean => wall >= 0 && wall <= wallMax;

/**
 * What the schedules want done. To be called at least once a minute and right after each start; more often does no
 * harm. Pure. As long as the wall clock is not set by more than two minutes, no slot comes twice (of the last 32 a
 * schedule finished); one that a wrong clock did comes again when its time does, see `comesAnew`. Of a time the bridge
 * slept through or a step jumped over, at most one slot of a schedule is done, within its tolerance (C12).
 */
export function scheduleTick(plan: SchedulesPlan, memory: SchedulesMemory, at: Stamp): ScheduleTick {
  if (!placeable(at)) return { memory, due: [], warnings: [], missed: [] };
  const span = spanAround(plan, at.wall, { backMs, aheadMs: warnMs });
  const { seen } = memory;
  const stays = seen?.boot === at.boot;
  const setAt = stays ? (stepOf(seen, at) === 0 ? memory.setAt : at.mono) : undefined;
  const tick: Tick = { plan, at, span, seen, setAt, due: [], warnings: [], missed: [] };
  const schedules = plan.schedules.map((schedule) => {
    const known = stays ? memoryOf(memory, schedule) : withoutSetting(memoryOf(memory, schedule));
    return [schedule.id, known === undefined ? begin(tick, schedule) : advance(tick, schedule, known)] as const;
  });
  return {
    memory: {
      seen: { mono: at.mono, wall: at.wall, boot: at.boot },
      ...(setAt !== undefined && { setAt }),
      schedules: Object.fromEntries(schedules),
    },
    due: tick.due.sort(byTime),
    warnings: tick.warnings,
    missed: tick.missed,
  };
}

/** What it says compares with nothing after a start of the machine. */
function withoutSetting(memory: ScheduleMemory | undefined): ScheduleMemory | undefined {
  if (memory?.setting === undefined) return memory;
  const { setting: _, ...rest } = memory;
  return rest;
}

/** By how much the wall clock was set between two moments of one boot; 0 for what counts as none. */
function stepOf(from: Pick<Stamp, 'mono' | 'wall'>, to: Pick<Stamp, 'mono' | 'wall'>): number {
  const step = settingOf(to) - settingOf(from);
  return Math.abs(step) > stepMs ? step : 0;
}

/** What of it lies in the past when a schedule is first seen is over: nothing is armed because of an edit. */
function begin(tick: Tick, schedule: SchedulePlan): ScheduleMemory {
  const fresh: ScheduleMemory = { says: saying(schedule), done: [] };
  const past = openSlots(tick, schedule, fresh).filter(({ leftMs }) => leftMs <= 0);
  const begun = past.reduce((memory, { date }) => finish(memory, date, tick.at), fresh);
  return advance(tick, schedule, begun);
}

function advance(tick: Tick, schedule: SchedulePlan, before: ScheduleMemory): ScheduleMemory {
  let memory = before;
  for (const open of openSlots(tick, schedule, before)) {
    if (open.leftMs > 0) {
      memory = warn(tick, schedule, memory, open);
      continue;
    }
    const reason = open.skipped ? undefined : hindrance(tick, schedule.action.kind, open);
    // A missed slot stays open: should the clock go back before its moment, that moment may still come.
    const anew = before.done.includes(open.date);
    if (reason === undefined || open.date === before.postponed?.date) memory = finish(memory, open.date, tick.at);
    if (open.skipped) continue;
    const about = { schedule: schedule.id, slot: slotId(schedule, open.date), due: open.due, action: schedule.action };
    if (reason === undefined) {
      if (anew) memory = { ...memory, again: (memory.again ?? 0) + 1 };
      tick.due.push({ ...about, lateMs: 0 - open.leftMs, ...(anew && { again: memory.again ?? 1 }) });
    } else if (isNews(tick, memory, open)) {
      tick.missed.push({ ...about, reason });
      if (schedule.action.kind !== 'arm') memory = tell(memory, open.date);
    }
  }
  return memory;
}

/** A miss is told by the tick that finds it, and not again when the clock goes back and the moment passes once more. */
const isNews = ({ seen }: Tick, { told = [] }: ScheduleMemory, { due, date }: Open): boolean =>
  seen !== undefined && due > seen.wall && !told.includes(date);

function warn(tick: Tick, schedule: SchedulePlan, memory: ScheduleMemory, open: Open): ScheduleMemory {
  const { action } = schedule;
  if (action.kind !== 'arm' || open.skipped || open.leftMs > warnMs || memory.warned === open.date) return memory;
  const slot = slotId(schedule, open.date);
  tick.warnings.push({ schedule: schedule.id, slot, due: open.due, action, leftMs: open.leftMs });
  return { ...memory, warned: open.date };
}

/** Why a slot whose time has come is not done. Undefined: it is done. */
function hindrance(tick: Tick, kind: ScheduleActionKind, { leftMs, due }: Open): MissedSlot['reason'] | undefined {
  if (-leftMs > toleranceMs[kind]) return 'late';
  // Arming by a wrong clock is a nuisance, disarming by one is an open door; a test report proves the line all the same.
  const { clock } = tick.at;
  if (kind === 'disarm' ? clock !== 'synced' : kind === 'announce' && clock === 'doubtful') return 'clock';
  return kind === 'disarm' && !watched(tick, due) ? 'unwatched' : undefined;
}

/**
 * Whether the moment came while siteward looked on: there was a tick before it, in the same boot, and both clocks
 * agree on the time in between and on that before. So neither a start (I3) nor setting the clock disarms anything.
 */
function watched({ seen, setAt, at }: Tick, due: number): boolean {
  if (seen === undefined || seen.boot !== at.boot || seen.wall >= due) return false;
  return setAt === undefined || at.mono - setAt >= steadyMs;
}

/** The slots of a schedule in a span that are not over; a postponed one stands at its new time. */
export function openSlots(
  tick: Pick<Tick, 'plan' | 'span' | 'at' | 'seen'>,
  schedule: SchedulePlan,
  memory: ScheduleMemory,
): Open[] {
  const { plan, span, at, seen } = tick;
  const { done, postponed } = memory;
  // What was done and lies before the last tick stays done.
  const comesFrom = span.now - Math.max(0, at.wall - (seen?.wall ?? at.wall)) - marginMs;
  const isOut = (date: LocalDate, local: number) =>
    date === postponed?.date || (local < comesFrom && done.includes(date));
  const open = slotsIn(plan, schedule, span, isOut)
    .filter((slot) => !done.includes(slot.date) || comesAnew(tick, memory, slot))
    .map((slot) => ({ ...slot, leftMs: slot.due - at.wall }));
  if (postponed === undefined) return open;
  const { date, due } = postponed;
  return [...open, { date, due: due.wall, skipped: false, leftMs: postponedLeft(at, postponed) }];
}

/**
 * Whether a slot that was done is to be done again, because the clock was wrong when it was: it lies ahead, or it comes
 * now under a clock that is set otherwise than it was then. A clock that goes back to how it was set brings nothing
 * again. After a start of the machine that cannot be told; a clock that is set forward is then taken for one that was
 * set right.
 */
function comesAnew(
  { seen, at }: Pick<Tick, 'seen' | 'at'>,
  { setting }: ScheduleMemory,
  { due, date }: Pick<Slot, 'due' | 'date'>,
): boolean {
  if (due > at.wall) return due > at.wall + stepMs;
  if (seen === undefined || due <= seen.wall) return false;
  if (seen.boot !== at.boot) return true;
  const then = setting?.[date];
  return then === undefined ? stepOf(seen, at) <= 0 : Math.abs(settingOf(at) - then) > stepMs;
}

/** Of two at one moment the disarm goes first: then the safer one stands (safety 5). */
function byTime(one: SlotAction, other: SlotAction): number {
  return one.due - other.due || Number(one.action.kind === 'arm') - Number(other.action.kind === 'arm');
}
