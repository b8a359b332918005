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
import { finish, memoryOf, postponedLeft, type ScheduleMemory, type SchedulesMemory, saying, tell } from './memory.ts';
import { type Slot, type Span, slotId, slotsIn, spanAround } from './slots.ts';

interface SlotOf<A extends ScheduleAction> {
  readonly schedule: ScheduleId;
  /** `night/2026-03-29`: schedule and local date. */
  readonly slot: string;
  /** Wall clock, milliseconds. */
  readonly due: number;
  readonly action: A;
}
/** To be done now. */
export type SlotAction = SlotOf<ScheduleAction> & { readonly lateMs: number };
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
export const warnMs = 5 * minuteMs;
/** So far the two clocks may run apart between two ticks before the wall clock counts as set. */
const stepMs = 2 * minuteMs;
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
  readonly due: SlotAction[];
  readonly warnings: SlotWarning[];
  readonly missed: MissedSlot[];
}

/** Whether a moment can be placed in a calendar at all. */
export const placeable = ({ wall }: Stamp): boolean => wall >= 0 && wall <= wallMax;

/**
 * What the schedules want done. To be called at least once a minute and right after each start; more often does no
 * harm. Pure. No slot comes twice, whatever the wall clock does (of the last 32 a schedule finished); of a time the
 * bridge slept through or a step jumped over, at most one slot of a schedule is done, within its tolerance (C12).
 */
export function scheduleTick(plan: SchedulesPlan, memory: SchedulesMemory, at: Stamp): ScheduleTick {
  if (!placeable(at)) return { memory, due: [], warnings: [], missed: [] };
  const span = spanAround(plan, at.wall, { backMs, aheadMs: warnMs });
  const tick: Tick = { plan, at, span, seen: memory.seen, due: [], warnings: [], missed: [] };
  const schedules = plan.schedules.map((schedule) => {
    const known = memoryOf(memory, schedule);
    return [schedule.id, known === undefined ? begin(tick, schedule) : advance(tick, schedule, known)] as const;
  });
  return {
    memory: { seen: { mono: at.mono, wall: at.wall, boot: at.boot }, schedules: Object.fromEntries(schedules) },
    due: tick.due.sort(byTime),
    warnings: tick.warnings,
    missed: tick.missed,
  };
}

/** What of it lies in the past when a schedule is first seen is over: nothing is armed because of an edit. */
function begin(tick: Tick, schedule: SchedulePlan): ScheduleMemory {
  const fresh: ScheduleMemory = { says: saying(schedule), done: [] };
  const past = openSlots(tick, schedule, fresh).filter(({ leftMs }) => leftMs <= 0);
  const begun = past.reduce((memory, { date }) => finish(memory, date), fresh);
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
    if (reason === undefined || open.date === before.postponed?.date) memory = finish(memory, open.date);
    if (open.skipped) continue;
    const about = { schedule: schedule.id, slot: slotId(schedule, open.date), due: open.due, action: schedule.action };
    if (reason === undefined) tick.due.push({ ...about, lateMs: 0 - open.leftMs });
    else if (isNews(tick, memory, open)) {
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
 * agree on the time in between. So neither a start (I3) nor setting the clock forward disarms anything.
 */
function watched({ seen, at }: Tick, due: number): boolean {
  if (seen === undefined || seen.boot !== at.boot || seen.wall >= due) return false;
  return Math.abs(at.wall - seen.wall - (at.mono - seen.mono)) <= stepMs;
}

/** The slots of a schedule in a span that are not over; a postponed one stands at its new time. */
export function openSlots(
  { plan, span, at }: Pick<Tick, 'plan' | 'span' | 'at'>,
  schedule: SchedulePlan,
  { done, postponed }: ScheduleMemory,
): Open[] {
  const over: readonly LocalDate[] = postponed === undefined ? done : [...done, postponed.date];
  const open = slotsIn(plan, schedule, span, over).map((slot) => ({ ...slot, leftMs: slot.due - at.wall }));
  if (postponed === undefined) return open;
  const { date, due } = postponed;
  return [...open, { date, due: due.wall, skipped: false, leftMs: postponedLeft(at, postponed) }];
}

/** Of two at one moment the disarm goes first: then the safer one stands (safety 5). */
function byTime(one: SlotAction, other: SlotAction): number {
  return one.due - other.due || Number(one.action.kind === 'arm') - Number(other.action.kind === 'arm');
}
