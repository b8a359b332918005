import { lanes } from '#site/model/index.ts';
import type { BulkFile } from './bulk-file.ts';
import { type FileName, fileOf, firstLaneOf, laneAt } from './lanes.ts';
import type { SalvageProgress, Unreadable } from './salvage.ts';
import type { SideFile, WaitingMark } from './side.ts';
import type { SiteFile } from './site-file.ts';
import type { Durably } from './transactions.ts';

/** A run of events that the side file knows of and the database does not. `lane` is its index. */
export interface Missing {
  readonly lane: number;
  readonly seqFrom: number;
  readonly seqTo: number;
  readonly count: number;
}

/** Highest seq the file knows of: an event, one that was given up, or one of a file it was filled from. */
export function topOf({ db }: Pick<SiteFile, 'db'>): number {
  const sql = `SELECT max(coalesce((SELECT max(seq) FROM ev), 0), coalesce((SELECT max(seq_to) FROM gap), 0),
    coalesce((SELECT CAST(v AS INTEGER) FROM meta WHERE k = 'filled'), 0))`;
  return Number(db.prepare(sql).pluck().get());
}

/** The file now holds all that was to be had of one that was set aside: nothing up to `last` is missing from it. */
export function noteFilled({ db }: SiteFile | BulkFile, last: number): void {
  db.prepare(
    `INSERT INTO meta(k, v) VALUES('filled', CAST(@last AS INTEGER))
     ON CONFLICT(k) DO UPDATE SET v = max(CAST(v AS INTEGER), CAST(@last AS INTEGER))`,
  ).run({ last });
}

/** What a file held when it was opened, before anything was added. */
export interface Before {
  /** See `topOf`. */
  readonly top: number;
  readonly fresh: boolean;
  /** Numbers that were jumped over. */
  readonly skipped: number;
}
export const nothingBefore: Before = { top: 0, fresh: false, skipped: 0 };

/** Every file has its boot id from its first start on. */
export function beforeOf(file: SiteFile | BulkFile): Before {
  const meta = (key: string) => file.db.prepare('SELECT v FROM meta WHERE k = ?').pluck().get(key);
  return { top: topOf(file), fresh: meta('boot') === undefined, skipped: Number(meta('skipped') ?? 0) };
}

/**
 * What the side file says of both files. Of one that is not there, or does not tell yet what it lacks (`owes`), what it
 * said before; of a `bulk.db` that goes as a whole, all that is lost with it (`left`).
 */
export function marksOf(options: {
  readonly site: SiteFile;
  readonly bulk: BulkFile | undefined;
  readonly owes: (name: FileName) => boolean;
  readonly left: WaitingMark | undefined;
  readonly before: SideFile | undefined;
}) {
  const { site, bulk, owes, left, before } = options;
  const telling = { site: owes('site') ? undefined : site, bulk: owes('bulk') ? undefined : bulk };
  const last = (name: FileName) => {
    const file = name === 'site' ? site : bulk;
    const said = telling[name] === undefined ? (before?.last?.[name] ?? 0) : 0;
    return Math.max(said, file === undefined ? 0 : topOf(file));
  };
  const waiting = lanes.map((lane, index) => {
    const file = telling[fileOf(lane)];
    if (left !== undefined && fileOf(lane) === 'bulk') return left;
    return file === undefined ? (before?.waiting?.[index] ?? { count: 0, from: 0 }) : waitingOf(file, index);
  });
  const skipped = Number(site.meta('skipped') ?? 0);
  return { last: { site: last('site'), bulk: last('bulk') }, reserved: site.reserved, skipped, waiting };
}

/** Visible events of the lane that the cloud has not: those that wait, and those it refused. */
function waitingOf({ db, outbox }: SiteFile | BulkFile, lane: number): WaitingMark {
  const first = db.prepare<[number], number | null>('SELECT min(seq) FROM pend WHERE lane = ?').pluck().get(lane);
  const refused = db
    .prepare<[number], WaitingMark>(
      `SELECT count(*) AS count, min(seq) AS "from" FROM parked CROSS JOIN ev USING(seq) WHERE ev.lane = ? AND NOT ev.silent`,
    )
    .get(lane);
  const count = (outbox.counts.pending[lane] ?? 0) + (refused?.count ?? 0);
  if (count === 0) return { count: 0, from: 0 };
  const known = [first, refused?.from].filter((seq) => typeof seq === 'number');
  return { count, from: known.length === 0 ? 0 : Math.min(...known) };
}

function countBetween({ db }: SiteFile | BulkFile, from: number, to: number): number {
  return Number(db.prepare('SELECT count(*) FROM ev WHERE seq BETWEEN ? AND ?').pluck().get(from, to));
}

/**
 * A file that is empty, lost its write-ahead log or was put back from an older copy is sound in itself; only the side
 * file, written elsewhere, knows better. A new file lacks what waited when the side file was written; an old one
 * lacks everything above its last event, delivered or not, so that the count is an upper bound there.
 */
export function missingOf(options: {
  name: FileName;
  side: SideFile;
  before: Before;
  /** Numbers above its last that lie in the other file are not missing. */
  other: SiteFile | BulkFile | undefined;
  /** Alarms that came back from their second copy. */
  replayed: number;
}): Missing[] {
  const { side, before, other, replayed } = options;
  const { top, fresh, skipped } = before;
  const last = side.last?.[options.name] ?? 0;
  if (last <= top) return [];
  // Also one that took the place of another and was left before anything of the old one stood in it.
  if (fresh || top === 0) {
    const own = (side.waiting ?? []).map(({ count, from }, lane) => ({
      lane,
      seqFrom: from,
      seqTo: last,
      count: lane === 0 ? Math.max(0, count - replayed) : count,
    }));
    return own.filter(({ lane, count }) => count > 0 && fileOf(laneAt(lane)) === options.name);
  }
  const numbers = last - top - (other === undefined ? 0 : countBetween(other, top + 1, last));
  const count = Math.max(1, numbers - Math.max(0, (side.skipped ?? 0) - skipped) - replayed);
  return [{ lane: firstLaneOf(options.name), seqFrom: top + 1, seqTo: last, count }];
}

/**
 * Of a set that cannot be opened, or is gone: what waited in it and was neither brought back, from it or from elsewhere,
 * nor counted.
 */
export function unreadIn(
  file: SiteFile | BulkFile,
  { waiting = [], unreadable, last }: Pick<SalvageProgress, 'waiting' | 'unreadable' | 'last'>,
): Unreadable[] {
  const found = file.db
    .prepare('SELECT count(*) FROM ev WHERE lane = ? AND seq BETWEEN ? AND ? AND NOT silent')
    .pluck();
  const own = waiting.flatMap(({ count, from }, lane) => {
    if (count === 0 || fileOf(laneAt(lane)) !== file.name) return [];
    const to = Math.max(last, from);
    const counted = unreadable.filter((one) => one.lane === lane).reduce((sum, one) => sum + one.count, 0);
    return [{ lane, from, to, count: count - counted - Number(found.get(lane, from, to)) }];
  });
  return [...unreadable, ...own.filter(({ count }) => count > 0)];
}

/** As gap records, in one transaction. */
export function addMissing(options: {
  file: SiteFile | BulkFile;
  missing: readonly Missing[];
  at: number;
  durably: Durably;
}): void {
  const { file, missing, at, durably } = options;
  durably(file, () => {
    for (const one of missing) file.outbox.gaps.add({ ...one, why: 'damage', at });
  });
}
