import type { Lane } from '#site/model/index.ts';
import { lanes } from '#site/model/index.ts';
import type { WireCommit, WireRecord, WireRow } from './protocol.ts';
import type { Commit, EventRecord, OutboxRow } from './types.ts';

export function wireCommit(commit: Commit, order: number): WireCommit {
  const site: WireRow[] = [];
  const bulk: WireRow[] = [];
  let maxSeq = 0;
  for (const row of commit.rows) {
    (row.lane === 'activity' ? bulk : site).push(wireRow(row));
    if (row.seq > maxSeq) maxSeq = row.seq;
  }
  const { arming, inputs, state = null } = commit;
  return [order, maxSeq, orNull(site), orNull(bulk), orNull(arming), state, orNull(inputs)];
}

const orNull = <T>(list: readonly T[]): readonly T[] | null => (list.length === 0 ? null : list);

function wireRow(row: OutboxRow): WireRow {
  return [
    row.seq,
    lanes.indexOf(row.lane),
    row.eventId,
    row.orderKey,
    row.mono,
    row.wall,
    row.boot,
    row.clock,
    row.body,
    JSON.stringify(row.event),
    row.event.class,
    row.event.partition ?? null,
    row.toCloud,
    row.silent === true,
    row.media.length === 0
      ? null
      : row.media.map(({ index, kind, camera, offsetMs }) => [index, kind, camera, offsetMs] as const),
  ];
}

const rowOverhead = 256;

/** Characters a commit holds in the queue, about. */
export function sizeOfCommit([, , site, bulk, arming, state, inputs]: WireCommit): number {
  let size = rowOverhead + (state?.length ?? 0) + (arming?.length ?? 0) * rowOverhead;
  for (const line of inputs ?? []) size += line.length;
  for (const row of site ?? []) size += sizeOfRow(row);
  for (const row of bulk ?? []) size += sizeOfRow(row);
  return size;
}

function sizeOfRow([, , , , , , , , body, event]: WireRow): number {
  return rowOverhead + body.length + event.length;
}

export const holdsAlarm = (commit: Commit): boolean => commit.rows.some((row) => row.lane === ('alarm' satisfies Lane));

export function eventRecord(wire: WireRecord): EventRecord {
  return {
    seq: wire.seq,
    event: JSON.parse(wire.event) as EventRecord['event'],
    delivery: wire.delivery,
    media: wire.media,
    ...(wire.at === null ? {} : { deliveredAt: wire.at }),
    ...(wire.tries === null ? {} : { tries: wire.tries }),
    ...(wire.reason === null ? {} : { reason: wire.reason }),
  };
}
