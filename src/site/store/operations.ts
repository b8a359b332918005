import type { Lane } from '#site/model/index.ts';
import type { BulkFile } from './bulk-file.ts';
import { type FileName, fileOf, laneIndex } from './lanes.ts';
import type { StoreLimits } from './limits.ts';
import { Numbers } from './numbers.ts';
import type { StoreAnswers, StoreOp, StoreRequest, WireRow } from './protocol.ts';
import { audit, events, gaps, media, newest, ofLane, type Sources, stats, take } from './queries.ts';
import type { SiteFile } from './site-file.ts';
import { synchronousOf } from './sqlite.ts';
import type { StoredState } from './state-rows.ts';
import type { EventAt } from './types.ts';

type Ask<Op extends StoreOp> = Extract<StoreRequest, { op: Op }>;

interface Read<Op extends StoreOp> {
  readonly answer: (request: Ask<Op>, sources: Sources) => StoreAnswers[Op];
}

/** One transaction of one file, for the requests in it. */
interface Writing {
  readonly limits: StoreLimits;
  /** Rows to be written together, at the latest before anything that is no commit. */
  readonly rows: WireRow[];
  /** Of several states only the newest is written. */
  newest: StoredState | undefined;
}

interface Write<Request> {
  readonly touches: (request: Request, name: FileName) => boolean;
  /**
   * Inside a transaction of a file it touches, `site.db` first; may be repeated. The answer to the request is the sum
   * of what it returns for both files, if anything.
   */
  readonly apply: (file: SiteFile | BulkFile, request: Request, writing: Writing) => number | undefined;
}

/** Items that each lie in the file of their lane. */
function perLane<Request, Item extends { readonly lane: Lane }>(
  items: (request: Request) => readonly Item[],
  apply: (file: SiteFile | BulkFile, item: Item) => void,
): Write<Request> {
  return {
    touches: (request, name) => inFile(name, items(request)).length > 0,
    apply(file, request) {
      for (const item of inFile(file.name, items(request))) apply(file, item);
      return undefined;
    },
  };
}

/** Events that each lie in the file of their lane; answers how many were found. */
function perEvent<Request extends { readonly events: readonly EventAt[] }>(
  apply: (file: SiteFile | BulkFile, seq: number, request: Request) => boolean,
): Write<Request> {
  return {
    touches: ({ events }, name) => inFile(name, events).length > 0,
    apply: (file, request) => inFile(file.name, request.events).filter(({ seq }) => apply(file, seq, request)).length,
  };
}

const inFile = <Item extends { readonly lane: Lane }>(name: FileName, items: readonly Item[]): readonly Item[] =>
  items.filter(({ lane }) => fileOf(lane) === name);

function inSite<Request>(apply: (file: SiteFile, request: Request) => void): Write<Request> {
  return {
    touches: (_, name) => name === 'site',
    apply(file, request) {
      if (file.name === 'site') apply(file, request);
      return undefined;
    },
  };
}

function inBulk<Request>(apply: (file: BulkFile, request: Request, limits: StoreLimits) => void): Write<Request> {
  return {
    touches: (_, name) => name === 'bulk',
    apply(file, request, { limits }) {
      if (file.name === 'bulk') apply(file, request, limits);
      return undefined;
    },
  };
}

const commit: Write<Ask<'commit'>> = {
  touches(request, name) {
    const { site, bulk, arming, state, reported, audit: told, verifications } = request.commit;
    if (reported?.some(({ lane }) => fileOf(lane) === name) === true) return true;
    if (name === 'bulk') return bulk !== null;
    return [site, arming, state, told, verifications].some((part) => part !== null);
  },
  apply(file, request, writing) {
    const { order, site, bulk, arming, state, reported, audit: told, verifications } = request.commit;
    writing.rows.push(...((file.name === 'site' ? site : bulk) ?? []));
    for (const mark of reported ?? []) if (fileOf(mark.lane) === file.name) file.outbox.gaps.reported(mark);
    if (file.name === 'bulk') return undefined;
    if (arming !== null) file.addArming(arming);
    if (told !== null) file.audit.add(order, told);
    if (verifications !== null) file.setVerifications(verifications);
    if (state !== null && order >= (writing.newest?.order ?? 0)) writing.newest = { order, pieces: state };
    return undefined;
  },
};

/**
 * Everything the store thread can be asked. A new operation is its type in `protocol.ts`, a row here, and a method of
 * `Store`.
 */
const operations: { readonly [Op in StoreOp]: Read<Op> | Write<Ask<Op>> } = {
  commit,
  settle: perLane(
    ({ verdicts }) => verdicts,
    ({ outbox }, verdict) => outbox.settle(verdict),
  ),
  updateMedia: perLane(
    ({ updates }) => updates,
    ({ outbox }, update) => outbox.updateMedia(update),
  ),
  addGap: perLane(
    ({ gap }) => [gap],
    ({ outbox }, gap) => outbox.gaps.add({ ...gap, lane: laneIndex(gap.lane) }),
  ),
  gapsReported: perLane(
    (request) => request.gaps,
    ({ outbox }, mark) => outbox.gaps.reported(mark),
  ),
  retryParked: perEvent(({ outbox }, seq) => outbox.retry(seq)),
  dropParked: perEvent(({ outbox }, seq, { at }) => outbox.dropParked(seq, at)),
  setPlaybacks: inSite((site, { rows }) => site.playbacks.set(rows)),
  addAnchor: inSite((site, { anchor }) => site.addAnchor(anchor)),
  remember: inBulk((bulk, { room, key, value }, limits) => bulk.remember(room, key, value, limits)),
  forget: inBulk((bulk, { room, key }) => bulk.forget(room, key)),

  take: { answer: take },
  before: { answer: ({ orderKey, seq }, { site }) => site.reader.before(orderKey, seq) },
  row: { answer: ({ lane, seq }, sources) => ofLane(lane, sources)?.reader.row(seq) },
  media: { answer: media },
  parked: {
    answer: ({ beforeSeq, limit }, sources) =>
      newest(sources, ({ reader }) => reader.parkedRows(beforeSeq, limit), limit),
  },
  gaps: { answer: gaps },
  anchors: { answer: (_, { site }) => site.anchors() },
  playbacks: { answer: (_, { site }) => site.playbacks.all() },
  verifications: { answer: (_, { site }) => site.verifications() },
  events: { answer: ({ query }, sources) => events(query, sources) },
  arming: { answer: ({ partition, limit }, { site }) => site.arming(partition, limit) },
  audit: { answer: audit },
  auditExported: {
    touches: (_, name) => name === 'site',
    apply: (file, { last }) => (file.name === 'site' && file.audit.wasExported(last) ? 1 : 0),
  },
  inputs: { answer: ({ limit }, { bulk }) => bulk?.inputs(limit) ?? [] },
  inputsAfter: { answer: ({ after, limit }, { bulk }) => bulk?.inputsAfter(after, limit) ?? [] },
  keys: { answer: ({ room }, { bulk }) => bulk?.keys(room) ?? [] },
  recall: { answer: ({ room, key }, { bulk }) => bulk?.recall(room, key) },
  hold: {
    answer({ isOn }, { hold }) {
      if (isOn) return hold.take();
      hold.release();
      return false;
    },
  },
  stats: { answer: (_, sources) => stats(sources) },
  synchronous: {
    answer: (_, { site, bulk }) => ({
      site: synchronousOf(site.db),
      bulk: bulk === undefined ? 0 : synchronousOf(bulk.db),
    }),
  },
  rowOf: { answer: ({ number }, sources) => numbersIn(sources).rowOf(number) },
  numbersOf: {
    answer({ seqs }, sources) {
      const numbers = numbersIn(sources);
      return seqs.map((seq) => numbers.numberOf(seq));
    },
  },
};

const numbersIn = ({ site, bulk }: Sources) => new Numbers([site.db, ...(bulk === undefined ? [] : [bulk.db])]);

/** The compiler cannot know that a request and the row of its own name fit together. */
const operationOf = ({ op }: StoreRequest) => operations[op] as Read<StoreOp> | Write<StoreRequest>;

export const isRead = (request: StoreRequest): boolean => 'answer' in operationOf(request);

/** False for what concerns silent events alone: its writing stands in no count (safety 4). */
export function isShown(request: StoreRequest): boolean {
  if (request.op === 'commit') return !request.commit.silent;
  if (request.op === 'settle') return request.verdicts.some(({ silent }) => silent !== true);
  if (request.op === 'updateMedia') return request.updates.some(({ silent }) => silent !== true);
  return true;
}

export function touches(request: StoreRequest, name: FileName): boolean {
  const operation = operationOf(request);
  return 'touches' in operation && operation.touches(request, name);
}

export function answerRead(request: StoreRequest, sources: Sources): StoreAnswers[StoreOp] {
  const operation = operationOf(request);
  if (!('answer' in operation)) throw new TypeError(`${request.op} is not a read`);
  return operation.answer(request, sources);
}

export interface Work {
  readonly request: StoreRequest;
  /** What each file answered. */
  readonly values: Partial<Record<FileName, number | undefined>>;
}

/** Inside one transaction of the file, which all of `works` touch. Rows of commits that follow each other go together. */
export function applyWrites(file: SiteFile | BulkFile, works: readonly Work[], limits: StoreLimits): void {
  const writing: Writing = { limits, rows: [], newest: undefined };
  for (const { request, values } of works) {
    if (request.op !== 'commit') file.outbox.insert(writing.rows.splice(0));
    const operation = operationOf(request);
    if ('apply' in operation) values[file.name] = operation.apply(file, request, writing);
  }
  file.outbox.insert(writing.rows);
  if (file.name === 'site' && writing.newest !== undefined) {
    file.setState(writing.newest);
    if (file.meta('lost') === '1') file.setMeta('lost', '0');
  }
}

/** What the requester is told of a write. */
export function answerOf({ values: { site, bulk } }: Work): number | undefined {
  return site === undefined && bulk === undefined ? undefined : (site ?? 0) + (bulk ?? 0);
}
