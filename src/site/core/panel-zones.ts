import type { PartitionPlan, ZoneNumber, ZonePlan } from '#site/model/index.ts';
import { own, partitionOf, type Work, zonePlan } from './work.ts';
import { behaviour, independent } from './zones.ts';

export const zonesOf = (work: Work, plan: PartitionPlan): readonly ZonePlan[] =>
  work.plan.zones.filter((zone) => zone.partitions.includes(plan.id) && !behaviour(zone).silent);

export const suspects = (work: Work, plan: PartitionPlan): ZonePlan[] =>
  zonesOf(work, plan).filter((zone) => !['none', 'key'].includes(behaviour(zone).group));

/**
 * The zone the panel most likely means: one in alarm, else the one that began the entry, else an open one. Fire and the like that
 * are in alarm were told by themselves: while armed, a burglary is another matter.
 */
export function suspect(work: Work, plan: PartitionPlan, wasDisarmed: boolean): ZonePlan | undefined {
  const zones = suspects(work, plan);
  const state = (zone: ZonePlan) => own(work.state.zones, zone.number);
  const entry = partitionOf(work, plan.id).alarm?.zone;
  const began = entry === undefined ? undefined : zonePlan(work.plan, entry);
  const isOther = (zone: ZonePlan) => !wasDisarmed && independent(behaviour(zone).group) && state(zone)?.alarm === true;
  return (
    zones.find((zone) => state(zone)?.alarm === true && !isOther(zone)) ??
    (began === undefined || isOther(began) ? undefined : began) ??
    zones.find((zone) => {
      // What another panel sees is not why this one has triggered.
      const isOwn = zone.source.kind === 'panel' && zone.source.id === plan.panel;
      return isOwn && state(zone)?.open === true && state(zone)?.bypassed !== true && !isOther(zone);
    })
  );
}

/** Zones in alarm that waited for the same verdict of their panel, and so were told by nothing yet. */
export function withIt(work: Work, plan: PartitionPlan, zone: ZonePlan): ZoneNumber[] {
  const { memory } = partitionOf(work, plan.id);
  const others = suspects(work, plan).filter(
    ({ number }) => number !== zone.number && own(work.state.zones, number)?.alarm === true,
  );
  return others
    .filter((one) => !independent(behaviour(one).group) && !memory.includes(one.number))
    .map(({ number }) => number);
}
