import type { Database } from 'better-sqlite3';

/**
 * The number of an event that everybody sees is its row's seq less the silent events up to it (safety 4): no gap in the numbers
 * tells of one. It stands in the stored public event; a silent event shares the number of the event before it. Rows of
 * an older siteward have their own seq as number.
 */

/** What tells a row's number. */
export interface NumberedRow {
  readonly seq: number;
  /** The public event as JSON text. No checksum covers it. */
  readonly event: string;
  readonly silent: number;
}

/** A row that can be read, and how many silent events lie up to it. */
interface Known {
  readonly seq: number;
  readonly hidden: number;
  readonly silent: boolean;
}

/** Rows whose text cannot be read that are gone past in search of one that can. */
const mostUnreadable = 64;
/** Newest rows that must agree on what is hidden: one damaged text must not lead the numbers back. */
const agreeing = 16;

/** Finds rows by their number and numbers by their row, over both files. Keeps no statement open. */
export class Numbers {
  readonly #files: readonly ReturnType<typeof prepare>[];

  constructor(databases: readonly Database[]) {
    this.#files = databases.map(prepare);
  }

  /**
   * How many silent events lie up to the newest row: the least of what the newest rows say. Where it is in doubt it is too low, so
   * that a number may be left out and none is ever given twice.
   */
  hidden(): number {
    const ends = this.#files.flatMap(({ end }) => end.all(Number.MAX_SAFE_INTEGER, agreeing));
    const newest = ends.sort((a, b) => b.seq - a.seq);
    let after = 0;
    let least: number | undefined;
    for (const row of newest.slice(0, agreeing)) {
      const known = knownOf(row);
      if (known !== undefined) least = Math.min(least ?? known.hidden + after, known.hidden + after);
      after += row.silent;
    }
    return least ?? 0;
  }

  /** The number of a row, also of one that is gone. */
  numberOf(seq: number): number {
    const own = this.#above(seq);
    const known = own?.seq === seq ? knownOf(own) : undefined;
    return seq - (known?.hidden ?? this.#hiddenAt(seq));
  }

  /** The first row with at least this number; the end of all rows if there is none. */
  rowOf(number: number): number {
    let [low, high] = [number, this.#top()];
    let found = high + 1;
    // No row has a higher number than its seq, and numbers never fall.
    while (low <= high) {
      const middle = low + Math.floor((high - low) / 2);
      const row = this.#above(middle);
      if (row === undefined || row.seq > high) high = middle - 1;
      else if (this.numberOf(row.seq) >= number) {
        found = row.seq;
        high = middle - 1;
      } else low = row.seq + 1;
    }
    return Math.max(found, number);
  }

  /** Silent events up to a row that does not tell it: as the last one before it that does, or else as the next. */
  #hiddenAt(seq: number): number {
    let silent = 0;
    let at = seq;
    for (let tries = 0; tries < mostUnreadable; tries += 1) {
      const row = this.#below(at);
      if (row === undefined) break;
      const known = knownOf(row);
      if (known !== undefined) return known.hidden + silent;
      silent += row.silent;
      at = row.seq - 1;
    }
    for (let tries = 0, from = seq + 1; tries < mostUnreadable; tries += 1) {
      const row = this.#above(from);
      if (row === undefined) break;
      const known = knownOf(row);
      if (known !== undefined) return known.hidden - (known.silent ? 1 : 0);
      from = row.seq + 1;
    }
    return 0;
  }

  #above(seq: number): NumberedRow | undefined {
    const rows = this.#files.flatMap(({ above }) => above.get(seq) ?? []);
    return rows.length === 0 ? undefined : rows.reduce((first, row) => (row.seq < first.seq ? row : first));
  }

  #below(seq: number): NumberedRow | undefined {
    const rows = this.#files.flatMap(({ below }) => below.get(seq) ?? []);
    return rows.length === 0 ? undefined : rows.reduce((last, row) => (row.seq > last.seq ? row : last));
  }

  #top(): number {
    return this.#below(Number.MAX_SAFE_INTEGER)?.seq ?? 0;
  }
}

/** Undefined where the text does not tell it. */
export function knownOf({ seq, event, silent }: NumberedRow): Known | undefined {
  try {
    const number = (JSON.parse(event) as { seq?: unknown }).seq;
    if (!Number.isSafeInteger(number) || Number(number) < 0 || Number(number) > seq) return undefined;
    return { seq, hidden: seq - Number(number), silent: silent === 1 };
  } catch {
    return undefined;
  }
}

function prepare(db: Database) {
  const columns = 'SELECT seq, event, silent FROM ev';
  return {
    above: db.prepare<[number], NumberedRow>(`${columns} WHERE seq >= ? ORDER BY seq LIMIT 1`),
    below: db.prepare<[number], NumberedRow>(`${columns} WHERE seq <= ? ORDER BY seq DESC LIMIT 1`),
    end: db.prepare<[number, number], NumberedRow>(`${columns} WHERE seq <= ? ORDER BY seq DESC LIMIT ?`),
  };
}
