import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { describe } from '#errors.ts';
import type { ArmingRecord } from '#site/model/index.ts';
import type { FileName } from './lanes.ts';

/** A larger file is not copied. */
const mostBytes = 512 * 1024 ** 2;

/** One file of a store that nobody has open. */
export interface FileSeen {
  readonly file: `${FileName}.db`;
  readonly bytes: number;
  /** What is wrong with it; undefined where it is sound, or was not read. */
  readonly fault?: string;
  /** Why it was not read. */
  readonly unread?: string;
  /** Events that wait for the cloud, without silent ones (safety 4). */
  readonly waiting?: number;
}

/**
 * Looks at the databases of a state directory through copies, so that nothing beside them is made, opened or moved: a file that root
 * makes there would keep the daemon out. For a time without a daemon. Throws what the system says of a directory that cannot be read.
 */
export function inspectFiles(dir: string): readonly FileSeen[] {
  return (['site', 'bulk'] as const).flatMap((name) => {
    const path = join(dir, `${name}.db`);
    const found = statSync(path, { throwIfNoEntry: false });
    return found === undefined ? [] : [inspect(`${name}.db`, path, found.size)];
  });
}

function inspect(file: FileSeen['file'], path: string, bytes: number): FileSeen {
  if (bytes === 0) return { file, bytes, fault: 'it is empty' };
  if (bytes > mostBytes) return { file, bytes, unread: `it is larger than ${mostBytes} bytes` };
  try {
    return { file, bytes, ...withCopy(path, readCopy) };
  } catch (error) {
    return { file, bytes, unread: describe(error) };
  }
}

/** How each partition stood last, as far as a file that nobody has open tells; undefined where it tells nothing. */
export function lastStates(dir: string): readonly Pick<ArmingRecord, 'partition' | 'state'>[] | undefined {
  const sql = 'SELECT record FROM arming WHERE id IN (SELECT max(id) FROM arming GROUP BY part)';
  try {
    return withCopy(join(dir, 'site.db'), (path) => {
      const db = new Sqlite(path, { timeout: 0 });
      try {
        return db
          .prepare<[], string>(sql)
          .pluck()
          .all()
          .map((text) => JSON.parse(text) as ArmingRecord);
      } finally {
        db.close();
      }
    });
  } catch {
    return undefined;
  }
}

function withCopy<T>(path: string, look: (copy: string) => T): T {
  const copies = mkdtempSync(join(tmpdir(), 'siteward-inspect-'));
  try {
    for (const suffix of ['', '-wal'])
      if (existsSync(path + suffix)) copyFileSync(path + suffix, join(copies, `copy${suffix}`));
    return look(join(copies, 'copy'));
  } finally {
    rmSync(copies, { recursive: true, force: true });
  }
}

function readCopy(path: string): Pick<FileSeen, 'fault' | 'waiting'> {
  let db: Sqlite.Database | undefined;
  try {
    db = new Sqlite(path, { timeout: 0 });
    const said = db.pragma('quick_check(1)', { simple: true });
    if (said !== 'ok') return { fault: String(said) };
    return { waiting: db.prepare<[], number>('SELECT count(*) FROM pend WHERE silent = 0').pluck().get() ?? 0 };
  } catch (error) {
    return { fault: describe(error) };
  } finally {
    db?.close();
  }
}
