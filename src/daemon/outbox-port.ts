import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { withTimes } from '#cloud/contract/index.ts';
import { helpFor } from '#cloud/delivery/index.ts';
import { describe, SitewardError } from '#errors.ts';
import type { OutboxDocument, OutboxPort, ParkedEntry, WaitingEntry, WaitingQuery } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import { withDeadline } from '#lib/wait.ts';
import { isoTime, lanes, type SiteEvent } from '#site/model/index.ts';
import type { OutboxStats, ParkedRecord, PendingRow, Store } from '#site/store/index.ts';
import type { House } from './house.ts';
import type { PartReport } from './slots.ts';

export interface OutboxPortOptions {
  readonly house: House;
  readonly clock: Clock;
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

/** The outbox as the control socket shows and changes it. */
export function outboxPort(options: OutboxPortOptions): OutboxPort {
  const { house } = options;

  function store(): Store {
    if (house.store === undefined) throw new SitewardError('store_unavailable', 'The store is not running.');
    return house.store;
  }

  /** All of them, or `not_parked` with the numbers of those that are not. */
  async function allParked(seqs: readonly number[]): Promise<readonly number[]> {
    const wanted = [...new Set(seqs)];
    const missing: number[] = [];
    for (let from = 0; from < wanted.length; from += atOnce) {
      const some = wanted.slice(from, from + atOnce);
      const found = await Promise.all(some.map((seq) => parkedAt(store(), seq)));
      missing.push(...some.filter((_, index) => found[index] === undefined));
    }
    if (missing.length > 0) throw notParked(missing);
    return wanted;
  }

  return {
    show: () => outboxDocument(options),
    waiting: (query) => waitingPage(store(), query),

    async parked({ limit, before }) {
      const records = await store().parked({ limit, ...(before !== undefined && { beforeSeq: before }) });
      return records.map(parkedEntry);
    },

    async parkedOne(seq) {
      const record = await parkedAt(store(), seq);
      if (record === undefined) throw notParked([seq]);
      // Only a row that still fits its checksum is sent.
      const row = await store().row(record);
      return { ...parkedEntry(record), cloud_event: row === undefined ? null : sentNow(row, options) };
    },

    async retry({ seqs }) {
      const retried = await store().retryParked(await allParked(seqs));
      house.delivery?.retried();
      return retried;
    },

    drop: async ({ seqs }) => store().dropParked(await allParked(seqs)),

    async gaps(limit) {
      const found = await store().gaps({ limit });
      return found.map(({ lane, seqFrom, seqTo, count, why, at, reported }) => ({
        lane,
        ...{ seq_from: seqFrom, seq_to: seqTo, count, why, at: isoTime(at), reported },
      }));
    },
  };
}

/** The parked event of exactly this number; a silent one is never found (safety 4). */
async function parkedAt(store: Store, seq: number): Promise<ParkedRecord | undefined> {
  const [record] = await store.parked({ limit: 1, beforeSeq: seq + 1 });
  return record?.seq === seq ? record : undefined;
}

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

function parkedEntry({ seq, lane, event, at, tries, status, reason }: ParkedRecord): ParkedEntry {
  return {
    ...{ seq, lane, event, at: isoTime(at), tries },
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
  let cursor = query.after;
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
      items.push({ seq: row.seq, lane: row.lane, event: payload });
      if (items.length === query.limit) return { items, next_after: cursor };
    }
    cursor = end;
  }
  return { items, next_after: cursor };
}

async function outboxDocument(options: OutboxPortOptions): Promise<OutboxDocument> {
  const { house, clock } = options;
  const [stats, disk] = await Promise.all([statsOf(house.store), diskOf(options.dir())]);
  const parts = options.health();
  const store = parts.find(({ name }) => name === 'store');
  const delivery = parts.find(({ name }) => name === 'delivery');
  const unreadable = typeof stats === 'string' ? { state: 'down' as const, reason: stats } : undefined;
  return {
    at: isoTime(clock.wall()),
    lanes: typeof stats === 'string' ? [] : lanes.map((lane) => laneOf(stats, lane)),
    media: typeof stats === 'string' ? { waiting: 0, failed: 0 } : mediaOf(stats),
    store: {
      state: unreadable?.state ?? store?.state ?? 'down',
      ...reasonOf(store?.reason ?? unreadable?.reason),
    },
    disk: { ...disk, ...levelOf(house.store) },
    link: options.hasCloud() ? linkOf(delivery, clock) : { state: 'none' },
    sending: {
      in_flight: count(delivery, 'inFlight'),
      aside: count(delivery, 'aside'),
      memory_only: count(delivery, 'direct'),
    },
  };
}

/** The counts, or why there are none. */
async function statsOf(store: Store | undefined): Promise<OutboxStats | string> {
  if (store === undefined) return 'The store is not running.';
  const never = new AbortController().signal;
  return withDeadline(askMs, never, () => store.stats(), 'counting the outbox').catch(describe);
}

function laneOf({ pending, lanes: byLane }: OutboxStats, lane: PendingRow['lane']): OutboxDocument['lanes'][number] {
  const { oldest, parked, lost } = byLane[lane];
  return { lane, waiting: pending[lane], oldest: oldest === undefined ? null : isoTime(oldest), parked, lost };
}

/** The level is what the store acts by; the bytes beside it are those of this moment. */
const levelOf = (store: Store | undefined) => (store === undefined ? {} : { level: store.storage().level });

const mediaOf = ({ mediaPending, mediaFailed }: OutboxStats) => ({ waiting: mediaPending, failed: mediaFailed });

const reasonOf = (reason: string | undefined) => (reason === undefined ? {} : { reason });

const count = (part: PartReport | undefined, fact: string): number => Number(part?.facts?.[fact] ?? 0);

function linkOf(delivery: PartReport | undefined, clock: Clock): OutboxDocument['link'] {
  const facts = delivery?.facts;
  if (delivery === undefined || facts === undefined) return { state: 'unknown', ...reasonOf(delivery?.reason) };
  const { breaker, trouble, heldMs, nextTryMs } = facts;
  const isHeld = breaker === 'open' || breaker === 'half-open';
  return {
    state: isHeld || facts.link === 'down' ? 'down' : facts.link === 'up' ? 'up' : 'unknown',
    ...reasonOf(delivery.reason),
    ...(typeof trouble === 'string' && { trouble }),
    ...((isHeld || breaker === 'closed') && { breaker }),
    ...(typeof heldMs === 'number' && { since: isoTime(clock.wall() - heldMs) }),
    ...(typeof nextTryMs === 'number' && { next_try_s: Math.ceil(nextTryMs / 1000) }),
  };
}

async function diskOf(dir: string): Promise<OutboxDocument['disk']> {
  const never = new AbortController().signal;
  const bytes = (name: string) =>
    stat(join(dir, name))
      .then(({ size }) => size)
      .catch(() => 0);
  const read = async () => ({
    files: await Promise.all(
      files.map(async (name) => ({ name, bytes: await bytes(name), wal_bytes: await bytes(`${name}-wal`) })),
    ),
    system: await statfs(dir),
  });
  const found = await withDeadline(askMs, never, read, 'looking at the disk').catch(() => undefined);
  return {
    dir,
    files: found?.files ?? [],
    free_bytes: found === undefined ? null : found.system.bavail * found.system.bsize,
    total_bytes: found === undefined ? null : found.system.blocks * found.system.bsize,
  };
}
