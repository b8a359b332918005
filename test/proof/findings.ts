import type { EventEntry } from '#lan/http/index.ts';
import { isSilent } from '#lan/mqtt/silent.ts';
import type { SiteEvent } from '#site/model/index.ts';
import type { Accepted, Upload } from '../harness/cloud.ts';
import type { SeenEvent, SeenReply } from '../harness/lan.ts';
import type { ClockStep } from '../harness/wall-clock.ts';

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

/** What tells how long an alarm has waited, though the daemon's own wall clock may have been set meanwhile. */
export interface Waits {
  readonly seen: readonly SeenEvent[];
  /** How far the daemon's clock was from the machine's, as its test has set it; without any it was the same. */
  readonly steps?: readonly ClockStep[];
}

/**
 * Between a step of the clock and what the daemon stamps next. Of an event in such a gap the time that makes its wait the shorter one
 * counts.
 */
const stepTakesMs = 100;

/**
 * By the clock of the machine, at which moment the daemon's clock showed this: the last one before `until`, since a clock that
 * was set back shows a time twice. Undefined where it never did.
 */
function trueTime(shown: number, until: number, steps: readonly ClockStep[]): number | undefined {
  return steps
    .map(({ from, offsetMs }, at) => ({
      from,
      to: steps[at + 1]?.from ?? Number.POSITIVE_INFINITY,
      at: shown - offsetMs,
    }))
    .filter(({ from, to, at }) => at >= from - stepTakesMs && at <= to + stepTakesMs && at <= until)
    .map(({ at }) => at)
    .sort((a, b) => b - a)[0];
}

/** Which alarms had waited for so long that they may go alone. */
function alarmsAlone({ seen, steps = [{ from: 0, offsetMs: 0 }] }: Waits) {
  const shown = new Map(seen.map(({ at, event }) => [event.event_id, at] as const).reverse());
  return ({ arrived_at, body: { payload } }: Accepted): boolean => {
    if (payload.class !== 'alarm' && !withAlarms.has(payload.kind)) return false;
    const arrived = Date.parse(arrived_at);
    // A full disk keeps an event from the LAN for longer than from the cloud, which may have it first. One told late has an old time.
    const decided = payload.late === true ? undefined : trueTime(Date.parse(payload.at), arrived, steps);
    const since = Math.min(
      decided ?? Number.POSITIVE_INFINITY,
      shown.get(payload.event_id) ?? Number.POSITIVE_INFINITY,
    );
    return arrived - since >= alarmWaitsMs;
  };
}

/** Events that the cloud accepted before an older one of their order key, but for alarms that had waited for it. */
export function overtakers(record: readonly Accepted[], waits: Waits): readonly string[] {
  const mayGoAlone = alarmsAlone(waits);
  const keys = orderKeys(record.map(({ body }) => body.payload));
  const last = new Map<string, Accepted>();
  const broken: string[] = [];
  for (const one of [...record].sort((a, b) => a.seq - b.seq)) {
    const key = keys.get(one.event_id) ?? '';
    const before = last.get(key);
    if (before !== undefined && before.body.payload.seq > one.body.payload.seq && !mayGoAlone(before)) {
      const [late, early] = [one, before].map(
        ({ body: { payload } }) => `${payload.seq} ${payload.kind} ${payload.status} ${payload.zone}`,
      );
      broken.push(`${key}: ${late} came after ${early}`);
    }
    last.set(key, one);
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

/**
 * What became of the announced pictures.
 * @param gaveWay events that are known to have given way on a full disk, with the reason why a picture is missing.
 */
export function picturesOf(
  record: readonly Accepted[],
  uploads: readonly Upload[],
  history: readonly EventEntry[],
  gaveWay: ReadonlySet<string> = new Set(),
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
      const unread = item !== undefined && gaveWay.has(event_id) ? 'its event gave way on the full disk' : '';
      const reason = item?.reason ?? unread;
      if (reason !== '') excused.set(reason, (excused.get(reason) ?? 0) + 1);
      else missing.push(`${event_id} snapshot ${index}: ${JSON.stringify(item)}`);
    }
  }
  return { announced, arrived, excused, missing };
}

/** Pictures sent with our bearer. */
export const withOurBearer = (uploads: readonly Upload[]): readonly Upload[] =>
  uploads.filter(({ authorization_sent }) => authorization_sent);
