import { crc32 } from 'node:zlib';
import type { Database, Statement } from 'better-sqlite3';
import { lanes } from '#site/model/index.ts';
import type { BulkFile } from './bulk-file.ts';
import { hiddenIn } from './hidden-in.ts';
import { fileNames, fileOf, firstLaneOf } from './lanes.ts';
import type { NumberedRow } from './numbers.ts';
import { attempt } from './quiet.ts';
import { damagedReason } from './reader.ts';
import { readable, scan } from './scan.ts';
import type { WaitingMark } from './side.ts';
import { isSilentGap, nextGapId } from './silent-gap.ts';
import type { SiteFile } from './site-file.ts';
import { openSource } from './source.ts';
import { pluck } from './sqlite.ts';
import { type Table, tables } from './tables.ts';

/** What cannot be read, by lane index. */
export interface Unreadable {
  readonly lane: number;
  count: number;
  from: number;
  to: number;
}

/** How far the copying of one file that was set aside has come; kept in the new file with every slice. */
export interface SalvageProgress {
  /** Name of the file in the state directory. */
  readonly kept: string;
  /** Highest seq it can hold. */
  readonly top: number;
  /** Highest seq it is known to have held; what cannot be read above it is not counted. */
  readonly last: number;
  phase: number;
  /** The next number of the phase. */
  next: number;
  /** Seqs whose place in `pend` or `parked` cannot be read, as one range. */
  doubt?: readonly [from: number, to: number];
  /** Of these neither the place nor the event can be read; not counted yet. */
  unread?: readonly [from: number, to: number];
  events: number;
  parked: number;
  unreadable: Unreadable[];
  /** Silent ones among what cannot be read, which stand in no count that anybody sees (safety 4). */
  silent: Unreadable[];
  /** What the side file knows to have waited in it, by lane index: lost if it cannot be opened at all. */
  readonly waiting?: readonly WaitingMark[];
}

export const newSalvage = (
  kept: string,
  { top, last, waiting }: { top: number; last: number; waiting: readonly WaitingMark[] | undefined },
): SalvageProgress => ({
  kept,
  top,
  last,
  phase: 0,
  next: 0,
  events: 0,
  parked: 0,
  unreadable: [],
  silent: [],
  ...(waiting !== undefined && { waiting }),
});

type Row = Record<string, string | number | null>;

/** In the order of their worth; those of the lanes come first. */
const phases = [
  ...lanes.map((lane, index) => ({ name: 'pend' as const, lane: index, files: [fileOf(lane)] })),
  { name: 'parked' as const, files: fileNames },
  { name: 'doubt' as const, files: fileNames },
  ...tables.flatMap((table) =>
    table.salvage === 'event' || table.salvage === 'none' ? [] : [{ name: table.salvage, table, files: table.files }],
  ),
] as const;

/** Most rows of a table without numbers. */
const listRows = 20_000;

/**
 * Copies what can be read of a damaged file into a new one, in small steps: waiting and parked events under their seq and id with
 * their media rows, arming records, gap records, anchors, a room's memory. Each row is read by its own number, so that
 * one bad page costs its own rows only, and a body must fit its checksum, else the event is parked. Where `pend` or
 * `parked` cannot be read, an event that is neither delivered nor parked counts as waiting: to send one twice is harmless, to lose one is not.
 * The core's state is not taken over: an unknown state is safer than one from a damaged file.
 */
export class Salvage {
  readonly progress: SalvageProgress;
  readonly #source: Database;
  readonly #to: SiteFile | BulkFile;
  readonly #wall: () => number;
  readonly #units: Generator<void>;
  readonly #inserts = new Map<string, Statement>();
  readonly #reads = new Map<string, Statement<unknown[], Row>>();
  readonly #planned: Statement;
  readonly #nextGap: Statement<[], number>;
  readonly #found: Statement<[number, number], { count: number; silent: number }>;
  #added: number[] = lanes.map(() => 0);

  /** Throws when the source is no database at all. */
  constructor(options: { path: string; to: SiteFile | BulkFile; progress: SalvageProgress; wall: () => number }) {
    this.progress = structuredClone(options.progress);
    this.#to = options.to;
    this.#wall = options.wall;
    this.#source = openSource(options.path);
    this.#found = this.#to.db.prepare(
      'SELECT count(*) AS count, coalesce(sum(silent), 0) AS silent FROM ev WHERE seq BETWEEN ? AND ?',
    );
    this.#nextGap = pluck(this.#to.db, `SELECT ${nextGapId}`);
    this.#planned = this.#to.db.prepare(
      `UPDATE media SET state = @state, at = @at, file = @file, bytes = @bytes, sha256 = @sha256, mime = @mime,
         reason = @reason WHERE seq = @seq AND idx = @idx AND state = 0`,
    );
    this.#units = this.#run();
  }

  /** Inside the caller's transaction: works until `until` (performance.now). True when all is done. */
  step(until: number): boolean {
    do if (this.#units.next().done === true) return true;
    while (performance.now() < until);
    return false;
  }

  /** Visible events put in line since the last call, by lane index. */
  takeAdded(): number[] {
    const added = this.#added;
    this.#added = lanes.map(() => 0);
    return added;
  }

  close(): void {
    this.#source.close();
  }

  *#run(): Generator<void> {
    const { progress } = this;
    for (; progress.phase < phases.length; progress.phase += 1, progress.next = 0) {
      const phase = phases[progress.phase];
      if (phase?.files.includes(this.#to.name) !== true) continue;
      if (phase.name === 'pend') yield* this.#pending(phase.lane);
      else if (phase.name === 'doubt') yield* this.#doubtful();
      else if (phase.name === 'parked') yield* this.#parked();
      else if (phase.name === 'list') this.#list(phase.table);
      else yield* this.#numberedTable(phase.table);
      yield;
    }
  }

  *#pending(lane: number): Generator<void> {
    const read = (from: number, to: number, limit: number) =>
      this.#read('SELECT * FROM pend WHERE lane = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?').iterate(
        lane,
        from,
        to,
        limit,
      );
    for (const { rows, next, bad } of scan({ ...this.#range(), read, numberOf })) {
      for (const row of rows) {
        const seq = numberOf(row);
        const found = this.#event(seq);
        const { silent, unreadable } = this.progress;
        if (found === 'unreadable') this.#miss(lane, seq, seq, row.silent === 1 ? silent : unreadable);
        else if (found === 'sound') this.#wait(row);
      }
      if (bad !== undefined) this.#doubt(...bad);
      this.progress.next = next;
      yield;
    }
  }

  /** The events of the seqs whose place in `pend` or `parked` cannot be read. */
  *#doubtful(): Generator<void> {
    const { doubt } = this.progress;
    if (doubt === undefined) return;
    const read = (from: number, to: number, limit: number) =>
      this.#read('SELECT seq, lane, okey, silent FROM ev WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?').iterate(
        from,
        to,
        limit,
      );
    const from = Math.max(doubt[0], this.progress.next);
    for (const { rows, next, bad } of scan({ from, to: doubt[1], read, numberOf })) {
      for (const row of rows) {
        const seq = numberOf(row);
        if (this.#stands('done', seq) || this.#stands('parked', seq)) continue;
        if (this.#event(seq) === 'sound') this.#wait(row);
      }
      if (bad !== undefined) this.#unread(bad);
      this.progress.next = next;
      yield;
    }
    this.#missUnread();
  }

  /** Neighbours are one range: how many silent events lie in it only the rows around the whole of it tell. */
  #unread([from, to]: readonly [from: number, to: number]): void {
    const { unread } = this.progress;
    const isNext = unread !== undefined && from === unread[1] + 1;
    if (!isNext) this.#missUnread();
    this.progress.unread = [isNext ? unread[0] : from, to];
  }

  /** Whether they were waiting nobody knows; they are counted so. */
  #missUnread(): void {
    const { unread } = this.progress;
    if (unread !== undefined) this.#missRange(firstLaneOf(this.#to.name), ...unread);
    delete this.progress.unread;
  }

  *#parked(): Generator<void> {
    for (const { rows, next, bad } of scan({ ...this.#range(), read: this.#numbered('parked', 'seq'), numberOf })) {
      for (const row of rows) {
        const found = this.#event(Number(row.seq));
        if (found === 'unreadable') this.#miss(firstLaneOf(this.#to.name), Number(row.seq), Number(row.seq));
        else if (found !== 'known' && this.#insert('parked', row)) this.progress.parked += 1;
      }
      if (bad !== undefined) this.#doubt(...bad);
      this.progress.next = next;
      yield;
    }
  }

  *#numberedTable({ name, key, salvage }: Table): Generator<void> {
    const [number = ''] = Object.keys(key);
    const range = { from: this.progress.next, to: this.#top(name, number) };
    const numberOf = (row: Row) => Number(row[number]);
    for (const { rows, next } of scan({ ...range, read: this.#numbered(name, number), numberOf })) {
      for (const row of rows) {
        if (name === 'gap') this.#gap(row);
        else this.#insert(name, row, salvage === 'renumbered' ? number : undefined);
      }
      this.progress.next = next;
      yield;
    }
  }

  /** Under the next id that is free; a record of silent events keeps its own. */
  #gap(row: Row): void {
    const id = isSilentGap(row.id) ? Number(row.id) : (this.#nextGap.get() ?? null);
    this.#insert('gap', { ...row, id });
  }

  /** From both ends to the bad page. */
  #list({ name, key }: Table): void {
    const forward = readable(() => this.#read(`SELECT * FROM ${name} LIMIT ${listRows}`).iterate());
    for (const row of forward.rows) this.#insert(name, row);
    if (!forward.failed) return;
    const order = Object.keys(key).map((column) => `${column} DESC`);
    const backward = readable(() =>
      this.#read(`SELECT * FROM ${name} ORDER BY ${order.join(', ')} LIMIT ${listRows}`).iterate(),
    );
    for (const row of backward.rows) this.#insert(name, row);
  }

  /** Copies an event with its media rows. `damaged`: its body does not fit its checksum, so it was parked. */
  #event(seq: number): 'sound' | 'damaged' | 'unreadable' | 'known' {
    // It came from the second copy of the alarms, which does not know what became of its pictures.
    if (this.#found.get(seq, seq)?.count === 1) {
      this.#pictures(seq);
      return 'known';
    }
    const row = attempt(() => this.#read('SELECT * FROM ev WHERE seq = ?').get(seq));
    if (row === undefined) return 'unreadable';
    try {
      if (!this.#insert('ev', row)) return 'known';
    } catch {
      return 'unreadable';
    }
    this.#pictures(seq);
    this.progress.events += 1;
    if (crc32(String(row.body)) === row.crc) return 'sound';
    this.#insert('parked', { seq, at: this.#wall(), status: null, reason: damagedReason, tries: 0 });
    this.progress.parked += 1;
    return 'damaged';
  }

  /** One that stands in the new file stays as it is, unless it is only planned there. */
  #pictures(seq: number): void {
    const media = readable(() => this.#read('SELECT * FROM media WHERE seq = ?').iterate(seq));
    for (const item of media.rows) {
      attempt(() => {
        this.#planned.run(item);
        this.#insert('media', item);
      });
    }
  }

  #wait(row: Row): void {
    const lane = Number(row.lane);
    if (this.#insert('pend', row) && row.silent === 0) this.#added[lane] = (this.#added[lane] ?? 0) + 1;
  }

  #stands(table: 'done' | 'parked', seq: number): boolean {
    return attempt(() => this.#read(`SELECT seq FROM ${table} WHERE seq = ?`).get(seq)) !== undefined;
  }

  #range(): { from: number; to: number } {
    return { from: this.progress.next, to: Math.max(this.progress.top, this.#top('ev', 'seq')) };
  }

  #top(table: string, number: string): number {
    return Number(
      attempt(() => this.#read(`SELECT max(${number}) AS top FROM ${table}`).get())?.top ?? this.progress.top,
    );
  }

  #numbered(table: string, number: string) {
    return (from: number, to: number, limit: number) =>
      this.#read(`SELECT * FROM ${table} WHERE ${number} BETWEEN ? AND ? ORDER BY ${number} LIMIT ?`).iterate(
        from,
        to,
        limit,
      );
  }

  #doubt(from: number, to: number): void {
    const { doubt } = this.progress;
    this.progress.doubt = [Math.min(from, doubt?.[0] ?? from), Math.max(to, doubt?.[1] ?? to)];
  }

  /** Numbers of which nothing can be read. The silent ones among them are taken for the last, as their numbers are. */
  #missRange(lane: number, from: number, end: number): void {
    const to = end > from ? Math.min(end, this.progress.last) : end;
    if (to < from) return;
    const { unreadable, silent } = this.progress;
    const hidden = hiddenIn(
      [from, to],
      [
        (...range) => this.#read(numberedRows).iterate(...range) as Iterable<NumberedRow>,
        (...range) => this.#to.db.prepare<unknown[], NumberedRow>(numberedRows).iterate(...range),
      ],
    );
    const found = this.#found.get(from, to) ?? { count: 0, silent: 0 };
    const shown = to - from + 1 - hidden - (found.count - found.silent);
    if (shown > 0) this.#miss(lane, from, to - hidden, unreadable, shown);
    if (hidden > found.silent) this.#miss(lane, from, to, silent, hidden - found.silent);
  }

  #miss(lane: number, from: number, to: number, missed = this.progress.unreadable, count = 1): void {
    let known = missed.find((one) => one.lane === lane);
    if (known === undefined) {
      known = { lane, count: 0, from, to };
      missed.push(known);
    }
    known.count += count;
    known.from = Math.min(known.from, from);
    known.to = Math.max(known.to, to);
  }

  #read(sql: string): Statement<unknown[], Row> {
    let statement = this.#reads.get(sql);
    if (statement === undefined) {
      statement = this.#source.prepare<unknown[], Row>(sql);
      this.#reads.set(sql, statement);
    }
    return statement;
  }

  /** True when the row was not there. `without`: a column whose number is given anew. */
  #insert(table: string, row: Row, without?: string): boolean {
    const names = Object.keys(row).filter((name) => name !== without);
    const key = `${table} ${names.join(' ')}`;
    let statement = this.#inserts.get(key);
    if (statement === undefined) {
      const places = names.map((name) => `@${name}`).join(', ');
      const sql = `INSERT INTO ${table}(${names.join(', ')}) VALUES(${places}) ON CONFLICT DO NOTHING`;
      statement = this.#to.db.prepare(sql);
      this.#inserts.set(key, statement);
    }
    return statement.run(row).changes > 0;
  }
}

const numberOf = (row: Row): number => Number(row.seq);
const numberedRows = 'SELECT seq, event, silent FROM ev WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?';
