import type { Lane } from '#site/model/index.ts';
import type { BulkFile } from './bulk-file.ts';
import type { StoreAnswers, StoreOp, StoreRequest } from './protocol.ts';
import type { SiteFile } from './site-file.ts';
import { synchronousOf } from './sqlite.ts';
import type { Gap, OutboxStats } from './types.ts';
import { fileOf, lanePick } from './writes.ts';

const writes: ReadonlySet<StoreOp> = new Set<StoreOp>([
  'commit',
  'settle',
  'retryParked',
  'dropParked',
  'addGap',
  'gapsReported',
  'addAnchor',
  'updateMedia',
  'remember',
  'forget',
]);
export const isRead = ({ op }: StoreRequest): boolean => !writes.has(op);

interface Sources {
  readonly site: SiteFile;
  /** Undefined while `bulk.db` is away: what people see then comes from `site.db` alone. */
  readonly bulk: BulkFile | undefined;
  readonly bytes: () => OutboxStats['bytes'];
}

export function answerRead(request: StoreRequest, sources: Sources): StoreAnswers[StoreOp] {
  const { site, bulk } = sources;
  switch (request.op) {
    case 'take':
      return take(fileOf(request.lane) === 'site' ? site : bulk, request);
    case 'before':
      return site.reader.before(request.orderKey, request.seq);
    case 'row':
      return (fileOf(request.lane) === 'site' ? site : bulk)?.reader.row(request.seq);
    case 'media':
      return media(request, sources);
    case 'parked':
      return newest(sources, (file) => file.reader.parkedRows(request.beforeSeq, request.limit), request.limit);
    case 'gaps':
      return gaps(request, sources);
    case 'anchors':
      return site.anchors();
    case 'events':
      return events(request.query, sources);
    case 'arming':
      return site.arming(request.partition, request.limit);
    case 'inputs':
      return bulk?.inputs(request.limit) ?? [];
    case 'recall':
      return bulk?.recall(request.room, request.key);
    case 'stats':
      return stats(sources);
    case 'synchronous':
      return { site: synchronousOf(site.db), bulk: bulk === undefined ? 0 : synchronousOf(bulk.db) };
    default:
      throw new TypeError(`${request.op} is not a read`);
  }
}

function take(file: SiteFile | BulkFile | undefined, request: { lane: Lane; afterSeq: number; limit: number }) {
  if (file === undefined) return [];
  const { lane, afterSeq, limit } = request;
  const { rows, damaged } = file.reader.take(lane, afterSeq, limit);
  if (damaged.length > 0) {
    const at = Date.now();
    const reason = 'the stored event does not fit its checksum';
    file.db
      .transaction(() => {
        for (const seq of damaged) {
          file.outbox.settle({ seq, lane, verdict: 'parked', at, tries: 0, status: undefined, reason });
        }
      })
      .immediate();
  }
  return rows;
}

function media(request: Extract<StoreRequest, { op: 'media' }>, { site, bulk }: Sources): StoreAnswers['media'] {
  const { states, limit } = request;
  const rows = [...site.reader.media(states, limit), ...(bulk?.reader.media(states, limit) ?? [])];
  return rows.sort((a, b) => a.seq - b.seq || a.index - b.index).slice(0, limit);
}

/** Rows of both files, newest first. */
function newest<R extends { readonly seq: number }>(
  { site, bulk }: Sources,
  rows: (file: SiteFile | BulkFile) => R[],
  limit: number,
): R[] {
  const all = [...rows(site), ...(bulk === undefined ? [] : rows(bulk))];
  return all.sort((a, b) => b.seq - a.seq).slice(0, limit);
}

function gaps({ limit, unreported }: Extract<StoreRequest, { op: 'gaps' }>, { site, bulk }: Sources): Gap[] {
  // Whoever reads them to report them must not find them grown afterwards.
  if (unreported) for (const file of [site, bulk]) file?.outbox.sealGap();
  const all = [...site.reader.gaps(limit, unreported), ...(bulk?.reader.gaps(limit, unreported) ?? [])];
  return all.sort((a, b) => b.at - a.at).slice(0, limit);
}

/** Merges a slice of both files. Below the higher of both floors one of them was not looked at yet. */
function events(query: Extract<StoreRequest, { op: 'events' }>['query'], { site, bulk }: Sources) {
  const slices = [site, bulk].flatMap((file) => (file === undefined ? [] : [file.reader.events(query)]));
  const floor = Math.max(...slices.map((slice) => slice.floor));
  const merged = slices
    .flatMap((slice) => slice.records)
    .filter((record) => record.seq >= floor)
    .sort((a, b) => b.seq - a.seq);
  const records = merged.slice(0, query.limit);
  const last = records.at(-1)?.seq ?? 0;
  return { records, next: merged.length > records.length ? last : floor };
}

function stats({ site, bulk, bytes }: Sources): OutboxStats {
  const files = bulk === undefined ? [site] : [site, bulk];
  const sum = (count: (file: SiteFile | BulkFile) => number) => files.reduce((total, file) => total + count(file), 0);
  const perFile = files.map((file) => file.reader.byLane());
  const byLane = lanePick((lane) => ({
    oldest: earliest(perFile.map((one) => one.oldest[lane])),
    parked: total(perFile.map((one) => one.parked[lane])),
    lost: total(perFile.map((one) => one.lost[lane])),
  }));
  const each = Object.values(byLane);
  return {
    pending: lanePick((lane) => sum((file) => file.outbox.counts.pending[lane] ?? 0)),
    lanes: byLane,
    parked: total(each.map(({ parked }) => parked)),
    oldest: earliest(each.map(({ oldest }) => oldest)),
    mediaPending: sum((file) => file.reader.mediaPending()),
    mediaFailed: sum((file) => file.reader.mediaFailed()),
    lost: total(each.map(({ lost }) => lost)),
    bytes: bytes(),
  };
}

const total = (counts: readonly (number | undefined)[]): number =>
  counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);

function earliest(walls: readonly (number | undefined)[]): number | undefined {
  const known = walls.filter((wall) => wall !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
