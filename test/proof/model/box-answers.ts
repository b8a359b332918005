import type { CommitQueue } from '#site/commit-queue.ts';
import { type Lane, lanes } from '#site/model/index.ts';
import type { EventRecord, PendingRow, Store } from '#site/store/index.ts';
import type { Question } from './box-protocol.ts';
import type { Synchronous } from './history.ts';

const many = 10_000;

const parkedOf = async (store: Store, seqs: readonly number[]) =>
  (await store.parked({ limit: many })).filter(({ seq }) => seqs.includes(seq));

/** What the test asks the box about itself. */
export function answerQuestion(of: {
  store: Store & { synchronous?(): Promise<Synchronous> };
  what: Question | 'synchronous';
  seqs?: readonly number[];
  commits: Pick<CommitQueue, 'waitingRows'>;
}): Promise<unknown> {
  const { store, what, seqs = [] } = of;
  switch (what) {
    case 'synchronous':
      return store.synchronous?.() ?? Promise.resolve({ site: undefined, bulk: undefined });
    case 'stats':
      return store.stats();
    case 'gaps':
      return gapsSeen(store);
    case 'retryParked':
      return parkedOf(store, seqs).then((events) => store.retryParked(events));
    case 'dropParked':
      return parkedOf(store, seqs).then((events) => store.dropParked(events));
    case 'deaf':
      return Promise.resolve();
    case 'quiet':
      return quiet(store, of.commits);
    case 'look':
      return look(store);
  }
}

/**
 * These are several answers, and between them the box stores and gives up. So what stands undelivered is read on both sides of
 * the records: what was there before them also stood before any later loss, and what is there after them was not given up with
 * anything they count.
 */
async function gapsSeen(store: Store) {
  const before = await undelivered(store);
  const gaps = await store.gaps({ limit: many, withSilent: true });
  return { before, gaps, after: await undelivered(store) };
}

async function undelivered(store: Store): Promise<number[]> {
  const refused = await store.parked({ limit: many });
  return [...(await inLine(store)), ...refused.map(({ seq }) => seq)];
}

export type GapsSeen = Awaited<ReturnType<typeof gapsSeen>>;

/** Everything about every event. */
async function look(store: Store) {
  const pending = await inLine(store);
  const events = await every(store);
  const parked = await store.parked({ limit: many });
  const media = await store.media(['planned', 'ready', 'uploaded', 'failed'], many);
  return {
    pending,
    known: events.map(({ seq }) => seq),
    // Silent events stand in no list of parked ones, but in the history of the auditor.
    parked: events.flatMap(({ seq, event: { event_id: eventId }, delivery, reason = '' }) =>
      delivery === 'parked' ? [{ seq, eventId, reason }] : [],
    ),
    parkedShown: parked.map(({ seq }) => seq),
    gaps: await store.gaps({ limit: many, withSilent: true }),
    media,
    anchors: await store.anchors(),
    stats: await store.stats(),
  };
}

/** What is still to come by itself: rows in memory, and whatever damage may still bring to light or back. */
export interface Quiet {
  readonly waitingRows: number;
  readonly isWhole: boolean;
}

async function quiet(
  store: Pick<Store, 'stats' | 'health'>,
  { waitingRows }: Pick<CommitQueue, 'waitingRows'>,
): Promise<Quiet> {
  // The state of the files follows each answer of the store: the second answer comes after the first one's.
  await store.stats();
  await store.stats();
  const { siteOpen, bulkOpen, mending, checking } = store.health().facts ?? {};
  return { waitingRows, isWhole: siteOpen === true && bulkOpen === true && mending === false && checking === false };
}

export type Look = Awaited<ReturnType<typeof look>>;

/** Numbers of the events that wait in the files. */
const inLine = async (store: Store): Promise<number[]> =>
  (await Promise.all(lanes.map((lane) => waiting(store, lane)))).flat();

async function waiting(store: Store, lane: Lane): Promise<number[]> {
  const seqs: number[] = [];
  for (;;) {
    const rows: PendingRow[] = await store.take(lane, seqs.at(-1) ?? 0, 1000);
    if (rows.length === 0) return seqs;
    seqs.push(...rows.map(({ seq }) => seq));
  }
}

async function every(store: Store): Promise<EventRecord[]> {
  const found: EventRecord[] = [];
  for (;;) {
    const beforeSeq = found.at(-1)?.seq;
    const page = await store.events({ limit: 1000, withSilent: true, ...(beforeSeq !== undefined && { beforeSeq }) });
    if (page.length === 0) return found;
    found.push(...page);
  }
}
