import type { PartitionState } from '#site/model/index.ts';
import { decidedByPanel, isSame } from './transition.ts';
import { enginePlan, own, partitionOf, periodOf, type Work } from './work.ts';
import { behaviour, lifeKinds } from './zones.ts';

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

const rank = ({ kind }: RunningAlarm): number => (lifeKinds.has(kind) ? 0 : 1);

/** The one the state of the partition is about; what began an entry delay is none yet. */
function shown(work: Work, id: string): RunningAlarm[] {
  const { alarm, state, at } = partitionOf(work, id);
  if (alarm === undefined || (state === 'pending' && !lifeKinds.has(alarm.kind))) return [];
  return [{ ...alarm, since: alarm.since ?? at }];
}

/** The burglary its panel began with, beside a fire: also one of which no zone is known, or whose zone is closed again. */
function burglary(work: Work, id: string): RunningAlarm[] {
  const { alarm, state, at } = partitionOf(work, id);
  const { burglary: told } = periodOf(work.state, id);
  if (state !== 'triggered' || told === undefined || alarm === undefined || !lifeKinds.has(alarm.kind)) return [];
  return [{ ...told, since: at }];
}

/** Calls for help, whatever else runs. */
const calls = (work: Work, id: string): readonly RunningAlarm[] =>
  enginePlan(work, id) === undefined ? [] : (periodOf(work.state, id).called ?? []);

/** As `runningLifeAlarm` has it: many panels never tell an end. */
const isInSight = (work: Work, id: string, { number, source }: Work['plan']['zones'][number]): boolean =>
  !decidedByPanel(work, id, source) || own(periodOf(work.state, id).inSight ?? {}, number) !== undefined;

/** What is no danger to life ends with the alarm of its partition. */
function goesOn(work: Work, id: string, number: string): boolean {
  const { state, memory } = partitionOf(work, id);
  return state === 'triggered' && memory.includes(number) && periodOf(work.state, id).over?.includes(number) !== true;
}
