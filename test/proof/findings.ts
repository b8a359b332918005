import type { EventEntry } from '#lan/http/index.ts';
import { isSilent } from '#lan/mqtt/silent.ts';
import type { SiteEvent } from '#site/model/index.ts';
import type { Accepted, Upload } from '../harness/cloud.ts';
import type { SeenEvent, SeenReply } from '../harness/lan.ts';

/** Classes of which every event must reach the cloud; of the others some stay on the site. */
const forTheCloud: ReadonlySet<string> = new Set(['alarm', 'trouble', 'arming']);

/** Events seen on the LAN that the cloud never got, but for those whose class may stay on the site and does. */
export function acknowledgedButLost(
  seen: readonly SeenEvent[],
  record: readonly Accepted[],
  history: readonly EventEntry[],
): readonly SiteEvent[] {
  const accepted = new Set(record.map(({ event_id }) => event_id));
  const local = new Set(history.filter(({ delivery }) => delivery === 'local').map(({ event }) => event.event_id));
  return (
    seen
      .map(({ event }) => event)
      // Without a disk an event is shown as not durable, which promises nothing after a power cut.
      .filter((event) => event.data.durable !== false)
      .filter((event) => !accepted.has(event.event_id))
      .filter((event) => forTheCloud.has(event.class) || !local.has(event.event_id))
  );
}

/** Final replies that say `done` and name a sequence of which the cloud has no arming event. */
export function unprovenReplies(
  replies: readonly SeenReply[],
  record: readonly Accepted[],
): readonly SeenReply['reply'][] {
  const armings = new Set(
    record
      .filter(({ body }) => body.payload.class === 'arming')
      .map(({ body: { payload } }) => `${payload.partition} ${payload.data.arming?.seq} ${payload.kind}`),
  );
  return replies
    .map(({ reply }) => reply)
    .filter(({ outcome, partition }) => outcome === 'done' && partition !== undefined)
    .filter(({ partition, seq, state }) => !armings.has(`${partition} ${seq} ${state}`));
}

/** Events that were repeated with other contents. */
export const repeatedOtherwise = (record: readonly Accepted[]): readonly Accepted[] =>
  record.filter(({ identical }) => !identical);

/** Numbers that two events have. A silent event shares the number of the one before (safety 4). */
export function sharedNumbers(record: readonly Accepted[]): readonly string[] {
  const numbers = record
    .filter(({ body }) => !isSilent(body.payload))
    .map(({ body: { payload } }) => `${payload.data.epoch}/${payload.seq}`);
  const known = new Set<string>();
  return numbers.filter((number) => known.size === known.add(number).size);
}

/** Events in the cloud that the daemon does not know. */
export function unknownToTheSite(record: readonly Accepted[], history: readonly EventEntry[]): readonly Accepted[] {
  const kept = new Set(history.map(({ event }) => event.event_id));
  return record.filter(({ event_id }) => !kept.has(event_id));
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

/** Of the alarms' lane, though no alarms yet. */
const withAlarms: ReadonlySet<string> = new Set(['entry_delay_started', 'further_zone', 'cross_zone_first']);

function mayGoAlone({ payload, event_time, sent_at }: Accepted['body']): boolean {
  const isAlarm = payload.class === 'alarm' || withAlarms.has(payload.kind);
  return isAlarm && Date.parse(sent_at) - Date.parse(event_time) >= alarmWaitsMs;
}

/** Events that the cloud accepted before an older one of their order key, but for alarms that had waited for it. */
export function overtakers(record: readonly Accepted[]): readonly string[] {
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
  return broken;
}

export interface Pictures {
  readonly announced: number;
  readonly arrived: number;
  /** How many the delivery trail excuses, by its reason. */
  readonly excused: ReadonlyMap<string, number>;
  /** Neither in the cloud nor excused. */
  readonly missing: readonly string[];
}

/** What became of the announced pictures. */
export function picturesOf(
  record: readonly Accepted[],
  uploads: readonly Upload[],
  history: readonly EventEntry[],
): Pictures {
  const there = new Set(
    uploads.filter(({ bytes }) => bytes > 500).map(({ event_id, kind, index }) => `${event_id} ${kind} ${index}`),
  );
  const trail = new Map(history.map(({ event, media }) => [event.event_id, media]));
  const missing: string[] = [];
  const excused = new Map<string, number>();
  let [announced, arrived] = [0, 0];
  for (const { event_id, body } of record) {
    for (let index = 0; index < body.upload_snapshot_count; index += 1) {
      announced += 1;
      if (there.has(`${event_id} snapshot ${index}`)) {
        arrived += 1;
        continue;
      }
      const item = trail.get(event_id)?.find((entry) => entry.kind === 'snapshot' && entry.index === index);
      const reason = item?.reason ?? '';
      if (reason !== '') excused.set(reason, (excused.get(reason) ?? 0) + 1);
      else missing.push(`${event_id} snapshot ${index}: ${JSON.stringify(item)}`);
    }
  }
  return { announced, arrived, excused, missing };
}

/** Pictures sent with our bearer. */
export const withOurBearer = (uploads: readonly Upload[]): readonly Upload[] =>
  uploads.filter(({ authorization_sent }) => authorization_sent);
