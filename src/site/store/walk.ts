import type { Database, Statement } from 'better-sqlite3';
import type { FileName } from './lanes.ts';
import { type Table, tables } from './tables.ts';

const perRead = 64;

/** The index the second lookup of a delivery rests on. */
const pendOrder: Pick<Table, 'key'> & { readonly from: string } = {
  from: 'pend INDEXED BY pend_order',
  key: { okey: '', seq: -1 },
};

/** Reads the next rows by their key. `length` of a text reads the whole of it, overflow pages too. */
function routeOf({ from, key, text }: Pick<Table, 'key' | 'text'> & { readonly from: string }) {
  const columns = Object.keys(key).join(', ');
  const places = Object.keys(key).fill('?').join(', ');
  const what = text === undefined ? columns : `${columns}, length(${text})`;
  const sql = `SELECT ${what} FROM ${from} WHERE (${columns}) > (${places}) ORDER BY ${columns} LIMIT ${perRead}`;
  return { sql, start: Object.values(key) };
}

function routesOf(file: FileName) {
  const routes = tables.filter(({ files }) => files.includes(file)).map((one) => routeOf({ ...one, from: one.name }));
  return file === 'site' ? [...routes, routeOf(pendOrder)] : routes;
}

/**
 * Reads every row of an open file once, a few at a time, so that a bad page is found before it is needed. Used where
 * a whole `quick_check` at start would take too long. It runs on the store's own connection between two groups: an
 * alarm waits for one short read at most. A second connection (in a thread of its own) would hold a snapshot for as long as it
 * checks, and the log could not be reused meanwhile; it would also cost the memory of another thread.
 */
export class Walk {
  readonly #left: { statement: Statement<unknown[], unknown[]>; at: readonly unknown[] }[];

  constructor(db: Database, file: FileName) {
    this.#left = routesOf(file)
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
