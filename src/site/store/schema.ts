import Sqlite, { type Database } from 'better-sqlite3';
import { SitewardError } from '#errors.ts';
import type { FileName } from './lanes.ts';

/**
 * Events are append-only; what becomes of one is told by the small table its seq stands in: `pend` (waiting),
 * `parked` (refused) or `done` (delivered, or local when `at` is null). Every seq of `ev` is in exactly one of them.
 * Marking an event so costs a ninth of the bytes of a state column. A `silent` event is kept and sent like any other, but
 * stands in no count and no list (safety 4).
 */
const outbox = `
CREATE TABLE meta(k TEXT PRIMARY KEY, v TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE ev(
  seq INTEGER PRIMARY KEY, lane INTEGER NOT NULL, eid TEXT NOT NULL, okey TEXT NOT NULL,
  mono REAL NOT NULL, wall REAL NOT NULL, boot TEXT NOT NULL, clock TEXT NOT NULL,
  crc INTEGER NOT NULL, class TEXT NOT NULL, part TEXT, body TEXT NOT NULL, event TEXT NOT NULL,
  silent INTEGER NOT NULL) STRICT;
CREATE TABLE pend(lane INTEGER NOT NULL, seq INTEGER NOT NULL, okey TEXT NOT NULL, silent INTEGER NOT NULL,
  PRIMARY KEY(lane, seq))
  STRICT, WITHOUT ROWID;
CREATE TABLE parked(seq INTEGER PRIMARY KEY, at REAL NOT NULL, status INTEGER, reason TEXT NOT NULL,
  tries INTEGER NOT NULL) STRICT;
CREATE TABLE done(seq INTEGER PRIMARY KEY, at REAL, tries INTEGER NOT NULL) STRICT;
CREATE TABLE media(seq INTEGER NOT NULL, idx INTEGER NOT NULL, kind TEXT NOT NULL, camera TEXT NOT NULL,
  offset_ms REAL NOT NULL, state INTEGER NOT NULL, at REAL, file TEXT, bytes INTEGER, sha256 TEXT, mime TEXT,
  reason TEXT, PRIMARY KEY(seq, idx)) STRICT, WITHOUT ROWID;
CREATE INDEX media_state ON media(state, seq);
CREATE TABLE gap(id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, seq_from INTEGER NOT NULL, seq_to INTEGER NOT NULL,
  n INTEGER NOT NULL, why TEXT NOT NULL, at REAL NOT NULL, reported INTEGER NOT NULL DEFAULT 0) STRICT;
`;

const site = `${outbox}
CREATE INDEX pend_order ON pend(okey, seq);
CREATE TABLE arming(id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, part TEXT NOT NULL, seq INTEGER NOT NULL,
  record TEXT NOT NULL, UNIQUE(part, epoch, seq)) STRICT;
CREATE TABLE core(id INTEGER PRIMARY KEY CHECK(id = 1), ord INTEGER NOT NULL, crc INTEGER NOT NULL,
  state TEXT NOT NULL) STRICT;
CREATE TABLE anchor(boot TEXT NOT NULL, mono REAL NOT NULL, wall REAL NOT NULL, src TEXT NOT NULL,
  PRIMARY KEY(boot, mono)) STRICT, WITHOUT ROWID;
CREATE TABLE audit(n INTEGER PRIMARY KEY, prev TEXT NOT NULL, hash TEXT NOT NULL, at REAL NOT NULL,
  record TEXT NOT NULL) STRICT;
`;

/** Alarm verifications: a few hundred at most, each written as a whole. */
const verification = `
CREATE TABLE verification(id TEXT PRIMARY KEY, at REAL NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

/** Playbacks on speakers, each written as a whole; `n` is the order in which they were first written. */
const playback = `
CREATE TABLE playback(id TEXT PRIMARY KEY, n INTEGER NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX playback_order ON playback(n);
`;

/** The core's state is written in pieces, since one decision changes a few of some thousand objects in it. */
const piece = `
CREATE TABLE piece(n INTEGER PRIMARY KEY, crc INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
`;

const bulk = `${outbox}
CREATE TABLE inputs(id INTEGER PRIMARY KEY, line TEXT NOT NULL) STRICT;
CREATE TABLE memory(room TEXT NOT NULL, k TEXT NOT NULL, v TEXT NOT NULL, PRIMARY KEY(room, k))
  STRICT, WITHOUT ROWID;
`;

/** Migration n (from 1) leads from version n - 1 to n. A released one is never edited, only followed. */
export const migrations: Readonly<Record<FileName, readonly string[]>> = {
  site: [site, verification, playback, piece],
  bulk: [bulk],
};

/** Brings a file to the newest version, each step in its own transaction. Refuses a file of a newer siteward. */
export function migrate(db: Database, file: FileName, steps: readonly string[] = migrations[file]): void {
  const found = Number(db.pragma('user_version', { simple: true }));
  if (found > steps.length) {
    throw new SitewardError(
      'store_unavailable',
      `${file}.db was written by a newer siteward (version ${found}, this one knows ${steps.length}). Install that version again.`,
      { facts: { file: `${file}.db`, found, known: steps.length } },
    );
  }
  for (const [index, sql] of steps.entries()) {
    if (index < found) continue;
    db.transaction(() => {
      db.exec(sql);
      db.pragma(`user_version = ${index + 1}`);
    }).immediate();
  }
}

/** What SQLite knows a table or an index by. */
export interface SchemaEntry {
  readonly name: string;
  readonly root: number;
  readonly sql: string | null;
}

/** In the order they were made. */
export const schemaOf = (db: Database): SchemaEntry[] =>
  db.prepare<[], SchemaEntry>('SELECT name, rootpage AS root, sql FROM sqlite_schema ORDER BY rowid').all();

/** A new, empty database in memory, made by the same steps as every file; to be closed. */
export function emptyDatabase(file: FileName): Database {
  const db = new Sqlite(':memory:');
  try {
    db.pragma('page_size = 4096');
    migrate(db, file);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * The table or index of the newest version that the file lacks or words differently; undefined when there is none. Its
 * text lies in the file, and a flipped bit in it leaves a sound database without that column.
 */
export function alteredEntry(db: Database, file: FileName): string | undefined {
  const empty = emptyDatabase(file);
  try {
    const found = new Map(schemaOf(db).map(({ name, sql }) => [name, sql]));
    return schemaOf(empty).find(({ name, sql }) => found.get(name) !== sql)?.name;
  } finally {
    empty.close();
  }
}
