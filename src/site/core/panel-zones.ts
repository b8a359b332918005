import type { PartitionId, PartitionPlan, ZoneNumber, ZonePlan } from '#site/model/index.ts';
import { zoneKey } from './reports.ts';
import { own, partitionOf, periodOf, setPeriod, type Work, zonePlan } from './work.ts';
import { behaviour, independent } from './zones.ts';

export const zonesOf = (work: Work, plan: PartitionPlan): readonly ZonePlan[] =>
  work.plan.zones.filter((zone) => zone.partitions.includes(plan.id) && !behaviour(zone).silent);

const suspects = (work: Work, plan: PartitionPlan): ZonePlan[] =>
  zonesOf(work, plan).filter((zone) => !['none', 'key'].includes(behaviour(zone).group));

/** The zone whose alarm a report has told. */
export function reportedZone(work: Work, plan: PartitionPlan, report: string | undefined): ZonePlan | undefined {
  if (report === undefined) return undefined;
  const told = (work.state.reports ?? []).filter(({ id }) => id === report).map(({ about }) => about);
  return suspects(work, plan).find(({ number }) => told.includes(zoneKey(number)) && isInAlarm(work, number));
}

const isInAlarm = (work: Work, number: ZoneNumber): boolean => own(work.state.zones, number)?.alarm === true;

/** Whether a zone is in alarm by something else than what its panel triggers for now. */
export const isOver = (work: Work, { id }: PartitionPlan, number: ZoneNumber): boolean =>
  periodOf(work.state, id).over?.includes(number) === true;

/** The alarm of a zone begins: of now, or from before what is known of the partition. */
export function noteBegun(work: Work, id: PartitionId, zone: ZonePlan, past: boolean): void {
  const { over = [] } = periodOf(work.state, id);
  if (over.includes(zone.number) === past) return;
  const others = over.filter((number) => number !== zone.number);
  setPeriod(work, id, { over: past ? [...others, zone.number] : others });
}

/**
 * The zone the panel most likely means: one in alarm, else the one that began the entry, else an open one; one
 * that was in alarm before the partition was last disarmed comes last, since many panels tell no end. Fire and the like that are in
 * alarm were told by themselves: while armed, a burglary is another matter.
 */
export function suspect(work: Work, plan: PartitionPlan, wasDisarmed: boolean): ZonePlan | undefined {
  const zones = suspects(work, plan);
  const state = (zone: ZonePlan) => own(work.state.zones, zone.number);
  const entry = partitionOf(work, plan.id).alarm?.zone;
  const began = entry === undefined ? undefined : zonePlan(work.plan, entry);
  const isOther = (zone: ZonePlan) => !wasDisarmed && independent(behaviour(zone).group) && state(zone)?.alarm === true;
  const inAlarm = zones.filter((zone) => isInAlarm(work, zone.number) && !isOther(zone));
  return (
    inAlarm.find(({ number }) => !isOver(work, plan, number)) ??
    (began === undefined || isOther(began) ? undefined : began) ??
    zones.find((zone) => {
      // What another panel sees is not why this one has triggered.
      const isOwn = zone.source.kind === 'panel' && zone.source.id === plan.panel;
      return isOwn && state(zone)?.open === true && state(zone)?.bypassed !== true && !isOther(zone);
    }) ??
    inAlarm[0]
  );
}

/** Zones in alarm that waited for the same verdict of their panel, and so were told by nothing yet. */
export function withIt(work: Work, plan: PartitionPlan, zone: ZonePlan): ZoneNumber[] {
  const { memory } = partitionOf(work, plan.id);
  const others = suspects(work, plan).filter(
    ({ number }) => number !== zone.number && isInAlarm(work, number) && !isOver(work, plan, number),
  );
  return others
    .filter((one) => !independent(behaviour(one).group) && !memory.includes(one.number))
    .map(({ number }) => number);
}

/** Its burglary was told, and of which zone it is was not known. */
export function isUnnamed(work: Work, id: PartitionId): boolean {
  const { state, alarm } = partitionOf(work, id);
  const isEnded = periodOf(work.state, id).endDoubted === true;
  return state === 'triggered' && alarm?.kind === 'burglary' && alarm.zone === undefined && !isEnded;
}
