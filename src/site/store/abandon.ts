import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BulkFile } from './bulk-file.ts';
import { laneIndex } from './lanes.ts';
import { noteFilled, topOf } from './missing.ts';
import { removeAll } from './quarantine.ts';
import { closeQuietly, type Note, succeeds } from './quiet.ts';
import type { SalvageProgress } from './salvage.ts';
import type { WaitingMark } from './side.ts';
import { addSilentGap, isSilentGap } from './silent-gap.ts';
import { openSource } from './source.ts';
import type { Durably } from './transactions.ts';

/** Of a room's memory goes on at most so much, characters. */
const mostMemory = 1024 ** 2;
const mostSilent = 1000;
const mostOnTheWay = 1000;
const activity = laneIndex('activity');

type Row = Record<string, string | number | null>;

interface Lost {
  readonly count: number;
  readonly from: number;
  readonly to: number;
}

/** What of a `bulk.db` that is deleted as a whole goes on in the one that takes its place. */
interface Left {
  readonly tables: readonly { readonly table: string; readonly rows: readonly Row[] }[];
  readonly lost: Lost;
  /** Silent ones that do not go on: what tells of their loss is silent too (safety 4). */
  readonly silent: Lost;
  /** See `topOf`: delivered events among the newest of it leave nothing else behind. */
  readonly top: number;
  /** The oldest that waited: some of them may be on their way. */
  readonly waiting: readonly number[];
  /** Files of its pictures. */
  readonly pictures: readonly string[];
  /** See `Gaps.givenUp`. */
  readonly givenUp: ReadonlyMap<number, number>;
}

/**
 * In an emergency `bulk.db` goes as a whole, with all that was set aside of it, and the new one tells of the loss. A
 * kill in between is noticed at the next start by the side file.
 */
export class Emergency {
  readonly #dir: string;
  readonly #note: Note;
  readonly #wall: () => number;
  readonly #durably: Durably;
  /** Not yet in the new file. */
  #left: Left | undefined;
  /** Pictures of events that were given up; whoever keeps them removes them. */
  readonly forgotten: string[] = [];

  constructor(options: { dir: string; note: Note; wall: () => number; durably: Durably }) {
    this.#dir = options.dir;
    this.#note = options.note;
    this.#wall = options.wall;
    this.#durably = options.durably;
  }

  /** All events lost with a file of which nothing in a database tells yet, those among them that its gap records counted. */
  get left(): WaitingMark | undefined {
    if (this.#left === undefined) return undefined;
    const counted = this.#left.tables.flatMap(({ table, rows }) => (table === 'gap' ? rows : []));
    const shown = counted.filter(({ id }) => !isSilentGap(id));
    const losses = shown.map(({ n, seq_from, seq_to }) => ({
      count: Number(n),
      from: Number(seq_from),
      to: Number(seq_to),
    }));
    const { count, from } = sumOf([this.#left.lost, ...losses]);
    return { count, from };
  }

  /** Reads what goes on of it, before it is deleted. Returns the events lost; undefined when it must stay as it is. */
  take(old: BulkFile, plan: readonly SalvageProgress[]): number | undefined {
    if (this.#left !== undefined) return undefined;
    try {
      const left = leftOf(old);
      const unread = plan.map((one) => unreadOf(one, join(this.#dir, one.kept)));
      this.#left = {
        ...left,
        lost: sumOf([left.lost, ...unread.flatMap(({ shown }) => shown)]),
        silent: sumOf([left.silent, ...unread.flatMap(({ silent }) => silent)]),
        top: Math.max(left.top, ...plan.map(({ last }) => last)),
      };
    } catch {
      // What cannot be read is set aside where it is met.
      return undefined;
    }
    return this.#left.lost.count;
  }

  /** Closes and deletes what was taken. */
  deleteBulk(old: BulkFile): void {
    closeQuietly(old, false);
    const path = join(this.#dir, 'bulk.db');
    // The log last: without its log a database is older than it looks, without its database a log counts for nothing.
    for (const suffix of ['', '-wal']) rmSync(path + suffix, { force: true });
    removeAll(path);
    this.forgotten.push(...(this.#left?.pictures ?? []));
    const { count } = this.#left?.lost ?? noneLost;
    this.#note('error', 'bulk.db was deleted to make room for alarms; what waited in it is counted as lost', { count });
  }

  /** Into the new file, once it is there; tried again until it succeeds. */
  putBack(bulk: BulkFile | undefined): void {
    const left = this.#left;
    if (bulk === undefined || left === undefined) return;
    // Whoever is told of the transaction may come here again.
    this.#left = undefined;
    if (!succeeds(() => this.#durably(bulk, () => putBack(bulk, left, this.#wall())))) this.#left = left;
  }
}

/**
 * Gap records and the rooms' memory go on, and silent events with them as far as they can be read (safety 4: hardly anybody
 * is told of their loss). Everything else that waits or was refused is counted.
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
    (SELECT seq FROM pend WHERE NOT silent UNION ALL SELECT seq FROM parked CROSS JOIN ev USING(seq) WHERE NOT ev.silent)`;
  const silentLost = `SELECT count(*) AS count, coalesce(min(seq), 0) AS "from", coalesce(max(seq), 0) AS "to" FROM
    (SELECT seq FROM pend WHERE silent AND seq NOT IN (${silent} ${mostSilent})
     UNION ALL SELECT seq FROM parked CROSS JOIN ev USING(seq) WHERE ev.silent)`;
  const files = `SELECT file FROM media WHERE file IS NOT NULL AND state <> 2 AND seq NOT IN (${silent} ${mostSilent})`;
  return {
    tables: [
      { table: 'gap', rows: rows('SELECT * FROM gap') },
      { table: 'memory', rows: memory },
      ...['ev', 'pend', 'media'].map((table) => ({ table, rows: of(table) })),
    ],
    lost: bulk.db.prepare<[], Lost>(lost).get() ?? noneLost,
    silent: bulk.db.prepare<[], Lost>(silentLost).get() ?? noneLost,
    top: topOf(bulk),
    waiting: bulk.db
      .prepare<[], number>(`SELECT seq FROM pend WHERE NOT silent ORDER BY seq LIMIT ${mostOnTheWay}`)
      .pluck()
      .all(),
    pictures: bulk.db.prepare<[], string>(files).pluck().all(),
    givenUp: bulk.outbox.gaps.givenUp,
  };
}

const noneLost: Lost = { count: 0, from: 0, to: 0 };

/** Of a set that was not read to its end: what could not be read so far, and what waits in the rest. */
function unreadOf({ phase, next, unreadable, silent }: SalvageProgress, path: string) {
  const rest = (where: string) => (phase > activity ? [] : waitingIn(path, next, where));
  return { shown: [...unreadable, ...rest('NOT silent')], silent: [...silent, ...rest('silent')] };
}

/** Over the numbers of all that hold any. */
function sumOf(losses: readonly Lost[]): Lost {
  const some = losses.filter(({ count }) => count > 0);
  if (some.length === 0) return noneLost;
  return {
    count: some.reduce((sum, { count }) => sum + count, 0),
    from: Math.min(...some.map(({ from }) => from)),
    to: Math.max(...some.map(({ to }) => to)),
  };
}

function waitingIn(path: string, from: number, where: string): Lost[] {
  let db: ReturnType<typeof openSource> | undefined;
  try {
    db = openSource(path);
    const sql = `SELECT count(*) AS count, coalesce(min(seq), 0) AS "from", coalesce(max(seq), 0) AS "to" FROM pend
      WHERE seq >= ? AND ${where}`;
    return db.prepare<[number], Lost>(sql).all(from);
  } catch {
    return [];
  } finally {
    db?.close();
  }
}

/** In the caller's transaction, the gap record with the rest. */
function putBack(bulk: BulkFile, { tables, lost, silent, top, waiting, givenUp }: Left, at: number): void {
  for (const { table, rows } of tables) {
    for (const row of rows) {
      const names = Object.keys(row);
      const places = names.map((name) => `@${name}`).join(', ');
      bulk.db.prepare(`INSERT INTO ${table}(${names.join(', ')}) VALUES(${places}) ON CONFLICT DO NOTHING`).run(row);
    }
  }
  bulk.recount();
  bulk.outbox.gaps.adopt(givenUp);
  noteFilled(bulk, top);
  if (silent.count > 0) addSilentGap(bulk.db, { lane: activity, ...silent }, at);
  const { count, from, to } = lost;
  if (count > 0)
    bulk.outbox.gaps.countLost({ lane: activity, seqFrom: from, seqTo: to, count, why: 'disk_full', at }, waiting);
}
