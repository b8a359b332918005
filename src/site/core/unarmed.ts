import type { ArmWaitView, PartitionId, ScheduleId } from '#site/model/index.ts';
import type { UnarmedState } from './schedule/index.ts';
import { since } from './timers.ts';
import type { SiteState } from './types.ts';
import { own, type Work, without } from './work.ts';

/**
 * Partitions a schedule could not arm (safety 7). A shop that was left unarmed shows as that until somebody has seen to
 * it, by arming or disarming it, or the schedule runs again. The schedule that disarms in the morning has seen nothing.
 */

type Unarmed = Readonly<Record<PartitionId, UnarmedState>>;
/** One object, so that what did not change is the same. */
const none: Unarmed = {};

export const unarmedOf = ({ schedules }: Pick<SiteState, 'schedules'>): Unarmed => schedules?.unarmed ?? none;

function setUnarmed(work: Work, unarmed: Unarmed): void {
  const { schedules } = work.state;
  if (schedules === undefined || unarmed === unarmedOf(work.state)) return;
  const { unarmed: _, ...rest } = schedules;
  const isEmpty = Object.keys(unarmed).length === 0;
  work.state = { ...work.state, schedules: isEmpty ? rest : { ...rest, unarmed } };
}

/** At most one for each partition of the plan. */
export const noteUnarmed = (work: Work, id: PartitionId, unarmed: UnarmedState): void =>
  setUnarmed(work, { ...unarmedOf(work.state), [id]: unarmed });

/** Somebody has seen to the partition. */
export const seenTo = (work: Work, id: PartitionId): void => setUnarmed(work, without(unarmedOf(work.state), id));

/** The schedule runs again; what comes of it is said then. */
export function runsAgain(work: Work, schedule: ScheduleId): void {
  for (const [id, one] of Object.entries(unarmedOf(work.state))) if (one.schedule === schedule) seenTo(work, id);
}

/** What the plan no longer has is nobody's failure. */
export function forgetUnplanned(work: Work): void {
  const { partitions, schedules } = work.plan;
  for (const [id, { schedule }] of Object.entries(unarmedOf(work.state))) {
    const isPlanned =
      partitions.some((one) => one.id === id) && schedules?.schedules.some((one) => one.id === schedule);
    if (isPlanned !== true) seenTo(work, id);
  }
}

/** Armings that wait for something in their way, by partition. */
export function armWaits(work: Work): Readonly<Record<PartitionId, ArmWaitView>> {
  const waits: Record<PartitionId, ArmWaitView> = {};
  for (const { schedule, partition, from } of Object.values(work.state.schedules?.waiting ?? {})) {
    const action = work.plan.schedules?.schedules.find(({ id }) => id === schedule)?.action;
    if (action?.kind !== 'arm' || own(work.state.partitions, partition) === undefined) continue;
    const leftMs = Math.min(action.waitMs - since(work.at, from), action.waitMs);
    waits[partition] = { schedule, leftS: Math.max(0, Math.ceil(leftMs / 1000)) };
  }
  return waits;
}
