import { crc32 } from 'node:zlib';
import type { Database } from 'better-sqlite3';

/** The core's state as one commit left it. */
export interface StoredState {
  /** Of the commit. */
  readonly order: number;
  /** Their texts, one after the other, are the state. */
  readonly pieces: readonly string[];
}

interface CoreRow {
  readonly ord: number;
  readonly crc: number;
  /** The numbers of its pieces as JSON; the text itself where an older siteward has written it. */
  readonly state: string;
}

/**
 * The core's state in `site.db`: each piece is a row, and the row of `core` says which of them it is made of. So a decision that changes
 * little of it writes little.
 */
export class StateRows {
  readonly #db: Database;
  readonly #sql: ReturnType<typeof prepare>;
  /** The rows of the pieces that are there. Unknown after an open, and after a transaction that was undone. */
  #rows: Map<string, number> | undefined;

  constructor(db: Database) {
    this.#db = db;
    this.#sql = prepare(db);
  }

  /** False where a newer state is there: the commit is an old one that is repeated. */
  set({ order, pieces }: StoredState): boolean {
    if (order < (this.#sql.order.get() ?? 0)) return false;
    const before = this.#rows ?? this.#empty();
    const rows = new Map<string, number>();
    for (const text of pieces) rows.set(text, before.get(text) ?? rows.get(text) ?? this.#add(text));
    for (const [text, row] of before) if (!rows.has(text)) this.#sql.drop.run(row);
    const list = JSON.stringify(pieces.map((text) => rows.get(text)));
    this.#sql.set.run({ order, crc: crc32(list), state: list });
    this.#rows = rows;
    return true;
  }

  read(): { readonly order: number; readonly pieces: readonly string[] | undefined } {
    return readState(this.#db);
  }

  /** What the file holds may be another state than the last that was set. */
  forget(): void {
    this.#rows = undefined;
  }

  #empty(): ReadonlyMap<string, number> {
    this.#sql.clear.run();
    return new Map();
  }

  #add(text: string): number {
    const row = (this.#sql.last.get() ?? 0) + 1;
    this.#sql.add.run(row, crc32(text, row), text);
    return row;
  }
}

/** No pieces when there is no state, or when a checksum does not fit: half a state is none. */
export function readState(db: Database): { readonly order: number; readonly pieces: readonly string[] | undefined } {
  const core = db.prepare<[], CoreRow>('SELECT ord, crc, state FROM core').get();
  if (core === undefined) return { order: 0, pieces: undefined };
  const { ord: order, crc, state } = core;
  if (crc32(state) !== crc) return { order, pieces: undefined };
  return { order, pieces: state.startsWith('[') ? piecesOf(db, JSON.parse(state) as number[]) : [state] };
}

function piecesOf(db: Database, rows: readonly number[]): readonly string[] | undefined {
  const piece = db.prepare<[number], { crc: number; text: string }>('SELECT crc, text FROM piece WHERE n = ?');
  const pieces: string[] = [];
  for (const row of rows) {
    const found = piece.get(row);
    if (found === undefined || crc32(found.text, row) !== found.crc) return undefined;
    pieces.push(found.text);
  }
  return pieces;
}

function prepare(db: Database) {
  return {
    order: db.prepare<[], number>('SELECT ord FROM core').pluck(),
    last: db.prepare<[], number | null>('SELECT max(n) FROM piece').pluck(),
    add: db.prepare<[number, number, string]>('INSERT INTO piece(n, crc, text) VALUES(?, ?, ?)'),
    drop: db.prepare<[number]>('DELETE FROM piece WHERE n = ?'),
    clear: db.prepare('DELETE FROM piece'),
    set: db.prepare(
      `INSERT INTO core(id, ord, crc, state) VALUES(1, @order, @crc, @state)
       ON CONFLICT(id) DO UPDATE SET ord = excluded.ord, crc = excluded.crc, state = excluded.state`,
    ),
  };
}
