import { type DeviceId, isoTime, type PartitionId, type ZoneNumber, type ZonePlan } from '#site/model/index.ts';
import { inCancelWindow, noteTold, takeWaiting, wait, waits } from './abort.ts';
import { cancel } from './alarm-end.ts';
import { confirm } from './confirmation.ts';
import { coded, deviceName, emit, place, signalToStation } from './events.ts';
import { mediaPlan } from './media.ts';
import { countSignal, sourceKey } from './runaway.ts';
import { countTrip } from './swinger.ts';
import { since } from './timers.ts';
import type { AbandonedAlarm, Evidence } from './types.ts';
import { own, partitionOf, partitionPlan, periodOf, setPartition, setPeriod, type Work, zonePlan } from './work.ts';
import { behaviour, exemptKinds, forGood, staysKind } from './zones.ts';

export interface Alarm {
  readonly kind: string;
  readonly partition?: PartitionId | undefined;
  readonly zone?: ZonePlan | undefined;
  readonly camera?: DeviceId | undefined;
  readonly source: string;
  readonly actor?: string | undefined;
  readonly late?: boolean;
  /** From before what is known of its partition: no incident, evidence or count of now is begun or met by it. */
  readonly past?: boolean;
  /** Hold-up and duress (safety 4): nothing that shows may change. */
  readonly silent?: boolean;
  /** The arming is not known or not current; the alarm says so (safety 2). */
  readonly flagged?: boolean;
  readonly detail?: string;
  /** Of the same alarm, and told by no event of their own. */
  readonly additionalZones?: readonly ZoneNumber[];
  /** What the rule that let it through knows. */
  readonly evidence?: readonly Evidence[];
}

const evidenceCap = 16;
const additionalCap = 24;
const evidenceMs = 60_000;
const earlierCap = 4;
const recentCloseMs = 120_000;

/**
 * Raises an alarm event; it shares the incident of its partition's arming period (safety 8). Within an abort window it
 * is shown and told at once, and signalled when the window ends.
 */
export function raise(work: Work, alarm: Alarm): void {
  const { kind, partition, zone, camera, source } = alarm;
  const silent = alarm.silent === true;
  const past = alarm.past === true;
  const incident = past ? nextIncident(work, partition) : incidentOf(work, partition, silent);
  if (!silent && !past && partition !== undefined) soundAgain(work, [partition]);
  if (!silent && partition !== undefined && zone !== undefined) remember(work, partition, zone.number, past);
  if (partition !== undefined && !silent && !past) noteBurglary(work, partition, alarm);
  const key = past ? `past:${zone?.number ?? ''}` : sourceKey(kind, zone?.number, camera);
  const counted = partition !== undefined && (zone !== undefined || camera !== undefined) && !exemptKinds.has(kind);
  const capped = counted && countSignal(work, partition, key, source);
  const isKnown = partition !== undefined && zone !== undefined && !silent && alarm.flagged !== true;
  const confirmed = isKnown ? confirm(work, partition, zone, kind) : [];
  const evidence = [...confirmed, ...(alarm.evidence ?? []), ...evidenceFor(work, alarm)].slice(0, evidenceCap);
  const isHeld = !capped && waits(work, alarm);
  tell(work, alarm, { capped, isHeld, incident, evidence });
  if (!isKnown || capped) return;
  if (isHeld && wait(work, partition, zone, { kind, evidence })) abortEnded(work, partition, {});
  if (kind !== 'tamper') countTrip(work, partition, zone, source);
}

/** An alarm ends the silence in each partition it is about, also where it is raised once for several. */
export function soundAgain(work: Work, partitions: readonly PartitionId[]): void {
  for (const id of partitions)
    if (periodOf(work.state, id).silenced === true) setPeriod(work, id, { silenced: undefined });
}

function tell(
  work: Work,
  alarm: Alarm,
  how: { capped: boolean; isHeld: boolean; incident: string; evidence: readonly Evidence[] },
): void {
  const { kind, partition, zone, camera, source } = alarm;
  const { capped, isHeld, incident, evidence } = how;
  const silent = alarm.silent === true;
  const seen = zone?.source.kind === 'camera' ? zone.source.id : camera;
  const signals = signalToStation({
    class: 'alarm',
    status: 'active',
    capped: capped || isHeld,
    signalRestores: false,
  });
  if (signals && !silent && partition !== undefined) noteTold(work, partition);
  emit(work, {
    class: 'alarm',
    kind,
    status: 'active',
    lane: capped ? 'activity' : 'alarm',
    ...place(work, { partition, zone }),
    ...(seen === undefined ? {} : { camera: seen }),
    ...coded('alarm', kind, 'active'),
    source,
    ...(alarm.actor === undefined ? {} : { actor: alarm.actor }),
    ...(alarm.late === true ? { late: true } : {}),
    signalToStation: signals,
    toCloud: true,
    ...(silent ? { silent } : {}),
    media: capped ? [] : mediaPlan(work.plan, { partition, zone, camera }, 'alarm'),
    incident,
    evidence: isHeld ? [...evidence.slice(0, evidenceCap - 1), { type: 'abort_window' }] : evidence,
    ...detailOf(alarm),
    ...(alarm.additionalZones === undefined || alarm.additionalZones.length === 0
      ? {}
      : { additionalZones: alarm.additionalZones.slice(0, additionalCap) }),
  });
}

/** Zones beyond what an event names are at least counted in it. */
function detailOf({ detail, additionalZones = [] }: Alarm): { detail?: string } {
  const more = additionalZones.length - additionalCap;
  const parts = [...(detail === undefined ? [] : [detail]), ...(more > 0 ? [`${more} more zones`] : [])];
  return parts.length === 0 ? {} : { detail: parts.join(', ') };
}

/**
 * The abort window has ended without a disarm: what waited is signalled, in its order, with the time it really was.
 * `late`: it ended while siteward was down.
 */
export function abortEnded(work: Work, id: PartitionId, how: { late?: boolean }): void {
  for (const waiting of takeWaiting(work, id)) signalWaited(work, { ...waiting, partition: id }, how);
}

/**
 * Alarms whose partition a new plan no longer has, or gives to another authority in its entry delay: nobody can disarm it
 * in time, so they are signalled.
 */
export function tellAbandoned(work: Work): void {
  const { abandoned, ...state } = work.state;
  if (abandoned === undefined) return;
  work.state = state;
  work.rules.add('abort window');
  for (const alarm of abandoned)
    signalWaited(work, { ...alarm, incident: alarm.incident ?? incidentOf(work, undefined) });
}

/** By default it belongs to the incident of its partition. */
function signalWaited(work: Work, alarm: AbandonedAlarm, how: { late?: boolean } = {}): void {
  const { partition, zone: number, kind, at, entry } = alarm;
  const zone = zonePlan(work.plan, number);
  const source = zone === undefined ? 'engine' : sourceOf(zone);
  const began = { type: entry === true ? 'entry_delay_ended' : 'abort_window_ended', tripped_at: isoTime(at.wall) };
  const incident = alarm.incident ?? incidentOf(work, partition);
  const evidence = [began, ...alarm.evidence].slice(0, evidenceCap);
  tell(work, { kind, partition, zone, source, ...how }, { capped: false, isHeld: false, incident, evidence });
}

/**
 * A person disarms during an alarm. What still waits in the abort window is never signalled; what was signalled is
 * taken back at the station within the cancel window.
 */
export function takeBack(work: Work, id: PartitionId, source: string, actor: string | undefined): void {
  const held = takeWaiting(work, id);
  const isHeld = (number: string | undefined) => held.some(({ zone }) => zone === number);
  const [first] = held;
  if (first !== undefined) aborted(work, id, first.zone, source, actor);
  const { alarm, memory } = partitionOf(work, id);
  const stays = (number: string | undefined) => isHeld(number) || isForGood(work, number);
  const isStaying = alarm?.zone === undefined ? alarm !== undefined && staysKind(alarm.kind) : stays(alarm.zone);
  const told = isStaying ? memory.find((number) => !stays(number)) : alarm?.zone;
  if (isStaying && told === undefined) return;
  if (inCancelWindow(work, id)) cancel(work, id, source, actor, told);
}

/** Life safety ends with its cause, and a call for help is not taken back by a disarm, which may be forced (safety 1). */
export function isForGood(work: Work, number: string | undefined): boolean {
  const zone = number === undefined ? undefined : zonePlan(work.plan, number);
  return zone !== undefined && forGood(behaviour(zone).group);
}

function aborted(work: Work, id: PartitionId, number: string, source: string, actor: string | undefined): void {
  work.rules.add('abort window');
  const zone = zonePlan(work.plan, number);
  emit(work, {
    class: 'alarm',
    kind: 'alarm_aborted',
    status: 'cancelled',
    lane: 'alarm',
    ...place(work, { partition: id, zone }),
    source,
    ...(actor === undefined ? {} : { actor }),
    signalToStation: false,
    toCloud: true,
    media: [],
    incident: incidentOf(work, id),
  });
}

/**
 * The incident of the partition, begun if there is none. A silent one is never shown on the partition, and has a count of
 * its own, so that no number is missing among the others (safety 4).
 */
export function incidentOf(work: Work, partition: PartitionId | undefined, silent = false): string {
  if (silent) return silentIncident(work, partition);
  const running = partition === undefined ? undefined : own(work.state.partitions, partition)?.incident;
  if (running !== undefined) return running;
  const incident = nextIncident(work, partition);
  if (partition !== undefined) setPartition(work, partition, { incident });
  return incident;
}

function nextIncident(work: Work, partition: PartitionId | undefined): string {
  const number = work.state.incidents + 1;
  work.state = { ...work.state, incidents: number };
  return `${partition ?? 'site'}-${number}`;
}

function silentIncident(work: Work, partition: PartitionId | undefined): string {
  const number = (work.state.silentIncidents ?? 0) + 1;
  work.state = { ...work.state, silentIncidents: number };
  return `${partition ?? 'site'}-s${number}`;
}

function remember(work: Work, id: PartitionId, zone: string, past: boolean): void {
  const { memory } = partitionOf(work, id);
  if (!memory.includes(zone)) setPartition(work, id, { memory: [...memory, zone] });
  if (past) return;
  const { alarmed = [] } = periodOf(work.state, id);
  if (!alarmed.includes(zone)) setPeriod(work, id, { alarmed: [...alarmed, zone] });
}

/**
 * An opening takes back the alarm that the station was told of, whatever else is in alarm by then: the first one of what its panel is in
 * alarm for, and before that the last. The sabotage of a detector is none.
 */
function noteBurglary(work: Work, id: PartitionId, { kind, zone }: Alarm): void {
  const isOwn = zone === undefined ? kind === 'burglary' : kind === behaviour(zone).alarm;
  const takesBack = isOwn && !isForGood(work, zone?.number);
  const isPanels = partitionPlan(work, id)?.authority === 'panel';
  const isKnown = periodOf(work.state, id).burglary !== undefined && partitionOf(work, id).state === 'triggered';
  if (!isPanels || !takesBack || isKnown) return;
  setPeriod(work, id, { burglary: { kind, ...(zone !== undefined && { zone: zone.number }) } });
}

/** What the person who scores the alarm should know; at most 16 entries. */
function evidenceFor(work: Work, alarm: Alarm): readonly Evidence[] {
  const { partition, zone } = alarm;
  const entries: Evidence[] = [];
  if (zone !== undefined) entries.push({ type: 'zone', zone: zone.number, name: zone.name, zone_type: zone.type });
  if (alarm.past === true) return entries;
  for (const earlier of earlierZones(work, alarm)) {
    entries.push({ type: 'earlier_alarm', zone: earlier.number, name: earlier.name, zone_type: earlier.type });
  }
  if (alarm.kind === 'exit_error') entries.push({ type: 'exit_error' });
  if (alarm.flagged === true && partition !== undefined) {
    const { state, stale } = partitionOf(work, partition);
    entries.push({ type: 'arming_not_known', state, stale });
  }
  if (partition !== undefined) {
    const { armedAt } = periodOf(work.state, partition);
    const closedMs = armedAt === undefined ? Number.POSITIVE_INFINITY : since(work.at, armedAt);
    if (closedMs >= 0 && closedMs < recentCloseMs) {
      entries.push({ type: 'recent_close', seconds: Math.round(closedMs / 1000) });
    }
  }
  for (const sighting of work.state.sightings) {
    const agoMs = since(work.at, sighting.at);
    if (agoMs < 0 || agoMs > evidenceMs || !concerns(work, alarm, sighting.camera)) continue;
    const { camera, detection } = sighting;
    entries.push({ type: 'detection', camera, detection, seconds_ago: Math.round(agoMs / 1000) });
  }
  return entries.slice(0, evidenceCap);
}

/** Detectors that were in alarm before in this arming period, the newest first: a second one says more than the first. */
function earlierZones(work: Work, { partition, zone, silent }: Alarm): readonly ZonePlan[] {
  const period = partition === undefined || silent === true ? undefined : periodOf(work.state, partition);
  const others = (period?.alarmed ?? []).filter((number) => number !== zone?.number);
  // Even that somebody opened a silent button is nobody's to see (safety 4).
  const plans = others.flatMap((number) => zonePlan(work.plan, number) ?? []).filter((plan) => !behaviour(plan).silent);
  return plans.slice(-earlierCap).reverse();
}

function concerns(work: Work, { partition, zone, camera }: Alarm, seenBy: DeviceId): boolean {
  if (seenBy === camera || zone?.cameras.includes(seenBy) === true) return true;
  const plan = work.plan.cameras.find(({ id }) => id === seenBy);
  if (partition === undefined || plan === undefined) return false;
  if (plan.partitions.includes(partition)) return true;
  return work.plan.zones.some(
    ({ source, partitions }) => source.kind === 'camera' && source.id === seenBy && partitions.includes(partition),
  );
}

/** The name of a zone's device, as the source of its events. */
export const sourceOf = (zone: ZonePlan): string => deviceName(zone.source);
