import {
  type CloudEvent,
  cloudEventTypes,
  type MediaKind,
  postEvent,
  type UploadAddress,
} from '#cloud/contract/index.ts';
import { eventError, sentence } from '../answers.ts';
import { bearer, openRules, type Resource, resource } from '../resource.ts';
import type { CloudState } from '../state.ts';

export function eventsResource(state: CloudState): Resource {
  return resource(
    { postEvent },
    {
      postEvent: ({ body, raw, identity: { grant, exchange } }) => {
        if (grant?.mayIngest !== true) {
          return eventError(403, 'forbidden', 'the auth application lacks the event ingestion permission');
        }
        const when = { nowMs: state.now(), arrivedMs: exchange.arrivedMs };
        const event = state.events.take(grant.clientId, body, { bytes: raw.length, ...when });
        const known = (cloudEventTypes as readonly string[]).includes(body.event_type);
        exchange.note = [
          `event ${body.event_id} ${body.event_type}${known ? '' : ' (unknown type)'}`,
          event.try_count === 1 ? 'accepted' : `again, try ${event.try_count}`,
          event.tries.at(-1)?.identical === false ? 'with a different body' : '',
        ]
          .filter(Boolean)
          .join(', ');
        return { status: 200, body: { event_id: body.event_id, uploads: addresses(state, grant.clientId, body) } };
      },
    },
    {
      ...openRules,
      identify: bearer(state, 'event', eventError),
      refuse: (_, status, issues) =>
        eventError(status, status === 413 ? 'payload_too_large' : 'bad_request', sentence(issues), issues),
    },
  );
}

/** Fresh addresses for all that the event announces, also when it comes again (S-164, S-165). */
function addresses(state: CloudState, clientId: string, event: CloudEvent): UploadAddress[] {
  const announced: [MediaKind, number][] = [
    ['snapshot', event.upload_snapshot_count ?? 0],
    ['short_mp4', event.upload_short_mp4 === true ? 1 : 0],
    ['event_mp4', event.upload_event_mp4 === true ? 1 : 0],
  ];
  return announced.flatMap(([kind, count]) =>
    Array.from({ length: count }, (_, index) => {
      const slot = state.uploads.open({ eventId: event.event_id, clientId, kind, index }, state.now());
      const folder = kind === 'snapshot' ? 'pictures' : 'clips';
      const url = `${state.publicUrl}/uploads/${folder}/${slot.token}`;
      return { kind, index, url, method: 'PUT', expires_at: new Date(slot.expiresAt).toISOString() };
    }),
  );
}
