import { crc32 } from 'node:zlib';
import type { Lane } from '#site/model/index.ts';
import { fileOf, laneIndex } from './lanes.ts';
import { evAt, type WireCommit, type WireParked, type WireRecord, type WireRow } from './protocol.ts';
import { isUnread, publicEvent } from './public-event.ts';
import type { Commit, EventRecord, NumberStore, OutboxRow, ParkedRecord } from './types.ts';

export function wireCommit(commit: Commit, order: number): WireCommit {
  const site: WireRow[] = [];
  const bulk: WireRow[] = [];
  let maxSeq = 0;
  for (const row of commit.rows) {
    (fileOf(row.lane) === 'bulk' ? bulk : site).push(wireRow(row));
    if (row.seq > maxSeq) maxSeq = row.seq;
  }
  const { arming, inputs, state = null, reported = [], audit = [], verifications = [], silent = false } = commit;
  return {
    ...{ order, maxSeq, state, silent },
    site: orNull(site),
    bulk: orNull(bulk),
    arming: orNull(arming),
    inputs: orNull(inputs),
    reported: orNull(reported),
    audit: orNull(audit),
    verifications: orNull(verifications),
  };
}

const orNull = <T>(list: readonly T[]): readonly T[] | null => (list.length === 0 ? null : list);

function wireRow(row: OutboxRow): WireRow {
  const { seq, lane, eventId, orderKey, mono, wall, boot, clock, body, event, toCloud, silent } = row;
  const { class: eventClass, partition = null } = event;
  const [crc, text] = [crc32(body), JSON.stringify(event)];
  const at = laneIndex(lane);
  return [
    [seq, at, eventId, orderKey, mono, wall, boot, clock, crc, eventClass, partition, body, text, silent ? 1 : 0],
    toCloud,
    row.media.length === 0
      ? null
      : row.media.map(({ index, kind, camera, offsetMs }) => [index, kind, camera, offsetMs] as const),
  ];
}

const rowOverhead = 256;

/** Characters a commit holds in the queue, about. */
export function sizeOfCommit(commit: WireCommit): number {
  const { site, bulk, arming, state, inputs, reported, audit, verifications } = commit;
  const records = (arming?.length ?? 0) + (reported?.length ?? 0) + (audit?.length ?? 0);
  let size = rowOverhead + records * rowOverhead;
  for (const text of state ?? []) size += text.length;
  for (const line of inputs ?? []) size += line.length;
  for (const { record } of verifications ?? []) size += rowOverhead + (record?.length ?? 0);
  for (const row of site ?? []) size += sizeOfRow(row);
  for (const row of bulk ?? []) size += sizeOfRow(row);
  return size;
}

function sizeOfRow([ev]: WireRow): number {
  return rowOverhead + ev[evAt.body].length + ev[evAt.event].length;
}

export const holdsAlarm = (commit: Commit): boolean => commit.rows.some((row) => row.lane === ('alarm' satisfies Lane));

export function eventRecord(wire: WireRecord): EventRecord {
  return {
    seq: wire.seq,
    event: publicEvent(wire),
    delivery: wire.delivery,
    media: wire.media,
    ...(wire.at === null ? {} : { deliveredAt: wire.at }),
    ...(wire.tries === null ? {} : { tries: wire.tries }),
    ...(wire.reason === null ? {} : { reason: wire.reason }),
  };
}

export function parkedRecord(wire: WireParked): ParkedRecord {
  const { eventClass: _class, partition: _partition, clock: _clock, ...record } = wire;
  return { ...record, event: publicEvent(wire) };
}

/** Events whose text cannot be read get the number of their row. */
export async function withNumbers<R extends EventRecord | ParkedRecord>(
  records: R[],
  store: Pick<NumberStore, 'numbersOf'>,
): Promise<R[]> {
  const unread = records.filter(({ event }) => isUnread(event)).map(({ seq }) => seq);
  if (unread.length === 0) return records;
  const numbers = await store.numbersOf(unread);
  return records.map((record) => {
    const number = numbers[unread.indexOf(record.seq)];
    return number === undefined ? record : { ...record, event: { ...record.event, seq: number } };
  });
}

/** The record of exactly this number, in what is read from its row on: a silent event that shares the number comes after it (safety 4). */
export async function ofNumber<R extends EventRecord | ParkedRecord>(
  number: number,
  store: Pick<NumberStore, 'rowOf'>,
  read: (query: { limit: number; beforeSeq: number }) => Promise<R[]>,
): Promise<R | undefined> {
  const row = await store.rowOf(number);
  const [record] = await read({ limit: 1, beforeSeq: row + 1 });
  return record?.seq === row && record.event.seq === number ? record : undefined;
}
