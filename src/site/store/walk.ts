import type { Database, Statement } from 'better-sqlite3';
import type { FileName } from './protocol.ts';

const perRead = 64;

interface Route {
  /** Reads the next rows and gives the last one's key, nothing at the end. */
  readonly sql: string;
  readonly start: readonly (string | number)[];
}

/** `length` of a text reads the whole of it, overflow pages too. */
const byNumber = (table: string, number: string, value: string): Route => ({
  sql: `SELECT ${number}, length(${value}) FROM ${table} WHERE ${number} > ? ORDER BY ${number} LIMIT ${perRead}`,
  start: [-1],
});

const shared: readonly Route[] = [
  { sql: `SELECT lane, seq FROM pend WHERE (lane, seq) > (?, ?) ORDER BY lane, seq LIMIT ${perRead}`, start: [-1, -1] },
  byNumber('ev', 'seq', 'body || event'),
  { sql: `SELECT seq, idx FROM media WHERE (seq, idx) > (?, ?) ORDER BY seq, idx LIMIT ${perRead}`, start: [-1, -1] },
  byNumber('parked', 'seq', 'reason'),
  byNumber('done', 'seq', 'at'),
  byNumber('gap', 'id', 'why'),
];

const routes: Readonly<Record<FileName, readonly Route[]>> = {
  site: [
    ...shared,
    byNumber('arming', 'id', 'record'),
    {
      sql: `SELECT okey, seq FROM pend INDEXED BY pend_order WHERE (okey, seq) > (?, ?) ORDER BY okey, seq LIMIT ${perRead}`,
      start: ['', -1],
    },
  ],
  bulk: [
    ...shared,
    { sql: `SELECT room, k FROM memory WHERE (room, k) > (?, ?) ORDER BY room, k LIMIT ${perRead}`, start: ['', ''] },
    byNumber('inputs', 'id', 'line'),
  ],
};

/**
 * Reads every row of an open file once, a few at a time, so that a bad page is found before it is needed. Used where
 * a whole `quick_check` at start would take too long. It runs on the store's own connection between two groups: an
 * alarm waits for one short read at most. A second connection (in a thread of its own) would hold a snapshot for as long as it
 * checks, and the log could not be reused meanwhile; it would also cost the memory of another thread.
 */
export class Walk {
  readonly #left: { statement: Statement<unknown[], unknown[]>; at: readonly unknown[] }[];

  constructor(db: Database, file: FileName) {
    this.#left = routes[file]
      .map(({ sql, start }) => ({ statement: db.prepare<unknown[], unknown[]>(sql).raw(), at: start }))
      .reverse();
  }

  /** Throws what SQLite says of a bad page. True when everything was read. */
  step(until: number): boolean {
    for (let route = this.#left.at(-1); route !== undefined; route = this.#left.at(-1)) {
      const last = route.statement.all(...route.at).at(-1);
      if (last === undefined) this.#left.pop();
      else route.at = last.slice(0, route.at.length);
      if (performance.now() >= until) return false;
    }
    return true;
  }
}
