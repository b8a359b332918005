import type {
  ArmingWord,
  EventClass,
  EventDraft,
  PartitionId,
  ReportedCode,
  Stamp,
  ZonePlan,
} from '#site/model/index.ts';
import { armingCode, eventCode } from './codes.ts';
import { own, periodOf, type Work } from './work.ts';

/** Notes an event and, where it announces pictures, their capture. Returns its number within the decision. */
export function emit(work: Work, event: EventDraft): number {
  const ref = work.events;
  work.events += 1;
  work.effects.push({ kind: 'event', ref, event });
  if (event.media.length > 0) work.effects.push({ kind: 'capture', ref });
  return ref;
}

/**
 * `should_signal_to_monitoring_center` (docs/event-fields.md): alarms that the zone table let through are
 * signalled, unless the cap of their source is reached (safety 8) or they wait in an abort window. Restores follow
 * commissioning; a cancel is told where the alarm was. Everything else informs the cloud and calls nobody.
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

/** The code a panel has named, in place of that of the kind. */
export function reportedAs(reported: ReportedCode | undefined): Pick<EventDraft, 'contactId' | 'sia' | 'reported'> {
  if (reported === undefined) return {};
  const { code } = reported;
  return isContactId(code) ? { contactId: code, reported } : { sia: code, reported };
}

export const isContactId = (code: string): boolean => /^[0-9A-F]{3}$/.test(code);

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
    ...leftOut(work, id, state),
  });
}

/** Zone numbers that are named; their count is always told. */
const namedCap = 24;

/** A partition that is armed without some of its zones says so. */
function leftOut(work: Work, id: PartitionId, state: ArmingWord): Pick<EventDraft, 'evidence'> {
  const { bypassed } = periodOf(work.state, id);
  if (bypassed.length === 0 || state === 'disarmed') return {};
  return {
    evidence: [{ type: 'zones_left_out', count: bypassed.length, zones: bypassed.slice(0, namedCap).join(' ') }],
  };
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
    readonly at?: Stamp | undefined;
    readonly evidence?: EventDraft['evidence'] | undefined;
    readonly reported?: ReportedCode | undefined;
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
    ...reportedAs(trouble.reported),
    source: trouble.source,
    ...(trouble.detail === undefined ? {} : { detail: trouble.detail.slice(0, 512) }),
    ...(trouble.at === undefined ? {} : { at: trouble.at }),
    ...(trouble.evidence === undefined ? {} : { evidence: trouble.evidence }),
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
