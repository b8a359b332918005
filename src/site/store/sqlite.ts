import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import Sqlite, { type Database, type Statement } from 'better-sqlite3';
import { describe, isCode, SitewardError } from '#errors.ts';
import { systemCode } from '#lib/system-code.ts';
import type { FileName } from './lanes.ts';
import { alteredEntry, migrate } from './schema.ts';

/** The file is damaged: to be set aside, never to be used. */
export class Damaged extends Error {}

/** SQLite's own error code, such as `SQLITE_FULL`; empty for anything else. */
export function sqliteCode(error: unknown): string {
  return error instanceof Sqlite.SqliteError ? error.code : '';
}

/** The file itself is damaged. */
export const isDamage = (error: unknown): boolean => /^SQLITE_(CORRUPT|NOTADB)/.test(sqliteCode(error));

/** The connection can no longer be trusted: close it and open the file again. */
export const isFileFault = (error: unknown): boolean =>
  /^SQLITE_(CORRUPT|NOTADB|IOERR|CANTOPEN|READONLY|PROTOCOL)/.test(sqliteCode(error));

/**
 * Up to this size a file is checked as a whole before it is used: 12 ms for 15 MB here, under a second for 32 MiB on
 * a card that reads 40 MB/s. A larger one (0.5 s for 713 MB here when cached, minutes on a card) is checked later and
 * bit by bit, see `Walk`.
 */
export const checkedAtOpenBytes = 32 * 1024 ** 2;

/**
 * Opens one database file, checks it if `check` says so and brings it to the newest version. Throws `Damaged`, also
 * for a file of a newer siteward (a site without protection is worse than a history set aside, and one bit may have
 * made it look so), or what the file system says.
 */
export function openDatabase(options: { path: string; file: FileName; maxBytes: number; check?: boolean }): Database {
  const { path, file } = options;
  createPrivate(path);
  let db: Database | undefined;
  try {
    db = new Sqlite(path, { timeout: 2000 });
    setPragmas(db, options.maxBytes);
    if (options.check !== false) {
      const verdict = String(db.pragma('quick_check(1)', { simple: true }));
      if (verdict !== 'ok') throw new Damaged(verdict.slice(0, 200));
    }
    migrate(db, file);
    const altered = alteredEntry(db, file);
    if (altered !== undefined) throw new Damaged(`what it says of its ${altered} is not what siteward wrote`);
    return db;
  } catch (error) {
    db?.close();
    if (isDamage(error) || isWrongSchema(error) || isCode(error, 'store_unavailable'))
      throw new Damaged(describe(error), { cause: error });
    throw error;
  }
}

/** A file that is a database, but whose tables are not ours at version 0. */
const isWrongSchema = (error: unknown): boolean =>
  sqliteCode(error) === 'SQLITE_ERROR' && /already exists/.test(describe(error));

function setPragmas(db: Database, maxBytes: number): void {
  db.pragma('page_size = 4096');
  // Before WAL: the index of the log then lies in memory. As a mapped file on a full disk it ends the process (SIGBUS).
  db.pragma('locking_mode = EXCLUSIVE');
  db.pragma('journal_mode = WAL');
  // After WAL and on every connection: this build of SQLite drops WAL databases to NORMAL at their first write.
  db.pragma('synchronous = FULL');
  // A quarter of this build's own default: a walk through a million rows fills whatever it may.
  db.pragma('cache_size = -4096');
  db.pragma('wal_autocheckpoint = 1000');
  db.pragma('journal_size_limit = 4194304');
  db.pragma(`max_page_count = ${Math.floor(maxBytes / 4096)}`);
  db.pragma('cell_size_check = ON');
  db.pragma('trusted_schema = OFF');
  db.pragma('temp_store = MEMORY');
}

/** What `PRAGMA synchronous` reads now; 2 is FULL. */
export const synchronousOf = (db: Database): number => Number(db.pragma('synchronous', { simple: true }));

/** To be called after the first write of a connection: before it, the pragma shows what was set, not what holds. */
export function assertFull(db: Database, file: FileName): void {
  const level = synchronousOf(db);
  if (level === 2) return;
  throw new SitewardError(
    'store_failed',
    `${file}.db does not wait for the disk (synchronous is ${level}, must be 2), so events could be lost in a power cut. This is a fault of this build; do not use it.`,
    { facts: { file: `${file}.db`, synchronous: level } },
  );
}

/** SQLite gives `-wal` and `-shm` the mode of the main file, so that one is made first. */
function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, 'a', 0o600));
    chmodSync(path, 0o600);
  } catch (error) {
    if (systemCode(error) === 'EISDIR') {
      throw new Damaged('a directory stands in place of the file', { cause: error });
    }
    throw error;
  }
}

/** Bytes of a database file and its write-ahead log. */
export function sizeOf(path: string): number {
  const main = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return main + walBytesOf(path);
}

export const walBytesOf = (path: string): number => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;

/** Sizes of both files and their logs as of the last second. */
export class Sizes {
  readonly #pathOf: (name: FileName) => string;
  #last: { readonly until: number; readonly bytes: BytesOf; readonly wal: BytesOf } | undefined;

  constructor(pathOf: (name: FileName) => string) {
    this.#pathOf = pathOf;
  }

  now(): { readonly bytes: BytesOf; readonly wal: BytesOf } {
    const now = performance.now();
    if (this.#last !== undefined && now < this.#last.until) return this.#last;
    const each = (size: (path: string) => number) => ({
      site: size(this.#pathOf('site')),
      bulk: size(this.#pathOf('bulk')),
    });
    this.#last = { until: now + 1000, bytes: each(sizeOf), wal: each(walBytesOf) };
    return this.#last;
  }
}

type BytesOf = Readonly<Record<FileName, number>>;

/** A statement that gives the first column only. */
export function pluck<P extends unknown[], R>(db: Database, sql: string): Statement<P, R> {
  return db.prepare<P, R>(sql).pluck();
}
