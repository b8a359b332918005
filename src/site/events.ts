import type { Logger } from 'pino';
import { nameUuid } from '#lib/uuid.ts';
import type { Effect } from './core/index.ts';
import { type EventDraft, isoTime, type ScheduleNote, type SiteEvent, type Stamp, siteEvent } from './model/index.ts';
import type { OutboxRow } from './store/index.ts';

export interface NumberedEvent {
  readonly row: OutboxRow;
  readonly event: SiteEvent;
  /** Never shown on the LAN (safety 4). */
  readonly silent: boolean;
  /** The decision asked for its pictures. */
  readonly captured: boolean;
}

/**
 * Gives the events of one decision their numbers and ids. The id is a name-based UUID of (bridge, store, epoch, number):
 * it needs no clock, and the same row sent again is the same event. A silent event takes no number, it shares that of the
 * event before it; its id is made of its row's seq, which nobody sees (safety 4, ADR 12).
 */
export function numberEvents(options: {
  effects: readonly Effect[];
  at: Stamp;
  epoch: number;
  /** Namespace of the ids: this bridge and this store. */
  idSpace: string;
  /** Of the rows; every event takes one. */
  firstSeq: number;
  /** Silent events before: how much a number is below the seq of its row. */
  hidden: number;
  encode: (event: SiteEvent, draft: EventDraft) => string;
  log: Logger;
}): NumberedEvent[] {
  const { effects, at, epoch } = options;
  const captured = new Set(effects.flatMap((effect) => (effect.kind === 'capture' ? [effect.ref] : [])));
  const result: NumberedEvent[] = [];
  let { hidden } = options;
  for (const effect of effects) {
    if (effect.kind !== 'event') continue;
    const seq = options.firstSeq + result.length;
    const draft = effect.event;
    const stamp = draft.at ?? at;
    if (draft.silent === true) hidden += 1;
    const number = seq - hidden;
    const name = draft.silent === true ? `${epoch}/${seq}/silent` : `${epoch}/${number}`;
    const event = publicEvent(draft, { seq: number, epoch, at: stamp, eventId: nameUuid(options.idSpace, name) });
    const checked = siteEvent.safeParse(event);
    // An event that breaks its own schema is our defect; it must still reach the people it is for.
    if (!checked.success)
      options.log.error({ kind: draft.kind, err: checked.error }, 'an event does not fit its schema');
    result.push({
      event,
      silent: draft.silent === true,
      captured: captured.has(effect.ref),
      row: {
        seq,
        lane: draft.lane,
        eventId: event.event_id,
        orderKey: draft.partition ?? (draft.camera === undefined ? 'site' : `camera:${draft.camera}`),
        mono: stamp.mono,
        wall: stamp.wall,
        boot: stamp.boot,
        clock: stamp.clock,
        body: options.encode(event, draft),
        event,
        media: draft.media,
        toCloud: draft.toCloud,
        ...(draft.silent === true && { silent: true as const }),
      },
    });
  }
  return result;
}

function publicEvent(draft: EventDraft, number: { seq: number; epoch: number; at: Stamp; eventId: string }): SiteEvent {
  return {
    event_id: number.eventId,
    event_type: draft.kind,
    kind: draft.kind,
    class: draft.class,
    status: draft.status,
    ...(draft.partition !== undefined && { partition: draft.partition }),
    ...(draft.zone !== undefined && { zone: draft.zone }),
    ...(draft.camera !== undefined && { camera: draft.camera }),
    ...(draft.contactId !== undefined && { contact_id: draft.contactId }),
    ...(draft.sia !== undefined && { sia: draft.sia }),
    seq: number.seq,
    source: draft.source,
    ...(draft.actor !== undefined && { actor: draft.actor }),
    at: isoTime(number.at.wall),
    ...(draft.late === true && { late: true }),
    data: {
      version: 1,
      epoch: number.epoch,
      clock: number.at.clock,
      ...(draft.waited !== undefined && { time: boundsOf(draft.waited, number.at) }),
      ...(draft.arming !== undefined && { arming: draft.arming }),
      // The core counts incidents within a store; the epoch makes the id unique for ever.
      ...(draft.incident !== undefined && { incident_id: `${number.epoch}-${draft.incident}` }),
      ...(draft.zoneName !== undefined && { zone_name: draft.zoneName }),
      ...(draft.zoneType !== undefined && { zone_type: draft.zoneType }),
      ...(draft.additionalZones !== undefined && { additional_zone_numbers: draft.additionalZones.join(',') }),
      ...(draft.evidence !== undefined &&
        draft.evidence.length > 0 && { evidence: draft.evidence.map((item) => ({ ...item })) }),
      ...(draft.detail !== undefined && { detail: draft.detail }),
      ...(draft.reported !== undefined && { reported: { ...draft.reported } }),
      ...(draft.deviceTime !== undefined && { device_time: draft.deviceTime }),
      ...(draft.schedule !== undefined && { schedule: scheduleOf(draft.schedule) }),
    },
  };
}

/** A beginning after the end is that of a clock that was set back meanwhile, and bounds nothing. */
function boundsOf({ since }: { readonly since?: number }, { wall }: Stamp): NonNullable<SiteEvent['data']['time']> {
  const latest = isoTime(wall);
  const earliest = since !== undefined && since <= wall ? { earliest: isoTime(since) } : {};
  return { quality: 'estimated', recorded: latest, ...earliest, latest };
}

const scheduleOf = ({ at, ...note }: ScheduleNote): NonNullable<SiteEvent['data']['schedule']> => ({
  ...note,
  ...(at !== undefined && { at: isoTime(at) }),
});
