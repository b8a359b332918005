import type { PartitionId, ZonePlan } from '#site/model/index.ts';
import { incidentOf, sourceOf } from './alarm.ts';
import { emit, place } from './events.ts';
import { onePicture } from './media.ts';
import { own, partitionOf, periodOf, setPartition, type Work } from './work.ts';
import { behaviour, lastingKinds } from './zones.ts';

/**
 * Another detector within an alarm that a panel has begun: the station was called by the start, and this tells where it
 * goes on. Not signalled, with a picture, as `entry_delay_started` (safety 8).
 */
export function furtherZone(work: Work, id: PartitionId, zone: ZonePlan, late: { readonly late?: boolean }): void {
  work.rules.add('safety 8');
  emit(work, {
    class: 'system',
    kind: 'further_zone',
    status: 'active',
    lane: 'alarm',
    ...place(work, { partition: id, zone }),
    source: sourceOf(zone),
    ...late,
    signalToStation: false,
    toCloud: true,
    media: onePicture(work.plan, { partition: id, zone }, 'alarm'),
    incident: incidentOf(work, id),
    evidence: [{ type: 'zone', zone: zone.number, name: zone.name, zone_type: zone.type }],
  });
}

/**
 * A zone opens while its panel says that a burglary alarm runs. Many bridges tell nothing more of a detector than that, so it is
 * told, each zone once in the alarm memory. Who flees from a fire opens doors, and that says nothing where no
 * burglary was told.
 */
export function openedInAlarm(work: Work, zone: ZonePlan): void {
  if (['none', 'key'].includes(behaviour(zone).group) || own(work.state.zones, zone.number)?.bypassed === true) return;
  for (const id of zone.partitions) {
    const { state, alarm, memory, incident } = partitionOf(work, id);
    if (state !== 'triggered' || incident === undefined || memory.includes(zone.number)) continue;
    const isFire = alarm !== undefined && lastingKinds.has(alarm.kind);
    if (isFire && periodOf(work.state, id).burglary === undefined) continue;
    setPartition(work, id, { memory: [...memory, zone.number] });
    furtherZone(work, id, zone, {});
  }
}
