import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { FileName } from './lanes.ts';
import { peek } from './peek.ts';
import { migrations } from './schema.ts';
import { readSide, writeSide } from './side.ts';
import { sqliteCode } from './sqlite.ts';

/** Versions of the tables that this siteward writes. */
export const schemaVersions = (): Readonly<Record<FileName, number>> => ({
  site: migrations.site.length,
  bulk: migrations.bulk.length,
});

/** The epoch of a state directory, as far as it can be told without opening its databases; 0 where there is none. */
export const storedEpoch = (dir: string): number => readSide(dir, Date.now)?.epoch ?? 0;

/**
 * Makes a copied state directory that nobody has open fit to go on beside the life it was copied from: one epoch above both that of the copy and that of the
 * directory it takes the place of, and a store id of its own. So no event it makes has an id that another life of the site gave or gives, however often
 * one copy is put in place; what waits in it keeps its ids. Throws what SQLite or the system says.
 */
export function beginNewLife({ copied, present }: { copied: string; present: string }): number {
  const known = [copied, present].flatMap((dir) => [storedEpoch(dir), peek(join(dir, 'site.db'))?.epoch ?? 0]);
  const epoch = Math.max(...known.filter(Number.isSafeInteger)) + 1;
  const id = randomUUID();
  const path = join(copied, 'site.db');
  if (existsSync(path)) setLife(path, { epoch, id, restored: epoch });
  const created = Date.now();
  writeSide(copied, { created, ...readSide(copied, Date.now), epoch, id });
  return epoch;
}

/** One that is damaged is left to the start, which makes another under a higher epoch than the side file's. */
function setLife(path: string, life: Readonly<Record<'epoch' | 'id' | 'restored', string | number>>): void {
  let db: Sqlite.Database | undefined;
  try {
    db = new Sqlite(path, { timeout: 0 });
    // No file of shared memory.
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('synchronous = FULL');
    const set = db.prepare('INSERT INTO meta(k, v) VALUES(?, ?) ON CONFLICT(k) DO UPDATE SET v = excluded.v');
    db.transaction(() => {
      for (const [key, value] of Object.entries(life)) set.run(key, String(value));
    }).immediate();
    db.pragma('wal_checkpoint(TRUNCATE)');
  } catch (error) {
    if (!/^SQLITE_(CORRUPT|NOTADB|ERROR)/.test(sqliteCode(error))) throw error;
  } finally {
    db?.close();
  }
}
