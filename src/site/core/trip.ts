import { alarming, type PartitionId, type ZoneNumber, type ZonePlan } from '#site/model/index.ts';
import { raise, sourceOf } from './alarm.ts';
import { restore } from './alarm-end.ts';
import { isLeftOut } from './bypass.ts';
import { calmSoon } from './calm.ts';
import { cross } from './crossing.ts';
import { troubleEvent } from './events.ts';
import { exitTrip } from './exit.ts';
import { burglaryAlarm, exitEnded, independentAlarm, noteEntered, startEntry } from './partition.ts';
import { runningLifeAlarm } from './running.ts';
import { isShut, shutTrip } from './swinger.ts';
import { clearTimer, left, setTimer } from './timers.ts';
import { isTested, isTestedAll, noteWalked } from './walk-test.ts';
import {
  decidedByPanel,
  enginePlan,
  own,
  partitionOf,
  partitionPlan,
  periodOf,
  setPartition,
  setPeriod,
  setZones,
  type Work,
  zonePlan,
} from './work.ts';
import { behaviour, independent, judge, type Verdict, type ZoneBehaviour } from './zones.ts';

export interface Trip {
  /** Found out by a replay: the true time is not known. */
  readonly late: boolean;
  /** The detector saw only motion: it settles after a start of the machine (safety 3). */
  readonly motion: boolean;
  /** It began and was over at once: nobody will tell its end. */
  readonly pulse?: boolean;
  /** Heard after an interruption: it may be the alarm that was told before. */
  readonly again?: boolean;
  /** It was seen before the interruption, and still is. */
  readonly known?: boolean;
}

/** A zone goes from closed to open, by whatever it reports that. Each of its partitions judges by itself. */
export function trip(work: Work, zone: ZonePlan, how: Trip): void {
  const kind = behaviour(zone);
  const late = how.late ? { late: true } : {};
  noteWalked(work, zone, sourceOf(zone));
  if (independent(kind.group)) {
    if (how.again === true && own(work.state.zones, zone.number)?.alarm === true) return;
    // Life safety and hold-up are in no walk test and never left out (safety 1).
    if (kind.group === 'always' && (isTestedAll(work, zone) || isLeftOut(work, zone))) return;
    const [first] = zone.partitions;
    if (first !== undefined && isShut(work, first, zone)) {
      shutTrip(work, first, zone, sourceOf(zone));
      return;
    }
    markAlarm(work, zone);
    if (how.pulse === true) calmSoon(work, zone);
    else clearTimer(work, 'calm', { zone: zone.number });
    independentAlarm(work, zone, late);
    return;
  }
  if (how.motion && settling(work)) {
    lookAgain(work, zone);
    return;
  }
  for (const id of zone.partitions) {
    // It lasts on: its alarm of this arming period was told (no swinger by restarts).
    if (how.known === true && periodOf(work.state, id).alarmed?.includes(zone.number) === true) continue;
    tripIn(work, id, zone, kind, late);
  }
}

function tripIn(work: Work, id: PartitionId, zone: ZonePlan, kind: ZoneBehaviour, late: { late?: boolean }): void {
  const plan = partitionPlan(work, id);
  const period = periodOf(work.state, id);
  if (plan === undefined || decidedByPanel(work, id, zone.source) || period.bypassed.includes(zone.number)) return;
  if (isTested(work, id, zone)) return;
  const engine = plan.authority === 'engine';
  if (engine && partitionOf(work, id).state === 'arming') exitTrip(work, plan, zone, late);
  const verdict = judge(partitionOf(work, id), period, kind);
  if (shuts.has(verdict) && isShut(work, id, zone)) {
    shutTrip(work, id, zone, sourceOf(zone));
    return;
  }
  switch (verdict) {
    case 'alarm':
      if (engine) crossedAlarm(work, id, zone, late);
      else raise(work, { kind: kind.alarm, partition: id, zone, source: sourceOf(zone), ...late });
      return;
    case 'flagged':
      work.rules.add('safety 2');
      raise(work, { kind: kind.alarm, partition: id, zone, source: sourceOf(zone), flagged: true, ...late });
      return;
    case 'entry':
      // In a partition of a panel the panel runs the entry delay; its own contact tells it of the entry.
      if (engine) startEntry(work, plan, zone, late);
      return;
    case 'entered':
      if (engine) noteEntered(work, id, zone.number);
      return;
    case 'trouble':
      troubleEvent(work, { kind: 'day_trouble', active: true, source: sourceOf(zone), partition: id, zone });
      return;
    case 'none':
      return;
  }
}

/** What a shut zone no longer does. An arming that is not known is another matter (safety 2). */
const shuts: ReadonlySet<Verdict> = new Set(['alarm', 'entry', 'entered']);

function crossedAlarm(work: Work, id: PartitionId, zone: ZonePlan, late: { late?: boolean }): void {
  const evidence = cross(work, id, zone, late);
  if (evidence !== undefined) burglaryAlarm(work, id, zone, { ...late, evidence });
  // Alone it cuts no entry delay short, but it belongs to the alarm if nobody disarms.
  else if (partitionOf(work, id).state === 'pending') noteEntered(work, id, zone.number);
}

/** A detector that settles is judged at the end of that time by what it sees then: whoever stays in its sight counts. */
function lookAgain(work: Work, { number, partitions }: ZonePlan): void {
  work.rules.add('safety 3');
  const { settleUntil } = work.state;
  if (settleUntil === undefined) return;
  for (const partition of partitions) setTimer(work, 'settle', { partition, zone: number }, settleUntil);
}

/** A detector has settled. */
export function settled(work: Work, id: PartitionId, number: ZoneNumber): void {
  const zone = zonePlan(work.plan, number);
  if (zone !== undefined && own(work.state.zones, number)?.open === true) tripIn(work, id, zone, behaviour(zone), {});
}

/** The 60 s after a start of the machine (safety 3). */
export function settling(work: Work): boolean {
  const { settleUntil } = work.state;
  return settleUntil !== undefined && left(work.at, settleUntil) > 0;
}

function markAlarm(work: Work, zone: ZonePlan): void {
  const state = own(work.state.zones, zone.number);
  if (state !== undefined && !behaviour(zone).silent) setZones(work, [{ ...state, alarm: true, at: work.at.wall }]);
}

export function calmed(work: Work, number: ZoneNumber | undefined): void {
  const zone = number === undefined ? undefined : zonePlan(work.plan, number);
  if (zone !== undefined && own(work.state.zones, zone.number)?.open !== true) closed(work, zone, false);
}

/** A zone that had tripped is calm again: its alarm, if one was raised, is restored. */
export function closed(work: Work, zone: ZonePlan, wasOpen: boolean): void {
  const state = own(work.state.zones, zone.number);
  if (state === undefined) return;
  if (wasOpen && zone.type === 'final_exit') finalExit(work, zone);
  const { alarm: kind, group } = behaviour(zone);
  const alarmed = zone.partitions.find((id) => own(work.state.partitions, id)?.memory.includes(zone.number));
  const about = { partition: alarmed ?? zone.partitions[0], zone, source: sourceOf(zone) };
  if (state.alarm) {
    clearTimer(work, 'calm', { zone: zone.number });
    setZones(work, [{ ...state, alarm: false, at: work.at.wall }]);
    if (independent(group) || alarmed !== undefined) restore(work, { kind, ...about });
    for (const id of zone.partitions) endAlarm(work, id, zone);
  } else if (group === 'day' && wasOpen) troubleEvent(work, { kind: 'day_trouble', active: false, ...about });
}

/** The last door closes behind the one who leaves: the exit delay has done its work (final exit). */
function finalExit(work: Work, zone: ZonePlan): void {
  for (const id of zone.partitions) {
    const plan = enginePlan(work, id);
    const { bypassed, exit } = periodOf(work.state, id);
    if (plan === undefined || exit === undefined || bypassed.includes(zone.number)) continue;
    if (partitionOf(work, id).state === 'arming') exitEnded(work, plan);
  }
}

/** An alarm that did not trigger the partition leaves it when its cause ends, and its incident with it. */
export function endAlarm(work: Work, id: PartitionId, zone: ZonePlan): void {
  const partition = own(work.state.partitions, id);
  if (partition === undefined || alarming(partition.state)) return;
  if (partition.alarm?.zone !== zone.number) return;
  const other = runningLifeAlarm(work, id);
  if (other !== undefined) {
    setPartition(work, id, { alarm: other });
    return;
  }
  setPartition(work, id, { alarm: undefined, incident: undefined });
  // Between two armings may lie days: an alarm that is over says nothing of the next one.
  if (partition.state === 'disarmed') setPeriod(work, id, { alarmed: undefined });
}
