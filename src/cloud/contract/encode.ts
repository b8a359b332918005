import type { EventClass, EventDraft, Lane, MediaItem, SiteEvent } from '#site/model/index.ts';
import { type CloudEvent, type CloudEventType, maxSnapshots } from './events.ts';

/** The members of an event that come from the configuration, not from what happened. */
export interface EventIdentity {
  /** `cloud.events.location_id`, otherwise `site.external_id`. */
  readonly locationId: string;
  /** `bridge.external_id`. */
  readonly recorderId: string;
  /** External id of each camera by its id on the site. */
  readonly cameraIds: Readonly<Record<string, string>>;
  /** `cloud.dialect.event_version`. */
  readonly version: string;
  /** `event_status` of what has ended; both "restored" unless the dialect says otherwise. */
  readonly statuses?: { readonly restored: string; readonly cancelled: string };
}

/**
 * The cloud's event as JSON text without `event_time` and `sent_at`: the twelve members that never change between
 * tries. `withTimes` adds the other two. One rule per member, documented in docs/event-fields.md (S-160).
 */
export function encodeEvent(event: SiteEvent, draft: EventDraft, identity: EventIdentity): string {
  const body: Omit<CloudEvent, 'event_time' | 'sent_at'> = {
    version: identity.version,
    location_id: identity.locationId,
    recorder_id: identity.recorderId,
    camera_id: cameraIdOf(draft, identity.cameraIds),
    event_id: event.event_id,
    event_type: eventTypeOf(draft.class, draft.lane),
    event_status: eventStatusOf(draft.status, identity.statuses),
    should_signal_to_monitoring_center: draft.signalToStation,
    upload_snapshot_count: Math.min(countOf(draft.media, 'snapshot'), maxSnapshots),
    upload_short_mp4: countOf(draft.media, 'short_mp4') > 0,
    upload_event_mp4: countOf(draft.media, 'event_mp4') > 0,
    payload: event,
  };
  return JSON.stringify(body);
}

/** Puts both times in front of an encoded event; every other byte stays as it is on each try. Times are ISO 8601. */
export function withTimes(body: string, eventTime: string, sentAt: string): string {
  if (!body.startsWith('{"')) throw new TypeError('not an encoded event');
  return `{"event_time":${JSON.stringify(eventTime)},"sent_at":${JSON.stringify(sentAt)},${body.slice(1)}`;
}

/**
 * Puts `payload.data.time` into an encoded event: the recorded time was not the true one, or is not sure. The same
 * correction gives the same bytes on each try. An event that has bounds of its own ends at its corrected time; when they
 * began was said by a clock nobody stands for.
 */
export function withCorrection(body: string, time: NonNullable<SiteEvent['data']['time']>, eventTime: string): string {
  const event = JSON.parse(body) as { payload: SiteEvent };
  const { data } = event.payload;
  const said = data.time === undefined ? time : { latest: eventTime, ...time, quality: 'estimated' };
  return JSON.stringify({ ...event, payload: { ...event.payload, data: { ...data, time: said } } });
}

/** What a class becomes where the lane does not already name one of the service's three kinds (S-161). */
const typeOfClass: Readonly<Record<EventClass, CloudEventType>> = {
  alarm: 'alarm',
  trouble: 'trouble',
  arming: 'arming',
  bypass: 'arming',
  command: 'arming',
  test: 'arming',
  verification: 'alarm',
  audio: 'trouble',
  camera: 'trouble',
  system: 'trouble',
};

function eventTypeOf(eventClass: EventClass, lane: Lane): CloudEventType {
  const named = eventClass === 'alarm' || eventClass === 'trouble' || eventClass === 'arming';
  return named || lane === 'activity' ? typeOfClass[eventClass] : lane;
}

function eventStatusOf(status: EventDraft['status'], statuses: EventIdentity['statuses']): string {
  return status === 'active' ? 'active' : (statuses?.[status] ?? 'restored');
}

/** The camera that saw it, otherwise the one whose pictures go with it, otherwise empty. */
function cameraIdOf(draft: EventDraft, cameraIds: EventIdentity['cameraIds']): string {
  const camera = draft.camera ?? draft.media[0]?.camera;
  return camera === undefined ? '' : (cameraIds[camera] ?? '');
}

const countOf = (media: readonly MediaItem[], kind: MediaItem['kind']): number =>
  media.filter((item) => item.kind === kind).length;
