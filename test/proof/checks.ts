import { expect } from 'vitest';
import type { EventEntry } from '#lan/http/index.ts';
import type { Accepted, Upload } from '../harness/cloud.ts';
import type { SeenEvent, SeenReply } from '../harness/lan.ts';
import {
  acknowledgedButLost,
  overtakers,
  type Pictures,
  picturesOf,
  repeatedOtherwise,
  sharedNumbers,
  unknownToTheSite,
  unprovenReplies,
  withOurBearer,
} from './findings.ts';

/** Every event seen on the LAN is in the cloud, unless its class may stay on the site and the daemon says that it does. */
export function acknowledgedEventsArrived(
  seen: readonly SeenEvent[],
  record: readonly Accepted[],
  history: readonly EventEntry[],
): void {
  expect(acknowledgedButLost(seen, record, history), 'events seen on the LAN that the cloud never got').toEqual([]);
}

/** A final reply that says `done` is borne out by the arming event of the sequence it names. */
export function acknowledgedRepliesArrived(replies: readonly SeenReply[], record: readonly Accepted[]): void {
  expect(unprovenReplies(replies, record), 'commands answered with done whose arming the cloud never got').toEqual([]);
}

/** Each id once, or repeated with the same bytes; what the LAN saw under an id is what the cloud has. */
export function eachIdIsOneEvent(seen: readonly SeenEvent[], record: readonly Accepted[]): void {
  expect(repeatedOtherwise(record), 'events that were repeated with other contents').toEqual([]);
  expect(sharedNumbers(record), 'every number belongs to one event').toEqual([]);
  const byId = new Map(record.map(({ event_id, body }) => [event_id, body.payload]));
  for (const { event } of seen) {
    const other = byId.get(event.event_id);
    if (other !== undefined && event.data.durable !== false) expect(other).toEqual(event);
  }
}

/** Within one order key the cloud accepted events in the order of their numbers, but for alarms that had waited for it. */
export function orderIsKept(seen: readonly SeenEvent[], record: readonly Accepted[]): void {
  expect(overtakers(record, { seen }), 'events that overtook one another').toEqual([]);
}

/** What the daemon kept under a number is what the cloud accepted under it, and nothing else was accepted. */
export function cloudKnowsOnlyWhatWasKept(record: readonly Accepted[], history: readonly EventEntry[]): void {
  expect(unknownToTheSite(record, history), 'events in the cloud that the daemon does not know').toEqual([]);
}

/** Every announced picture lies in the cloud, or the delivery trail says why it does not. */
export function picturesArrived(
  record: readonly Accepted[],
  uploads: readonly Upload[],
  history: readonly EventEntry[],
): Pictures {
  const pictures = picturesOf(record, uploads, history);
  expect(pictures.missing, 'pictures that are neither in the cloud nor excused').toEqual([]);
  expect(withOurBearer(uploads), 'pictures sent with our bearer').toEqual([]);
  return pictures;
}
