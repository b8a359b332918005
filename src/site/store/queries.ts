import type { Lane } from '#site/model/index.ts';
import type { BulkFile } from './bulk-file.ts';
import type { Hold } from './hold.ts';
import { type FileName, fileOf, lanePick } from './lanes.ts';
import type { EventsQuery, StoreAnswers, StoreOp, StoreRequest } from './protocol.ts';
import { damagedReason } from './reader.ts';
import type { SiteFile } from './site-file.ts';
import type { Durably } from './transactions.ts';
import type { Gap, OutboxStats } from './types.ts';
import type { StampedStats } from './waited.ts';

/** Damaged events parked in one transaction; the others are met again. */
const parkedAtOnce = 1000;

type Ask<Op extends StoreOp> = Extract<StoreRequest, { op: Op }>;

/** What a read is answered from. */
export interface Sources {
  readonly site: SiteFile;
  /** Undefined while `bulk.db` is away: what people see then comes from `site.db` alone. */
  readonly bulk: BulkFile | undefined;
  readonly bytes: () => OutboxStats['bytes'];
  readonly durably: Durably;
  readonly hold: Hold;
  readonly wall: () => number;
  /** A file refused what a read had to write. */
  readonly failed: (error: unknown, file: FileName) => void;
}

/** The file that holds the lane; undefined while it is away. */
export const ofLane = (lane: Lane, { site, bulk }: Sources): SiteFile | BulkFile | undefined =>
  fileOf(lane) === 'site' ? site : bulk;

/**
 * The one read that writes: an event that does not fit its checksum is parked where it is met. On a card that takes no
 * writes it is met again later; the others are given out all the same.
 */
export function take({ lane, afterSeq, limit }: Ask<'take'>, sources: Sources): StoreAnswers['take'] {
  const file = ofLane(lane, sources);
  if (file === undefined) return [];
  const { rows, damaged } = file.reader.take(lane, afterSeq, limit);
  if (damaged.length === 0) return rows;
  const verdict = { lane, verdict: 'parked', at: sources.wall(), tries: 0, status: undefined } as const;
  try {
    sources.durably(file, () => {
      for (const seq of damaged.slice(0, parkedAtOnce)) file.outbox.settle({ ...verdict, seq, reason: damagedReason });
    });
  } catch (error) {
    sources.failed(error, file.name);
  }
  return rows;
}

export function media({ states, limit }: Ask<'media'>, { site, bulk }: Sources): StoreAnswers['media'] {
  const rows = [...site.reader.media(states, limit), ...(bulk?.reader.media(states, limit) ?? [])];
  return rows.sort((a, b) => a.seq - b.seq || a.index - b.index).slice(0, limit);
}

export function audit(query: Ask<'audit'>, { site, bulk }: Sources): StoreAnswers['audit'] {
  const { head, base, foreign, ...found } = site.audit.read(query);
  const heads = [head, bulk?.auditHead].filter((known) => known !== undefined);
  return { ...found, ...(base !== undefined && { base }), ...(foreign !== undefined && { foreign }), heads };
}

/** Rows of both files, newest first. */
export function newest<R extends { readonly seq: number }>(
  { site, bulk }: Sources,
  rows: (file: SiteFile | BulkFile) => R[],
  limit: number,
): R[] {
  const all = [...rows(site), ...(bulk === undefined ? [] : rows(bulk))];
  return all.sort((a, b) => b.seq - a.seq).slice(0, limit);
}

export function gaps(query: Ask<'gaps'>, { site, bulk }: Sources): Gap[] {
  // Whoever reads them to report them must not find them grown afterwards.
  if (query.unreported) for (const file of [site, bulk]) file?.outbox.gaps.seal();
  const all = [...site.reader.gaps(query), ...(bulk?.reader.gaps(query) ?? [])];
  return all.sort((a, b) => b.at - a.at).slice(0, query.limit);
}

/** Merges a slice of both files. Below the higher of both floors one of them was not looked at yet. */
export function events(query: EventsQuery, { site, bulk }: Sources) {
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

export function stats({ site, bulk, bytes }: Sources): StampedStats {
  const files = bulk === undefined ? [site] : [site, bulk];
  const perFile = files.map((file) => file.reader.byLane());
  const pictures = files.map((file) => file.reader.mediaCounts());
  const byLane = lanePick((lane) => ({
    // A lane lies in one file only.
    oldest: perFile.map((one) => one.oldest[lane]).find((found) => found !== undefined),
    parked: total(perFile.map((one) => one.parked[lane])),
    lost: total(perFile.map((one) => one.lost[lane])),
  }));
  const each = Object.values(byLane);
  return {
    pending: lanePick((lane) => total(files.map((file) => file.outbox.counts.pending[lane]))),
    lanes: byLane,
    parked: total(each.map(({ parked }) => parked)),
    mediaPending: total(pictures.flatMap(({ planned, ready }) => [planned, ready])),
    mediaFailed: total(pictures.map(({ failed }) => failed)),
    lost: total(each.map(({ lost }) => lost)),
    bytes: bytes(),
  };
}

const total = (counts: readonly (number | undefined)[]): number =>
  counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
