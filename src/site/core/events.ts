import type { EventClass, EventDraft, PartitionId, ZonePlan } from '#site/model/index.ts';
import { armingCode, eventCode } from './codes.ts';
import { own, type Work } from './work.ts';

/** Notes an event and, where it announces pictures, their capture. Returns its number within the decision. */
export function emit(work: Work, event: EventDraft): number {
  const ref = work.events;
  work.events += 1;
  work.effects.push({ kind: 'event', ref, event });
  if (event.media.length > 0) work.effects.push({ kind: 'capture', ref });
  return ref;
}

/**
 * `should_signal_to_monitoring_center` (decisions, the event's 14 fields): alarms that the zone table let through are
 * signalled, unless the cap of their source is reached (safety 8). Restores follow commissioning; a cancel is told
 * where the alarm was. Everything else informs the cloud and calls nobody.
 */
export function signalToStation(event: {
  readonly class: EventClass;
  readonly status: EventDraft['status'];
  readonly capped: boolean;
  readonly signalRestores: boolean;
}): boolean {
  if (event.class !== 'alarm' || event.capped) return false;
  return event.status === 'restored' ? event.signalRestores : true;
}

export const deviceName = (source: { readonly kind: string; readonly id: string }): string =>
  `${source.kind}:${source.id}`;

/** Members that say where an event happened. */
export function place(
  work: Work,
  about: { readonly partition?: PartitionId | undefined; readonly zone?: ZonePlan | undefined },
): Pick<EventDraft, 'partition' | 'arming' | 'zone' | 'zoneName' | 'zoneType'> {
  const { partition, zone } = about;
  const state = partition === undefined ? undefined : own(work.state.partitions, partition);
  return {
    ...(partition === undefined ? {} : { partition }),
    ...(state === undefined ? {} : { arming: { state: state.state, seq: state.seq } }),
    ...(zone === undefined ? {} : { zone: zone.number, zoneName: zone.name, zoneType: zone.type }),
  };
}

/** Contact ID and SIA members of an alarm or trouble. */
export function coded(
  eventClass: EventClass,
  kind: string,
  status: EventDraft['status'],
): Pick<EventDraft, 'contactId' | 'sia'> {
  const code = eventCode(eventClass, kind);
  if (code === undefined) return {};
  return { contactId: code.contactId, sia: status === 'restored' ? code.restored : code.sia };
}

/** The event of a partition that is armed or disarmed now. */
export function armingEvent(work: Work, id: PartitionId, late: boolean): void {
  const partition = own(work.state.partitions, id);
  if (partition === undefined) return;
  const { state, mode, source, changedBy } = partition;
  emit(work, {
    class: 'arming',
    kind: state,
    status: 'active',
    lane: 'arming',
    ...place(work, { partition: id }),
    ...armingCode(source, changedBy, state === 'disarmed' ? null : mode),
    source,
    ...(changedBy === undefined ? {} : { actor: changedBy }),
    ...(late ? { late } : {}),
    signalToStation: false,
    toCloud: true,
    media: [],
  });
}

export function troubleEvent(
  work: Work,
  trouble: {
    readonly kind: string;
    readonly active: boolean;
    readonly source: string;
    readonly partition?: PartitionId | undefined;
    readonly zone?: ZonePlan | undefined;
    readonly camera?: string | undefined;
    readonly detail?: string | undefined;
  },
): void {
  const status = trouble.active ? 'active' : 'restored';
  emit(work, {
    class: 'trouble',
    kind: trouble.kind,
    status,
    lane: 'trouble',
    ...place(work, trouble),
    ...(trouble.camera === undefined ? {} : { camera: trouble.camera }),
    ...coded('trouble', trouble.kind, status),
    source: trouble.source,
    ...(trouble.detail === undefined ? {} : { detail: trouble.detail.slice(0, 512) }),
    signalToStation: false,
    toCloud: true,
    media: [],
  });
}

/** Something for the site's own history: kept and shown, not sent. */
export function localEvent(
  work: Work,
  event: Pick<EventDraft, 'class' | 'kind' | 'source'> & Partial<EventDraft>,
): void {
  emit(work, {
    status: 'active',
    lane: 'activity',
    signalToStation: false,
    toCloud: false,
    media: [],
    ...event,
  });
}
