import { createWriteStream, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import Sqlite from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { databaseEntries, Moved } from '../../../src/cli/backup/sources.ts';
import { commitOf, row, startStore, temporaryDir, withFile } from './helpers.ts';

/** Copies the databases as `siteward backup` does; undefined where one moved meanwhile. */
async function copied(dir: string, to: string): Promise<boolean> {
  try {
    for await (const { name, body } of databaseEntries(dir)) {
      const path = join(to, name);
      mkdirSync(dirname(path), { recursive: true });
      await pipeline(body instanceof Uint8Array ? [body] : body, createWriteStream(path));
    }
    return true;
  } catch (error) {
    if (error instanceof Moved) return false;
    throw error;
  }
}

/** Commits during one copy, a few MiB in each log: a hold ends at 24 MiB, which a slow copy would meet otherwise. */
const mostCommits = 200;

const body = 'x'.repeat(2000);

describe('databases that are held', () => {
  it('give copies that are whole while they are written to, with all that was promised before', {
    timeout: 60_000,
  }, async () => {
    const dir = temporaryDir();
    const store = await startStore(dir);
    let seq = 0;
    let promised = 0;
    let left = mostCommits;
    let more = Promise.withResolvers<void>();
    const over = new AbortController();
    const writing = (async () => {
      while (!over.signal.aborted) {
        if (left === 0) await more.promise;
        left -= 1;
        seq += 2;
        const rows = [row(seq - 1), row(seq, { lane: 'activity' })];
        await store.commit(commitOf(rows));
        promised = seq;
      }
    })();
    for (let copy = 0; copy < 12; copy += 1) {
      const to = temporaryDir();
      expect(await store.hold(true)).toBe(true);
      const least = promised;
      left = mostCommits;
      more.resolve();
      more = Promise.withResolvers<void>();
      expect(await copied(dir, to)).toBe(true);
      await store.hold(false);
      for (const name of ['site', 'bulk'])
        withFile(join(to, 'state', `${name}.db`), (db) => {
          expect(db.pragma('quick_check(1)', { simple: true })).toBe('ok');
          const parity = name === 'site' ? 1 : 0;
          const found = db.prepare<[], number>('SELECT seq FROM ev ORDER BY seq').pluck().all();
          expect(found.length).toBeGreaterThanOrEqual(least / 2);
          expect(found).toEqual(found.map((_, index) => 2 * index + 2 - parity));
        });
    }
    over.abort();
    more.resolve();
    await writing;
  });

  it('empty their logs into the files again once they are let go', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir);
    let seq = 0;
    const write = async (count: number) => {
      for (let n = 0; n < count; n += 1) {
        seq += 50;
        const rows = Array.from({ length: 50 }, (_, index) => row(seq - index, { body }));
        await store.commit(commitOf(rows));
      }
    };
    await store.hold(true);
    const before = statSync(join(dir, 'site.db')).size;
    await write(60);
    expect(statSync(join(dir, 'site.db')).size).toBe(before);
    expect(statSync(join(dir, 'site.db-wal')).size).toBeGreaterThan(5_000_000);
    await store.hold(false);
    await write(1);
    expect(statSync(join(dir, 'site.db')).size).toBeGreaterThan(before);
  });

  it('are whole where the first write comes while the log is copied', async () => {
    const dir = temporaryDir();
    const db = new Sqlite(join(dir, 'site.db'));
    try {
      db.pragma('journal_mode = WAL');
      db.exec('CREATE TABLE t(x); INSERT INTO t VALUES(1)');
      db.pragma('wal_checkpoint(TRUNCATE)');
      const names: string[] = [];
      for await (const { name } of databaseEntries(dir)) {
        names.push(name);
        if (name.endsWith('-wal')) db.exec('INSERT INTO t VALUES(2)');
      }
      expect(names).toEqual(['state/site.db', 'state/site.db-wal']);
    } finally {
      db.close();
    }
  });

  it('are noticed to have moved where nobody holds them', async () => {
    const dir = temporaryDir();
    const path = join(dir, 'site.db');
    const db = new Sqlite(path);
    try {
      db.pragma('journal_mode = WAL');
      db.exec('CREATE TABLE t(x); INSERT INTO t VALUES(1)');
      const to = temporaryDir();
      const entries = databaseEntries(dir);
      const first = await entries.next();
      expect(first.value?.name).toBe('state/site.db');
      db.pragma('wal_checkpoint(TRUNCATE)');
      await expect(
        (async () => {
          for await (const _ of entries);
        })(),
      ).rejects.toBeInstanceOf(Moved);
      expect(await copied(dir, to)).toBe(true);
    } finally {
      db.close();
    }
  });
});
