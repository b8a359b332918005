import { sha256 } from '#lib/digest.ts';
import type { AuditEntry } from '#site/model/index.ts';
import type { AuditLink, AuditRow, AuditSlice, AuditVerdict } from './audit-types.ts';

/** What the first entry of a chain follows. */
export const zeros = '0'.repeat(64);
/** Places where a chain begins anew that are told one by one. */
const anewCap = 16;

/** Members in the order of their names, so that one entry has one text. */
export function canonical(entry: object): string {
  return JSON.stringify(Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** Goes through a chain from its oldest entry, a slice at a time; stops at the first thing that is wrong. */
export interface ChainWalk {
  /** The lowest number that was not looked at yet. */
  readonly from: number;
  /** Takes the entries from `from` on; false when there is nothing more to look at. */
  take(slice: AuditSlice): boolean;
  /** So far; of the whole log once `take` said false. */
  verdict(): AuditVerdict;
}

/** `marks` are entries that are known to have been in the log, such as the last one of an earlier export. */
export function chainWalk(marks: readonly AuditLink[] = []): ChainWalk {
  let from = 0;
  let before: AuditLink | undefined;
  let base = 0;
  let left: AuditLink[] = [];
  let found: AuditVerdict = { entries: 0, shown: 0, anew: [] };

  function isWrong(n: number, why: NonNullable<AuditVerdict['broken']>['why']): false {
    found = { ...found, broken: { n, why } };
    return false;
  }

  function begin(slice: AuditSlice): void {
    before = slice.base;
    base = slice.base?.n ?? 0;
    // What gave way was exported or is very old; nothing can be said of it any more.
    left = [...slice.heads, ...marks].filter(({ n }) => n > base).sort((a, b) => a.n - b.n);
  }

  function note(row: AuditRow): void {
    const { visibility, at_wall: at = row.at } = readAuditEntry(row.record) ?? {};
    const isAnew = row.prev === zeros && before !== undefined && found.anew.length < anewCap;
    found = {
      entries: found.entries + 1,
      shown: found.shown + (visibility === undefined ? 1 : 0),
      anew: isAnew ? [...found.anew, at] : found.anew,
      ...(visibility === undefined ? { at } : found.at !== undefined && { at: found.at }),
    };
  }

  return {
    get from() {
      return from;
    },
    take(slice) {
      if (from === 0) begin(slice);
      for (const row of slice.rows) {
        const why = faultOf(row, before);
        if (why !== undefined) return isWrong(row.n, why);
        note(row);
        before = row;
        for (let mark = left[0]; mark !== undefined && mark.n <= row.n; mark = left[0]) {
          if (mark.n !== row.n) return isWrong(mark.n, 'missing');
          if (mark.hash !== row.hash) return isWrong(mark.n, 'changed');
          left.shift();
        }
      }
      const last = slice.rows.at(-1);
      if (last !== undefined) {
        from = last.n + 1;
        return true;
      }
      const newest = left.at(-1);
      if (newest !== undefined) return isWrong(newest.n, 'cut');
      // Nothing chains it to the rest, and no reading in the order of numbers need come upon it.
      return slice.foreign === undefined ? false : isWrong(slice.foreign, 'changed');
    },
    verdict: () => found,
  };
}

function faultOf(row: AuditRow, before: AuditLink | undefined): 'changed' | 'missing' | undefined {
  if (sha256(row.record) !== row.hash) return 'changed';
  const entry = readAuditEntry(row.record);
  if (entry === undefined || entry.n !== row.n || entry.prev_hash !== row.prev || entry.at_wall !== row.at)
    return 'changed';
  // A number may be skipped where a file was made anew: the hash alone says what follows what.
  if (before !== undefined && row.prev === before.hash) return undefined;
  return row.prev === zeros ? undefined : 'missing';
}

/** Latest time that has a date, milliseconds. */
const lastWall = 8.64e15;

/** Undefined for a text that is no entry, as whoever can change the file may leave it; `verify` tells of it. */
export function readAuditEntry(text: string): AuditEntry | undefined {
  try {
    const entry = Object(JSON.parse(text)) as Partial<AuditEntry>;
    const isDated = typeof entry.at_wall === 'number' && Math.abs(entry.at_wall) <= lastWall;
    return isDated && typeof entry.n === 'number' ? (entry as AuditEntry) : undefined;
  } catch {
    return undefined;
  }
}
