import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import Sqlite, { type Database } from 'better-sqlite3';
import type { FileName } from './lanes.ts';
import { emptyDatabase, schemaOf } from './schema.ts';

const pageBytes = 4096;

/**
 * Opens a file that was set aside, for reading only; a file cut short opens too. Throws when it is no database.
 */
export function openSource(path: string): Database {
  const db = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: 2000 });
  try {
    // SQLite refuses a file shorter than its header says, unless its schema is declared to be writable.
    db.unsafeMode(true);
    db.pragma('writable_schema = ON');
    db.pragma('cell_size_check = ON');
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Gives a file that was set aside a new first page if its own cannot be read or names things differently: that of a new file, made by the same
 * steps, so that its tables begin on the same pages. The old one is kept beside it (`.page1`). True when the file can
 * be opened now.
 */
export function openable(path: string, file: FileName): boolean {
  if (opens(path) && !isAltered(path, file)) return true;
  try {
    const old = firstPage(path);
    if (old.length < pageBytes) return false;
    const fresh = freshPage(file);
    write(`${path}.page1`, 'w', old);
    // Its size in pages and change counter are the other file's: a version that does not fit makes SQLite ask the file system.
    fresh.writeUInt32BE((fresh.readUInt32BE(92) + 1) >>> 0, 92);
    write(path, 'r+', fresh);
  } catch {
    return false;
  }
  return opens(path);
}

function opens(path: string): boolean {
  try {
    const db = openSource(path);
    const tables = db.prepare("SELECT count(*) FROM sqlite_schema WHERE name IN ('ev', 'pend')").pluck().get();
    db.close();
    return tables === 2;
  } catch {
    return false;
  }
}

/** One entry of its schema, not more, is not as it was made: everything else lies where a new file has it. */
function isAltered(path: string, file: FileName): boolean {
  let db: Database | undefined;
  const empty = emptyDatabase(file);
  try {
    db = openSource(path);
    const [found, made] = [schemaOf(db), schemaOf(empty)];
    if (found.length !== made.length || made.some(({ root }, index) => root !== found[index]?.root)) return false;
    return made.filter(({ name, sql }, index) => name !== found[index]?.name || sql !== found[index].sql).length === 1;
  } catch {
    return false;
  } finally {
    db?.close();
    empty.close();
  }
}

/** Never read from a file in use: to close it would drop SQLite's own locks on it. */
function freshPage(file: FileName): Buffer {
  const db = emptyDatabase(file);
  try {
    const page = Buffer.from(db.serialize().subarray(0, pageBytes));
    // With a write-ahead log, as ours are.
    page.fill(2, 18, 20);
    return page;
  } finally {
    db.close();
  }
}

function firstPage(path: string): Buffer {
  const fd = openSync(path, 'r');
  try {
    const page = Buffer.alloc(pageBytes);
    return page.subarray(0, readSync(fd, page, 0, pageBytes, 0));
  } finally {
    closeSync(fd);
  }
}

function write(path: string, flags: 'w' | 'r+', page: Buffer): void {
  const fd = openSync(path, flags, 0o600);
  try {
    writeSync(fd, page, 0, page.length, 0);
  } finally {
    closeSync(fd);
  }
}
