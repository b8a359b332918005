import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { lanes } from '#site/model/index.ts';
import type { BulkFile } from './bulk-file.ts';
import type { Note } from './files.ts';
import { removeAll } from './quarantine.ts';
import { closeQuietly, succeeds } from './quiet.ts';
import type { SalvageProgress } from './salvage.ts';
import { openSource } from './source.ts';

/** Of a room's memory goes on at most so much, characters. */
const mostMemory = 1024 ** 2;
const mostSilent = 1000;
const activity = lanes.indexOf('activity');

type Row = Record<string, string | number | null>;

/** What of a `bulk.db` that is deleted as a whole goes on in the one that takes its place. */
interface Left {
  readonly tables: readonly { readonly table: string; readonly rows: readonly Row[] }[];
  readonly lost: { readonly count: number; readonly from: number; readonly to: number };
  /** Files of its pictures. */
  readonly pictures: readonly string[];
}

/**
 * In an emergency `bulk.db` goes as a whole, with all that was set aside of it, and the new one tells of the loss. A
 * kill in between is noticed at the next start by the side file.
 */
export class Emergency {
  readonly #dir: string;
  readonly #note: Note;
  /** Not yet in the new file. */
  #left: Left | undefined;
  /** Pictures of events that were given up; whoever keeps them removes them. */
  readonly forgotten: string[] = [];

  constructor(dir: string, note: Note) {
    this.#dir = dir;
    this.#note = note;
  }

  /** Closes and deletes it. Returns the events lost; undefined when it stays as it is. */
  deleteBulk(old: BulkFile, plan: readonly SalvageProgress[]): number | undefined {
    if (this.#left !== undefined) return undefined;
    try {
      const left = leftOf(old);
      const count = left.lost.count + unreadOf(plan, (kept) => join(this.#dir, kept));
      this.#left = { ...left, lost: { ...left.lost, count } };
    } catch {
      // What cannot be read is set aside where it is met.
      return undefined;
    }
    closeQuietly(old, false);
    const path = join(this.#dir, 'bulk.db');
    // The log last: without its log a database is older than it looks, without its database a log counts for nothing.
    for (const suffix of ['', '-wal']) rmSync(path + suffix, { force: true });
    removeAll(path);
    this.forgotten.push(...this.#left.pictures);
    const { count } = this.#left.lost;
    this.#note('error', 'bulk.db was deleted to make room for alarms; what waited in it is counted as lost', { count });
    return count;
  }

  /** Into the new file, once it is there; tried again until it succeeds. */
  putBack(bulk: BulkFile | undefined): void {
    const left = this.#left;
    if (bulk !== undefined && left !== undefined && succeeds(() => putBack(bulk, left, Date.now()))) {
      this.#left = undefined;
    }
  }
}

/**
 * Gap records and the rooms' memory go on, and silent events with them (safety 4: nothing tells of their loss, so they
 * are not to be lost here). Everything else that waits or was refused is counted.
 */
function leftOf(bulk: BulkFile): Left {
  const rows = (sql: string): Row[] => bulk.db.prepare<[], Row>(sql).all();
  const silent = 'SELECT seq FROM pend WHERE silent LIMIT';
  const of = (table: string) => rows(`SELECT * FROM ${table} WHERE seq IN (${silent} ${mostSilent})`);
  let size = 0;
  const memory = rows('SELECT * FROM memory').filter(({ room, k, v }) => {
    size += `${room}${k}${v}`.length;
    return size <= mostMemory;
  });
  const lost = `SELECT count(*) AS count, coalesce(min(seq), 0) AS "from", coalesce(max(seq), 0) AS "to" FROM
    (SELECT seq FROM pend WHERE NOT silent UNION ALL SELECT seq FROM parked JOIN ev USING(seq) WHERE NOT ev.silent)`;
  const files = `SELECT file FROM media WHERE file IS NOT NULL AND state <> 2 AND seq NOT IN (${silent} ${mostSilent})`;
  return {
    tables: [
      { table: 'gap', rows: rows('SELECT * FROM gap') },
      { table: 'memory', rows: memory },
      ...['ev', 'pend', 'media'].map((table) => ({ table, rows: of(table) })),
    ],
    lost: bulk.db.prepare<[], Left['lost']>(lost).get() ?? { count: 0, from: 0, to: 0 },
    pictures: bulk.db.prepare<[], string>(files).pluck().all(),
  };
}

/** Waiting events of sets that were not read to their end. */
function unreadOf(plan: readonly SalvageProgress[], path: (kept: string) => string): number {
  return plan.reduce((sum, one) => sum + (one.phase > activity ? 0 : waitingIn(path(one.kept), one.next)), 0);
}

function waitingIn(path: string, from: number): number {
  let db: ReturnType<typeof openSource> | undefined;
  try {
    db = openSource(path);
    return Number(db.prepare('SELECT count(*) FROM pend WHERE seq >= ? AND NOT silent').pluck().get(from));
  } catch {
    return 0;
  } finally {
    db?.close();
  }
}

/** In one transaction, the gap record with the rest. */
function putBack(bulk: BulkFile, { tables, lost }: Left, at: number): void {
  const write = () => {
    for (const { table, rows } of tables) {
      for (const row of rows) {
        const names = Object.keys(row);
        const places = names.map((name) => `@${name}`).join(', ');
        bulk.db.prepare(`INSERT INTO ${table}(${names.join(', ')}) VALUES(${places}) ON CONFLICT DO NOTHING`).run(row);
      }
    }
    const { count, from, to } = lost;
    if (count > 0) bulk.outbox.addGap({ lane: activity, seqFrom: from, seqTo: to, count, why: 'disk_full', at });
  };
  try {
    bulk.db.transaction(write).immediate();
  } finally {
    bulk.recount();
  }
}
