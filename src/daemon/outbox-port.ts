import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { withTimes } from '#cloud/contract/index.ts';
import { type DeliveryState, helpFor } from '#cloud/delivery/index.ts';
import { SitewardError } from '#errors.ts';
import type { OutboxDocument, OutboxPort, ParkedEntry, WaitingEntry, WaitingQuery } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import { coarseBytes } from '#lib/coarse-bytes.ts';
import { never, withDeadline } from '#lib/wait.ts';
import { auditNotes } from '#site/audit-notes.ts';
import { type Asker, isoTime, lanes, type SiteEvent } from '#site/model/index.ts';
import type { OutboxStats, ParkedRecord, PendingRow, Store } from '#site/store/index.ts';
import type { Note } from './audit-wiring.ts';
import { outboxHints } from './hints.ts';
import { type House, running } from './house.ts';
import type { OutboxCount } from './outbox-count.ts';
import type { PartReport } from './slots.ts';

export interface OutboxPortOptions {
  readonly house: House;
  readonly count: OutboxCount;
  readonly clock: Clock;
  readonly log: Logger;
  readonly note: Note;
  readonly health: () => readonly PartReport[];
  /** The state directory. */
  readonly dir: () => string;
  readonly hasCloud: () => boolean;
}

/** A disk that hangs must not hang the answer that tells of it. */
const askMs = 1000;
const files = ['site.db', 'bulk.db'] as const;
/** Rows of each lane per look into the store, and looks per page. */
const perTake = 100;
const maxTakes = 20;
/** Questions to the store at the same time, so that its queue stays free for events. */
const atOnce = 32;

/** Numbers that stand in one log line. */
const logged = 50;

/** The outbox as the control socket shows and changes it. */
export function outboxPort(options: OutboxPortOptions): OutboxPort {
  const { house } = options;
  const store = () => running(house, 'store');

  /** All of them, or `not_parked` with the numbers of those that are not. */
  async function allParked(seqs: readonly number[]): Promise<readonly ParkedRecord[]> {
    const wanted = [...new Set(seqs)];
    const records: ParkedRecord[] = [];
    const missing: number[] = [];
    for (let from = 0; from < wanted.length; from += atOnce) {
      const some = wanted.slice(from, from + atOnce);
      const found = await Promise.all(some.map((seq) => store().parkedOf(seq)));
      records.push(...found.filter((record) => record !== undefined));
      missing.push(...some.filter((_, index) => found[index] === undefined));
    }
    if (missing.length > 0) throw notParked(missing);
    return records;
  }

  /** Here, not where it was asked for: who asked may have gone when the disk has done it. */
  function note({ client }: Asker, events: readonly ParkedRecord[], count: number, text: string): void {
    options.log.warn({ actor: client, count, seqs: numbersOf(events.slice(0, logged)) }, text);
  }

  return {
    show: () => outboxDocument(options),
    history: () => house.outboxDay?.shown() ?? { every_s: 300, items: [] },
    waiting: (query) => waitingPage(store(), query),

    async parked({ limit, before }) {
      const beforeSeq = before === undefined ? {} : { beforeSeq: await store().rowOf(before) };
      const records = await store().parked({ limit, ...beforeSeq });
      return records.map(parkedEntry);
    },

    async parkedOne(seq) {
      const record = await store().parkedOf(seq);
      if (record === undefined) throw notParked([seq]);
      // Only a row that still fits its checksum is sent.
      const row = await store().row(record);
      return { ...parkedEntry(record), cloud_event: row === undefined ? null : sentNow(row, options) };
    },

    async retry({ seqs, by }) {
      const wanted = await allParked(seqs);
      // Whether a failed one reached the disk is not known; to read anew costs nothing.
      const retried = await store()
        .retryParked(wanted)
        .finally(() => house.delivery?.retried());
      note(by, wanted, retried, 'parked events were put back in line');
      await options.note(auditNotes.outbox(by, 'outbox_retry', numbersOf(wanted), retried));
      return retried;
    },

    async drop({ seqs, by }) {
      const wanted = await allParked(seqs);
      const dropped = await store().dropParked(wanted);
      note(by, wanted, dropped, 'parked events were given up');
      await options.note(auditNotes.outbox(by, 'outbox_drop', numbersOf(wanted), dropped));
      return dropped;
    },

    async gaps(limit) {
      const found = await store().gaps({ limit });
      const numbers = await store().numbersOf(found.flatMap(({ seqFrom, seqTo }) => [seqFrom, seqTo]));
      return found.map(({ lane, seqFrom, seqTo, count, why, at, reported }, index) => ({
        lane,
        ...{ seq_from: numbers[2 * index] ?? seqFrom, seq_to: numbers[2 * index + 1] ?? seqTo },
        ...{ count, why, at: isoTime(at), reported },
      }));
    },
  };
}

const numbersOf = (records: readonly ParkedRecord[]): readonly number[] => records.map(({ event }) => event.seq);

const named = 20;

function notParked(seqs: readonly number[]): SitewardError {
  const more = seqs.length > named ? ` and ${seqs.length - named} more` : '';
  const list = seqs.slice(0, named).join(', ');
  return new SitewardError(
    'not_parked',
    `not parked: ${list}${more}. Nothing was done; "siteward outbox parked" lists what is`,
    { facts: { count: seqs.length } },
  );
}

function parkedEntry({ lane, event, at, tries, status, reason }: ParkedRecord): ParkedEntry {
  return {
    ...{ seq: event.seq, lane, event, at: isoTime(at), tries },
    ...(status !== undefined && { status }),
    reason,
    ...helpFor(status, reason),
  };
}

/** Without a cloud there is nobody who would know a better time. */
function sentNow(row: PendingRow, { house, clock }: OutboxPortOptions): Record<string, unknown> {
  const text = house.delivery?.preview(row) ?? withTimes(row.body, isoTime(row.wall), isoTime(clock.wall()));
  return JSON.parse(text) as Record<string, unknown>;
}

async function waitingPage(store: Store, query: WaitingQuery): ReturnType<OutboxPort['waiting']> {
  const from = query.lane === undefined ? lanes : [query.lane];
  const items: WaitingEntry[] = [];
  // Rows up to the one before the first with a higher number were seen.
  let cursor = query.after === 0 ? 0 : (await store.rowOf(query.after + 1)) - 1;
  const shown = async (row: number) => (await store.numbersOf([row]))[0] ?? row;
  for (let takes = 0; takes < maxTakes; takes += 1) {
    const slices = await Promise.all(from.map((lane) => store.take(lane, cursor, perTake)));
    const ends = slices.flatMap((rows) => rows.at(-1)?.seq ?? []);
    if (ends.length === 0) return { items, next_after: null };
    // Above the lowest end not every lane was looked at; what lies there comes again with the next slice.
    const end = Math.min(...ends);
    const rows = slices.flat().filter(({ seq }) => seq <= end);
    for (const row of rows.sort((a, b) => a.seq - b.seq)) {
      if (row.silent === true) continue;
      cursor = row.seq;
      const { payload } = JSON.parse(row.body) as { payload: SiteEvent };
      if (query.partition !== undefined && payload.partition !== query.partition) continue;
      items.push({ seq: payload.seq, lane: row.lane, event: payload });
      if (items.length === query.limit) return { items, next_after: payload.seq };
    }
    cursor = end;
  }
  return { items, next_after: await shown(cursor) };
}

async function outboxDocument(options: OutboxPortOptions): Promise<OutboxDocument> {
  const { house, clock } = options;
  const [stats, disk] = await Promise.all([options.count(), diskOf(options.dir())]);
  const reportOf = (part: string) => options.health().find(({ name }) => name === part);
  const found = reportOf('store');
  const unreadable = typeof stats === 'string' ? { state: 'down' as const, reason: stats } : undefined;
  const state = house.delivery?.state();
  const document = {
    at: isoTime(clock.wall()),
    lanes: typeof stats === 'string' ? [] : lanes.map((lane) => laneOf(stats, lane)),
    media: typeof stats === 'string' ? { waiting: 0, failed: 0 } : mediaOf(stats),
    store: {
      state: unreadable?.state ?? found?.state ?? 'down',
      ...reasonOf(found?.reason ?? unreadable?.reason),
    },
    disk: { ...disk, ...levelOf(house.store) },
    link: options.hasCloud() ? linkOf(state ?? reportOf('delivery')?.reason, clock) : { state: 'none' as const },
    sending: {
      in_flight: state?.inFlight ?? 0,
      aside: state?.aside ?? 0,
      memory_only: state?.direct ?? 0,
      per_min: state?.perMin ?? 0,
    },
  };
  return { ...document, hints: outboxHints(document) };
}

function laneOf({ pending, lanes: byLane }: OutboxStats, lane: PendingRow['lane']): OutboxDocument['lanes'][number] {
  const { oldest, parked, lost } = byLane[lane];
  return { lane, waiting: pending[lane], oldest: oldest === undefined ? null : isoTime(oldest), parked, lost };
}

/** The level is what the store acts by; the bytes beside it are those of this moment. */
const levelOf = (store: Store | undefined) => (store === undefined ? {} : { level: store.storage().level });

const mediaOf = ({ mediaPending, mediaFailed }: OutboxStats) => ({ waiting: mediaPending, failed: mediaFailed });

const reasonOf = (reason: string | undefined) => (reason === undefined ? {} : { reason });

/** Of a delivery that could not be made only the reason is known, if that. */
function linkOf(delivery: DeliveryState | string | undefined, clock: Clock): OutboxDocument['link'] {
  if (typeof delivery !== 'object') return { state: 'unknown', ...reasonOf(delivery) };
  const { link, breaker, trouble, reason, heldMs, nextTryMs } = delivery;
  return {
    state: link,
    ...reasonOf(reason),
    ...(trouble !== undefined && { trouble }),
    breaker,
    ...(heldMs !== undefined && { since: isoTime(clock.wall() - heldMs) }),
    ...(nextTryMs !== undefined && { next_try_s: Math.ceil(nextTryMs / 1000) }),
  };
}

async function diskOf(dir: string): Promise<OutboxDocument['disk']> {
  const bytes = (name: string) =>
    stat(join(dir, name))
      .then(({ size }) => coarseBytes(size))
      .catch(() => 0);
  const read = async () => ({
    files: await Promise.all(
      files.map(async (name) => ({ name, bytes: await bytes(name), wal_bytes: await bytes(`${name}-wal`) })),
    ),
    system: await statfs(dir),
  });
  const found = await withDeadline(askMs, never(), read, 'looking at the disk').catch(() => undefined);
  return {
    dir,
    files: found?.files ?? [],
    free_bytes: found === undefined ? null : coarseBytes(found.system.bavail * found.system.bsize),
    total_bytes: found === undefined ? null : found.system.blocks * found.system.bsize,
  };
}
