import type {
  ArmingWord,
  PartitionId,
  PartitionPlan,
  Reported,
  SignalOf,
  ZoneNumber,
  ZonePlan,
} from '#site/model/index.ts';
import { isForGood } from './alarm.ts';
import { zoneKey } from './reports.ts';
import { runningLifeAlarm } from './running.ts';
import { own, partitionOf, periodOf, setPartition, setPeriod, type Work, zonePlan } from './work.ts';
import { behaviour, independent, lastingKinds, watches } from './zones.ts';

type ZoneSignal = SignalOf<'zone'>;

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

/** What another panel sees is not why this one has triggered. */
const isOwn = ({ panel }: PartitionPlan, { source }: ZonePlan): boolean =>
  source.kind === 'panel' && source.id === panel;

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
      return isOwn(plan, zone) && state(zone)?.open === true && state(zone)?.bypassed !== true && !isOther(zone);
    }) ??
    inAlarm[0]
  );
}

/** A fire and the `triggered` that it causes come together (milliseconds). */
export const togetherMs = 60_000;

/** Of life safety that a zone has in two partitions, the first has told it. */
export function isTold(work: Work, id: PartitionId, zone: ZoneNumber): boolean {
  const { incident, memory } = partitionOf(work, id);
  const isGoingOn = isForGood(work, zone) && own(work.state.zones, zone)?.alarm === true;
  return isGoingOn || (incident !== undefined && memory.includes(zone));
}

/** A burglary that comes with a fire: an entry was under way, or a zone that is watched has just opened. Rather told twice than lost. */
export function isBesideLife(work: Work, plan: PartitionPlan, from: ArmingWord): boolean {
  const { alarm, memory, mode } = partitionOf(work, plan.id);
  if (from === 'disarmed' || from === 'arming' || !isForGood(work, alarm?.zone)) return false;
  if (from === 'pending') return true;
  return zonesOf(work, plan).some((zone) => {
    const { open, bypassed, at = 0 } = own(work.state.zones, zone.number) ?? {};
    const isWatched = !isForGood(work, zone.number) && watches(mode ?? 'away', behaviour(zone));
    const isNews = !memory.includes(zone.number) && work.at.wall - at < togetherMs;
    return isWatched && isNews && open === true && bypassed !== true && isOwn(plan, zone);
  });
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

/** What its panel tells next is about another alarm, except that a fire goes on. */
export function onlyFire(work: Work, id: PartitionId): void {
  const fire = runningLifeAlarm(work, id);
  const zone = fire?.zone === undefined ? undefined : zonePlan(work.plan, fire.zone);
  setPartition(work, id, { alarm: fire });
  if (zone !== undefined) noteBegun(work, id, zone, true);
  setPeriod(work, id, { burglary: undefined, expected: undefined });
}

/** What an alarm leaves behind that has ended: the burglary in which a fire was goes on, and one that is over is nobody's to take back. */
export function goesOn(work: Work, id: PartitionId, zone: ZonePlan): void {
  const { state, alarm } = partitionOf(work, id);
  const { burglary } = periodOf(work.state, id);
  if (burglary?.zone === zone.number && state !== 'triggered') setPeriod(work, id, { burglary: undefined });
  if (alarm?.zone !== zone.number) return;
  // The entry that is under way is another matter: it keeps its incident and gets its own alarm.
  if (state === 'pending') setPartition(work, id, { alarm: undefined });
  if (state !== 'triggered' || behaviour(zone).group !== 'life') return;
  setPartition(work, id, { alarm: runningLifeAlarm(work, id) ?? burglary ?? alarm });
}

/** A burglary zone in alarm beside the fire that shows, told by itself before its panel was in alarm. */
export function isToldBurglary(work: Work, plan: PartitionPlan, reported: ZonePlan | undefined): boolean {
  const { alarm, memory } = partitionOf(work, plan.id);
  const number = periodOf(work.state, plan.id).burglary?.zone;
  const zone = number === undefined ? undefined : zonePlan(work.plan, number);
  if (zone === undefined || alarm === undefined || !lastingKinds.has(alarm.kind)) return false;
  const isIts = reported === undefined || reported.number === number;
  const isRunning = isInAlarm(work, zone.number) && !isOver(work, plan, zone.number);
  return isIts && isRunning && !independent(behaviour(zone).group) && memory.includes(zone.number);
}

/** A danger to life shows until its end, or, where it came as a report, whose end many panels never tell, until the next opening. */
export function noteSight(work: Work, zone: ZonePlan, { report, code }: ZoneSignal): void {
  if (behaviour(zone).group !== 'life') return;
  const until = report === undefined && code === undefined ? 'end' : 'opening';
  for (const id of zone.partitions) {
    setPeriod(work, id, { inSight: { ...periodOf(work.state, id).inSight, [zone.number]: until } });
  }
}

/** A person was there and opened: what is known by a report alone shows no longer; what began since then does, and a detector that is open. */
export function opened(work: Work, id: PartitionId, { ageMs = 0 }: Reported): void {
  const { inSight } = periodOf(work.state, id);
  if (inSight === undefined) return;
  const stays = ([number, until]: [ZoneNumber, string]) => {
    const { open, at = 0 } = own(work.state.zones, number) ?? {};
    return until === 'end' || open === true || at > work.at.wall - ageMs;
  };
  setPeriod(work, id, { inSight: Object.fromEntries(Object.entries(inSight).filter(stays)) });
}
