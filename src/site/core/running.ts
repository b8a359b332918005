import type { PartitionId, PartitionState, ZoneNumber, ZonePlan } from '#site/model/index.ts';
import type { CalledHelp } from './types.ts';
import { decidedByPanel, enginePlan, own, partitionOf, periodOf, type Work } from './work.ts';
import { behaviour, lastingKinds } from './zones.ts';

export type RunningAlarm = NonNullable<PartitionState['alarm']>;

/**
 * Every alarm that runs, by partition, life safety first. The state of a partition names one of them; whoever goes there must know of a
 * burglar beside the fire, and of the fire beside him. Nothing silent is among them (safety 4).
 */
export function runningAlarms(work: Work): Readonly<Record<string, readonly RunningAlarm[]>> {
  const { partitions, zones } = work.state;
  const inAlarm = work.plan.zones.filter(
    (zone) => own(zones, zone.number)?.alarm === true && !behaviour(zone).silent && zone.partitions.length > 0,
  );
  const entries = work.plan.partitions.flatMap(({ id }) => {
    if (own(partitions, id) === undefined) return [];
    const of = [...shown(work, id), ...burglary(work, id)];
    of.push(...calls(work, id).filter((call) => !of.some((one) => isSame(one, call))));
    for (const zone of inAlarm.filter((one) => one.partitions.includes(id))) {
      const { number } = zone;
      const { alarm: kind, group } = behaviour(zone);
      const isSeen = group === 'life' ? isInSight(work, id, zone) : goesOn(work, id, number);
      if (isSeen && !of.some((one) => one.zone === number))
        of.push({ kind, zone: number, since: own(zones, number)?.at ?? work.at.wall });
    }
    return of.length === 0 ? [] : [[id, of.toSorted((a, b) => rank(a) - rank(b))] as const];
  });
  return Object.fromEntries(entries);
}

const rank = ({ kind }: RunningAlarm): number => (lastingKinds.has(kind) ? 0 : 1);

/** The one the state of the partition is about; what began an entry delay is none yet. */
function shown(work: Work, id: string): RunningAlarm[] {
  const { alarm, state, at } = partitionOf(work, id);
  if (alarm === undefined || (state === 'pending' && !lastingKinds.has(alarm.kind))) return [];
  return [{ ...alarm, since: alarm.since ?? at }];
}

/** The burglary its panel began with, beside a fire: also one of which no zone is known, or whose zone is closed again. */
function burglary(work: Work, id: string): RunningAlarm[] {
  const { alarm, state, at } = partitionOf(work, id);
  const { burglary: told } = periodOf(work.state, id);
  if (state !== 'triggered' || told === undefined || alarm === undefined || !lastingKinds.has(alarm.kind)) return [];
  return [{ ...told, since: at }];
}

/** Calls for help, whatever else runs. */
const calls = (work: Work, id: string): readonly RunningAlarm[] =>
  enginePlan(work, id) === undefined ? [] : (periodOf(work.state, id).called ?? []);

/** Not one whose panel may never tell an end of it. */
const isInSight = (work: Work, id: string, { number, source }: ZonePlan): boolean =>
  !decidedByPanel(work, id, source) || own(periodOf(work.state, id).inSight ?? {}, number) !== undefined;

/** What is no danger to life ends with the alarm of its partition. */
function goesOn(work: Work, id: string, number: string): boolean {
  const { state, memory } = partitionOf(work, id);
  return state === 'triggered' && memory.includes(number) && periodOf(work.state, id).over?.includes(number) !== true;
}

/** A fire goes on whatever becomes of the arming, and of another detector that tripped with it (safety 1). */
export function runningLifeAlarm(work: Work, id: PartitionId): PartitionState['alarm'] {
  for (const zone of work.plan.zones) {
    if (!zone.partitions.includes(id) || behaviour(zone).group !== 'life') continue;
    const state = own(work.state.zones, zone.number);
    if (state?.alarm !== true || !isInSight(work, id, zone)) continue;
    return { zone: zone.number, kind: behaviour(zone).alarm, since: lifeSince(work, id) ?? state.at };
  }
  return calledLife(work, id);
}

/** The last call by fire or for a doctor. */
const calledLife = (work: Work, id: PartitionId): CalledHelp | undefined =>
  periodOf(work.state, id).called?.findLast(({ kind }) => lastingKinds.has(kind));

/** When the life-safety alarm that runs in a partition began; undefined while there is none. A call is another one, with a time of its own. */
export function lifeSince(work: Work, id: PartitionId): number | undefined {
  const { alarm } = partitionOf(work, id);
  if (alarm === undefined || !lastingKinds.has(alarm.kind)) return undefined;
  const isCall = periodOf(work.state, id).called?.some((one) => isSame(one, alarm)) === true;
  return isCall ? undefined : alarm.since;
}

interface Named {
  readonly kind: string;
  readonly zone?: ZoneNumber;
}

/** Whether two names are of one alarm. */
export const isSame = (one: Named, other: Named): boolean => one.kind === other.kind && one.zone === other.zone;
