import type { ArmingWord, DeviceId, PartitionId, ZonePlan } from '#site/model/index.ts';
import { coded, deviceName, emit, place, signalToStation } from './events.ts';
import { mediaPlan } from './media.ts';
import { countSignal, isCapped } from './runaway.ts';
import { since } from './timers.ts';
import { own, partitionOf, periodOf, setPartition, type Work } from './work.ts';
import { exemptKinds } from './zones.ts';

export interface Alarm {
  readonly kind: string;
  readonly partition?: PartitionId | undefined;
  readonly zone?: ZonePlan | undefined;
  readonly camera?: DeviceId | undefined;
  readonly source: string;
  readonly actor?: string | undefined;
  readonly late?: boolean;
  /** Hold-up and duress (safety 4): nothing that shows may change. */
  readonly silent?: boolean;
  /** The arming is not known or not current; the alarm says so (safety 2). */
  readonly flagged?: boolean;
  readonly detail?: string;
}

type Evidence = Readonly<Record<string, string | number | boolean>>;

const evidenceMs = 60_000;
const recentCloseMs = 120_000;

/** Raises an alarm event; it shares the incident of its partition's arming period (safety 8). */
export function raise(work: Work, alarm: Alarm): void {
  const { kind, partition, zone, camera, source } = alarm;
  const silent = alarm.silent === true;
  const incident = incidentOf(work, partition, silent);
  if (!silent && partition !== undefined && zone !== undefined) remember(work, partition, zone.number);
  const key = zone === undefined ? `camera:${camera ?? ''}` : `zone:${zone.number}`;
  const counted = partition !== undefined && (zone !== undefined || camera !== undefined) && !exemptKinds.has(kind);
  const capped = counted && countSignal(work, partition, key, source);
  const seen = zone?.source.kind === 'camera' ? zone.source.id : camera;
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
    signalToStation: signalToStation({ class: 'alarm', status: 'active', capped, signalRestores: false }),
    toCloud: true,
    ...(silent ? { silent } : {}),
    media: capped ? [] : mediaPlan(work.plan, { partition, zone, camera }, 'alarm'),
    incident,
    evidence: evidenceFor(work, alarm),
    ...(alarm.detail === undefined ? {} : { detail: alarm.detail }),
  });
}

/** The end of what caused an alarm. */
export function restore(work: Work, alarm: Pick<Alarm, 'kind' | 'partition' | 'zone' | 'source' | 'silent'>): void {
  ended(work, alarm, 'restored');
}

/** A person took an alarm back by disarming (Contact ID 406). */
export function cancel(work: Work, id: PartitionId, source: string, actor: string | undefined): void {
  const { alarm } = partitionOf(work, id);
  const zone = work.plan.zones.find(({ number }) => number === alarm?.zone);
  ended(work, { kind: alarm?.kind ?? 'burglary', partition: id, zone, source, actor }, 'cancelled');
}

function ended(
  work: Work,
  alarm: Pick<Alarm, 'kind' | 'partition' | 'zone' | 'source' | 'silent' | 'actor'>,
  status: 'restored' | 'cancelled',
): void {
  const { kind, partition, zone, source, actor } = alarm;
  const incident = partition === undefined ? undefined : own(work.state.partitions, partition)?.incident;
  const mute = partition !== undefined && zone !== undefined && isCapped(work, partition, `zone:${zone.number}`);
  emit(work, {
    class: 'alarm',
    kind,
    status,
    lane: mute && status === 'restored' ? 'activity' : 'alarm',
    ...place(work, { partition, zone }),
    ...(zone?.source.kind === 'camera' ? { camera: zone.source.id } : {}),
    ...(status === 'cancelled' ? { contactId: '406', sia: 'OC' } : coded('alarm', kind, status)),
    source,
    ...(actor === undefined ? {} : { actor }),
    signalToStation: signalToStation({
      class: 'alarm',
      status,
      capped: false,
      signalRestores: work.plan.signalRestores,
    }),
    toCloud: true,
    ...(alarm.silent === true ? { silent: true } : {}),
    media: [],
    ...(incident === undefined || alarm.silent === true ? {} : { incident }),
  });
}

/** The incident of the partition, begun if there is none. A silent one is never shown on the partition. */
export function incidentOf(work: Work, partition: PartitionId | undefined, silent = false): string {
  const running = partition === undefined || silent ? undefined : own(work.state.partitions, partition)?.incident;
  if (running !== undefined) return running;
  const number = work.state.incidents + 1;
  const incident = `${partition ?? 'site'}-${number}`;
  work.state = { ...work.state, incidents: number };
  if (partition !== undefined && !silent) setPartition(work, partition, { incident });
  return incident;
}

function remember(work: Work, id: PartitionId, zone: string): void {
  const { memory } = partitionOf(work, id);
  if (!memory.includes(zone)) setPartition(work, id, { memory: [...memory, zone] });
}

/** What the person who scores the alarm should know; at most 16 entries. */
function evidenceFor(work: Work, alarm: Alarm): readonly Evidence[] {
  const { partition, zone } = alarm;
  const entries: Evidence[] = [];
  if (zone !== undefined) entries.push({ type: 'zone', zone: zone.number, name: zone.name, zone_type: zone.type });
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
  return entries.slice(0, 16);
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

/** Words of a partition in which an alarm is running or about to. */
export const alarming = (state: ArmingWord): boolean => state === 'pending' || state === 'triggered';

/** The name of a zone's device, as the source of its events. */
export const sourceOf = (zone: ZonePlan): string => deviceName(zone.source);
