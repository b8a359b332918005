import { lanes } from '#site/model/index.ts';
import type { BulkFile } from './bulk-file.ts';
import type { FileName } from './protocol.ts';
import type { SideFile, WaitingMark } from './side.ts';
import type { SiteFile } from './site-file.ts';

/** A run of events that the side file knows of and the database does not. `lane` is its index. */
export interface Missing {
  readonly lane: number;
  readonly seqFrom: number;
  readonly seqTo: number;
  readonly count: number;
}

/** Highest seq the file knows of: an event, or one that was given up. */
function topOf({ db }: SiteFile | BulkFile): number {
  const sql = 'SELECT max(coalesce((SELECT max(seq) FROM ev), 0), coalesce((SELECT max(seq_to) FROM gap), 0))';
  return Number(db.prepare(sql).pluck().get());
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

/** What the side file says of both files; `bulkLast` where `bulk.db` is not open. */
export function marksOf(site: SiteFile, bulk: BulkFile | undefined, bulkLast = 0) {
  return {
    last: { site: topOf(site), bulk: bulk === undefined ? bulkLast : topOf(bulk) },
    reserved: site.reserved,
    skipped: Number(site.meta('skipped') ?? 0),
    waiting: lanes.map((lane, index) => waitingOf(lane === 'activity' ? bulk : site, index)),
  };
}

/** Visible events of the lane that wait. */
function waitingOf(file: SiteFile | BulkFile | undefined, lane: number): WaitingMark {
  const count = file?.outbox.counts.pending[lane] ?? 0;
  if (file === undefined || count === 0) return { count: 0, from: 0 };
  const from = file.db.prepare('SELECT min(seq) FROM pend WHERE lane = ?').pluck().get(lane);
  return { count, from: Number(from ?? 0) };
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
  if (fresh) {
    const own = (side.waiting ?? []).map(({ count, from }, lane) => ({
      lane,
      seqFrom: from,
      seqTo: last,
      count: lane === 0 ? Math.max(0, count - replayed) : count,
    }));
    return own.filter(({ lane, count }) => count > 0 && (lanes[lane] === 'activity') === (options.name === 'bulk'));
  }
  const numbers = last - top - (other === undefined ? 0 : countBetween(other, top + 1, last));
  const count = Math.max(1, numbers - Math.max(0, (side.skipped ?? 0) - skipped) - replayed);
  return [{ lane: options.name === 'bulk' ? lanes.indexOf('activity') : 0, seqFrom: top + 1, seqTo: last, count }];
}

/** As gap records, in one transaction. */
export function addMissing(file: SiteFile | BulkFile, missing: readonly Missing[]): void {
  const at = Date.now();
  const add = () => {
    for (const one of missing) file.outbox.addGap({ ...one, why: 'damage', at });
  };
  file.db.transaction(add).immediate();
}
