import { crc32 } from 'node:zlib';
import Sqlite, { type Database } from 'better-sqlite3';
import type { FileName } from './protocol.ts';

/** Most waiting events copied at start; the rest stays in the file that was set aside. */
const maxRows = 20_000;

export interface Salvaged {
  readonly events: number;
  readonly unreadable: number;
}

/**
 * Copies what can be read of a damaged file into a new one: waiting and parked events with their media rows, and
 * arming records. Each row is read by its own number, so that one bad page costs its own rows only, and its body must
 * fit its checksum. The core's state is not taken over: an unknown state is safer than one from a damaged file.
 */
export function salvage(from: string, to: Database, file: FileName): Salvaged {
  let events = 0;
  let unreadable = 0;
  let old: Database | undefined;
  try {
    old = new Sqlite(from, { fileMustExist: true, timeout: 2000 });
    for (const table of ['pend', 'parked'] as const) {
      const found = copy(old, to, table);
      events += found.events;
      unreadable += found.unreadable;
    }
    if (file === 'site') copyArming(old, to);
  } catch {
    // Not a database any more: the count of copied rows says it, and health reports the damage.
  } finally {
    old?.close();
  }
  return { events, unreadable };
}

type Row = Record<string, string | number | null>;

function copy(old: Database, to: Database, table: 'pend' | 'parked'): Salvaged {
  const heads = readable<Row>(old, `SELECT * FROM ${table} LIMIT ${maxRows}`);
  const event = old.prepare<[number], Row>('SELECT * FROM ev WHERE seq = ?');
  let events = 0;
  let unreadable = 0;
  to.transaction(() => {
    for (const head of heads) {
      const seq = Number(head.seq);
      const row = attempt(() => event.get(seq));
      if (row === undefined || crc32(String(row.body)) !== row.crc) {
        unreadable += 1;
        continue;
      }
      insert(to, 'ev', row);
      insert(to, table, head);
      for (const item of readable<Row>(old, `SELECT * FROM media WHERE seq = ${seq}`)) insert(to, 'media', item);
      events += 1;
    }
  }).immediate();
  return { events, unreadable };
}

function copyArming(old: Database, to: Database): void {
  const records = readable<Row>(old, `SELECT * FROM arming LIMIT ${maxRows}`);
  to.transaction(() => {
    for (const record of records) insert(to, 'arming', record);
  }).immediate();
}

/** The rows up to the first that cannot be read. */
function readable<R>(db: Database, sql: string): R[] {
  const rows: R[] = [];
  attempt(() => {
    for (const row of db.prepare<[], R>(sql).iterate()) rows.push(row);
  });
  return rows;
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function insert(db: Database, table: string, row: Row): void {
  const names = Object.keys(row);
  const places = names.map((name) => `@${name}`).join(', ');
  db.prepare(`INSERT INTO ${table}(${names.join(', ')}) VALUES(${places}) ON CONFLICT DO NOTHING`).run(row);
}
