import type { PartitionId, ZonePlan } from '#site/model/index.ts';
import { alarming, raise, restore, sourceOf } from './alarm.ts';
import { troubleEvent } from './events.ts';
import { burglaryAlarm, independentAlarm, noteEntered, partitionPlan, startEntry } from './partition.ts';
import { left } from './timers.ts';
import { decidedByPanel } from './transition.ts';
import { own, partitionOf, periodOf, setPartition, setZones, type Work } from './work.ts';
import { behaviour, independent, judge, type ZoneBehaviour } from './zones.ts';

export interface Trip {
  /** Found out by a replay: the true time is not known. */
  readonly late: boolean;
  /** The detector saw only motion: it settles after a start of the machine (safety 3). */
  readonly motion: boolean;
}

/** A zone goes from closed to open, by whatever it reports that. Each of its partitions judges by itself. */
export function trip(work: Work, zone: ZonePlan, how: Trip): void {
  const kind = behaviour(zone);
  const late = how.late ? { late: true } : {};
  if (independent(kind.group)) {
    if (own(work.state.zones, zone.number)?.alarm === true) return;
    markAlarm(work, zone);
    independentAlarm(work, zone, late);
    return;
  }
  if (how.motion && settling(work)) {
    work.rules.add('safety 3');
    return;
  }
  for (const id of zone.partitions) tripIn(work, id, zone, kind, late);
}

function tripIn(work: Work, id: PartitionId, zone: ZonePlan, kind: ZoneBehaviour, late: { late?: boolean }): void {
  const plan = partitionPlan(work, id);
  const period = periodOf(work.state, id);
  if (plan === undefined || decidedByPanel(work, id, zone.source) || period.bypassed.includes(zone.number)) return;
  const engine = plan.authority === 'engine';
  switch (judge(partitionOf(work, id), period, kind)) {
    case 'alarm':
      if (engine) burglaryAlarm(work, id, zone, late);
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

function settling(work: Work): boolean {
  const { settleUntil } = work.state;
  return settleUntil !== undefined && left(work.at, settleUntil) > 0;
}

function markAlarm(work: Work, zone: ZonePlan): void {
  const state = own(work.state.zones, zone.number);
  if (state !== undefined && !behaviour(zone).silent) setZones(work, [{ ...state, alarm: true }]);
}

/** A zone that had tripped is calm again: its alarm, if one was raised, is restored. */
export function closed(work: Work, zone: ZonePlan, wasOpen: boolean): void {
  const state = own(work.state.zones, zone.number);
  if (state === undefined) return;
  const { alarm: kind, group } = behaviour(zone);
  const alarmed = zone.partitions.find((id) => own(work.state.partitions, id)?.memory.includes(zone.number));
  const about = { partition: alarmed ?? zone.partitions[0], zone, source: sourceOf(zone) };
  if (state.alarm) {
    setZones(work, [{ ...state, alarm: false }]);
    if (independent(group) || alarmed !== undefined) restore(work, { kind, ...about });
    for (const id of zone.partitions) endAlarm(work, id, zone);
  } else if (group === 'day' && wasOpen) troubleEvent(work, { kind: 'day_trouble', active: false, ...about });
}

/** An alarm that did not trigger the partition leaves it when its cause ends, and its incident with it. */
export function endAlarm(work: Work, id: PartitionId, zone: ZonePlan): void {
  const partition = own(work.state.partitions, id);
  if (partition === undefined || alarming(partition.state)) return;
  if (partition.alarm?.zone !== zone.number) return;
  setPartition(work, id, { alarm: undefined, incident: undefined });
}
