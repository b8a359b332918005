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
export function topOf({ db }: SiteFile | BulkFile): number {
  const sql = 'SELECT max(coalesce((SELECT max(seq) FROM ev), 0), coalesce((SELECT max(seq_to) FROM gap), 0))';
  return Number(db.prepare(sql).pluck().get());
}

/** Visible events of the lane that wait. */
export function waitingOf(file: SiteFile | BulkFile | undefined, lane: number): WaitingMark {
  const count = file?.outbox.counts.pending[lane] ?? 0;
  if (file === undefined || count === 0) return { count: 0, from: 0 };
  const from = file.db.prepare('SELECT min(seq) FROM pend WHERE lane = ?').pluck().get(lane);
  return { count, from: Number(from ?? 0) };
}

export function countBetween({ db }: SiteFile | BulkFile, from: number, to: number): number {
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
  fresh: boolean;
  /** See `topOf`. */
  top: number;
  /** Of the numbers above it, those that are in the other file. */
  elsewhere: (from: number, to: number) => number;
  /** Numbers of this file's own count that were jumped over. */
  skipped: number;
  /** Alarms that came back from their second copy. */
  replayed: number;
}): Missing[] {
  const { side, top, fresh, replayed } = options;
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
  const numbers = last - top - options.elsewhere(top + 1, last);
  const count = Math.max(1, numbers - Math.max(0, (side.skipped ?? 0) - options.skipped) - replayed);
  return [{ lane: options.name === 'bulk' ? lanes.indexOf('activity') : 0, seqFrom: top + 1, seqTo: last, count }];
}
