import { expect } from 'vitest';
import type { EventEntry } from '#lan/http/index.ts';
import { isSilent } from '#lan/mqtt/silent.ts';
import type { SiteEvent } from '#site/model/index.ts';
import type { Accepted, Upload } from '../harness/cloud.ts';
import type { SeenEvent, SeenReply } from '../harness/lan.ts';

/** Classes of which every event must reach the cloud; of the others some stay on the site. */
const forTheCloud: ReadonlySet<string> = new Set(['alarm', 'trouble', 'arming']);

/** Every event seen on the LAN is in the cloud, unless its class may stay on the site and the daemon says that it does. */
export function acknowledgedEventsArrived(
  seen: readonly SeenEvent[],
  record: readonly Accepted[],
  history: readonly EventEntry[],
): void {
  const accepted = new Set(record.map(({ event_id }) => event_id));
  const local = new Set(history.filter(({ delivery }) => delivery === 'local').map(({ event }) => event.event_id));
  const lost = seen
    .map(({ event }) => event)
    // Without a disk an event is shown as not durable, which promises nothing after a power cut.
    .filter((event) => event.data.durable !== false)
    .filter((event) => !accepted.has(event.event_id))
    .filter((event) => forTheCloud.has(event.class) || !local.has(event.event_id));
  expect(lost, 'events seen on the LAN that the cloud never got').toEqual([]);
}

/** A final reply that says `done` is borne out by the arming event of the sequence it names. */
export function acknowledgedRepliesArrived(replies: readonly SeenReply[], record: readonly Accepted[]): void {
  const armings = new Set(
    record
      .filter(({ body }) => body.payload.class === 'arming')
      .map(({ body: { payload } }) => `${payload.partition} ${payload.data.arming?.seq} ${payload.kind}`),
  );
  const unproven = replies
    .map(({ reply }) => reply)
    .filter(({ outcome, partition }) => outcome === 'done' && partition !== undefined)
    .filter(({ partition, seq, state }) => !armings.has(`${partition} ${seq} ${state}`));
  expect(unproven, 'commands answered with done whose arming the cloud never got').toEqual([]);
}

/** Each id once, or repeated with the same bytes; what the LAN saw under an id is what the cloud has. */
export function eachIdIsOneEvent(seen: readonly SeenEvent[], record: readonly Accepted[]): void {
  const different = record.filter(({ identical }) => !identical);
  expect(different, 'events that were repeated with other contents').toEqual([]);
  // A silent event shares the number of the one before (safety 4).
  const shown = record.filter(({ body }) => !isSilent(body.payload));
  const numbers = shown.map(({ body: { payload } }) => `${payload.data.epoch}/${payload.seq}`);
  expect(numbers.length, 'every number belongs to one event').toBe(new Set(numbers).size);
  const byId = new Map(record.map(({ event_id, body }) => [event_id, body.payload]));
  for (const { event } of seen) {
    const other = byId.get(event.event_id);
    if (other !== undefined && event.data.durable !== false) expect(other).toEqual(event);
  }
}

/** Of one partition, or of a camera without one, or of the site itself. */
const orderKey = (event: SiteEvent): string =>
  event.partition ?? (event.camera === undefined ? 'site' : `camera:${event.camera}`);

/**
 * The order keys of all events, by id. A source above its cap of alarms (safety 8, between the two events `runaway`)
 * is activity, which has an order of its own: it must not hold an alarm up.
 */
function orderKeys(events: readonly SiteEvent[]): ReadonlyMap<string, string> {
  const capped = new Set<string>();
  const keys = new Map<string, string>();
  for (const event of [...events].sort((a, b) => a.seq - b.seq)) {
    const source = `${event.partition} ${event.zone}`;
    if (event.kind === 'runaway' && event.status === 'active') capped.add(source);
    if (event.kind === 'runaway' && event.status === 'restored') capped.delete(source);
    const activity = event.class === 'alarm' && event.status !== 'cancelled' && capped.has(source);
    keys.set(event.event_id, activity ? `activity of ${orderKey(event)}` : orderKey(event));
  }
  return keys;
}

/** So long an alarm lets what is older of its partition go first; then it goes alone (docs/outbox.md, lanes and order). */
const alarmWaitsMs = 3000;

function mayGoAlone({ payload, event_time, sent_at }: Accepted['body']): boolean {
  return payload.class === 'alarm' && Date.parse(sent_at) - Date.parse(event_time) >= alarmWaitsMs;
}

/** Within one order key the cloud accepted events in the order of their numbers, but for alarms that had waited for it. */
export function orderIsKept(record: readonly Accepted[]): void {
  const keys = orderKeys(record.map(({ body }) => body.payload));
  const last = new Map<string, Accepted['body']>();
  const broken: string[] = [];
  for (const { body, event_id } of [...record].sort((a, b) => a.seq - b.seq)) {
    const key = keys.get(event_id) ?? '';
    const before = last.get(key);
    if (before !== undefined && before.payload.seq > body.payload.seq && !mayGoAlone(before)) {
      const [late, early] = [body, before].map(
        ({ payload: { seq, kind, status, zone } }) => `${seq} ${kind} ${status} ${zone}`,
      );
      broken.push(`${key}: ${late} came after ${early}`);
    }
    last.set(key, body);
  }
  expect(broken, 'events that overtook one another').toEqual([]);
}

/** What the daemon kept under a number is what the cloud accepted under it, and nothing else was accepted. */
export function cloudKnowsOnlyWhatWasKept(record: readonly Accepted[], history: readonly EventEntry[]): void {
  const kept = new Set(history.map(({ event }) => event.event_id));
  expect(
    record.filter(({ event_id }) => !kept.has(event_id)),
    'events in the cloud that the daemon does not know',
  ).toEqual([]);
}

/** Every announced picture lies in the cloud, or the delivery trail says why it does not. */
export function picturesArrived(
  record: readonly Accepted[],
  uploads: readonly Upload[],
  history: readonly EventEntry[],
): { announced: number; arrived: number; excused: ReadonlyMap<string, number> } {
  const arrived = new Set(
    uploads.filter(({ bytes }) => bytes > 500).map(({ event_id, kind, index }) => `${event_id} ${kind} ${index}`),
  );
  const trail = new Map(history.map(({ event, media }) => [event.event_id, media]));
  const missing: string[] = [];
  const count = { announced: 0, arrived: 0, excused: new Map<string, number>() };
  for (const { event_id, body } of record) {
    for (let index = 0; index < body.upload_snapshot_count; index += 1) {
      count.announced += 1;
      if (arrived.has(`${event_id} snapshot ${index}`)) {
        count.arrived += 1;
        continue;
      }
      const item = trail.get(event_id)?.find((entry) => entry.kind === 'snapshot' && entry.index === index);
      const reason = item?.reason ?? '';
      if (reason !== '') count.excused.set(reason, (count.excused.get(reason) ?? 0) + 1);
      else missing.push(`${event_id} snapshot ${index}: ${JSON.stringify(item)}`);
    }
  }
  expect(missing, 'pictures that are neither in the cloud nor excused').toEqual([]);
  expect(
    uploads.filter(({ authorization_sent }) => authorization_sent),
    'pictures sent with our bearer',
  ).toEqual([]);
  return count;
}
