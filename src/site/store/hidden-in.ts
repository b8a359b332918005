import { knownOf, type NumberedRow } from './numbers.ts';
import { readable } from './scan.ts';

/** Numbers before a range in which a row is looked for. */
const lookBack = 64;

/** Reads rows of events: those within both numbers, in order, at most so many. May throw at any of them. */
export type ReadNumbered = (from: number, to: number, limit: number) => Iterable<NumberedRow>;

/**
 * How many of the numbers in a range that cannot be read belong to silent events: by what the rows before and behind it say.
 * Their loss must not stand in a count that anybody sees (safety 4). 0 where nobody tells it.
 */
export function hiddenIn([from, to]: readonly [from: number, to: number], sources: readonly ReadNumbered[]): number {
  const rows = (low: number, high: number, limit: number) =>
    sources.flatMap((read) => readable(() => read(low, high, limit)).rows);
  const before = rows(Math.max(0, from - lookBack), from - 1, lookBack).sort((a, b) => b.seq - a.seq)[0];
  const behind = rows(to + 1, Number.MAX_SAFE_INTEGER, 1).sort((a, b) => a.seq - b.seq)[0];
  const until = before === undefined ? undefined : knownOf(before)?.hidden;
  const first = behind === undefined ? undefined : knownOf(behind);
  if (first === undefined || (until === undefined && from > 1)) return 0;
  const hidden = first.hidden - (first.silent ? 1 : 0) - (until ?? 0);
  return hidden > 0 && hidden <= to - from + 1 ? hidden : 0;
}
