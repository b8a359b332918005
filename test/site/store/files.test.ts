import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { defaultLimits } from '#site/store/index.ts';
import { migrate, migrations } from '../../../src/site/store/schema.ts';
import { assertFull, openDatabase, synchronousOf } from '../../../src/site/store/sqlite.ts';
import type { WorkerStore } from '../../../src/site/store/store.ts';
import {
  commitOf,
  makeStore,
  metric,
  row,
  settled,
  startStore,
  temporaryDir,
  until,
  wide,
  withFile,
} from './helpers.ts';

const signal = new AbortController().signal;
const side = (dir: string) => JSON.parse(readFileSync(join(dir, 'epoch.json'), 'utf8')) as { epoch: number };

/** Overwrites pages of a closed database file with zeros. */
function zeroPages(path: string, from: number, count: number): void {
  const fd = openSync(path, 'r+');
  writeSync(fd, Buffer.alloc(count * 4096), 0, count * 4096, from * 4096);
}

/** The page numbers (from 0) that hold a table. */
const rootOf = (path: string, table: string) =>
  withFile(
    path,
    (db) => Number(db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(table)) - 1,
  );

describe('durability of a connection', () => {
  it('is FULL for both files after their first writes', async () => {
    const store = (await startStore(temporaryDir())) as unknown as WorkerStore;
    await store.commit(commitOf([row(1), row(2, { lane: 'activity' })], { inputs: ['{}'] }));
    expect(await store.synchronous()).toEqual({ site: 2, bulk: 2 });
  });

  it('opened the way the worker does reads back FULL after a write, and a plain connection does not', () => {
    const dir = temporaryDir();
    const db = openDatabase({ path: join(dir, 'site.db'), file: 'site', maxBytes: defaultLimits.siteBytes });
    db.exec("INSERT INTO meta(k, v) VALUES('a', 'b')");
    expect(synchronousOf(db)).toBe(2);
    expect(() => assertFull(db, 'site')).not.toThrow();
    db.close();
    withFile(join(dir, 'site.db'), (plain) => {
      plain.exec("INSERT INTO meta(k, v) VALUES('c', 'd')");
      expect(() => assertFull(plain, 'site')).toThrowError(expect.objectContaining({ code: 'store_failed' }));
    });
  });
});

describe('migrations', () => {
  it('bring an empty file from version 0 to the newest, and doing it again changes nothing', () => {
    for (const file of ['site', 'bulk'] as const) {
      const db = new Sqlite(':memory:');
      migrate(db, file);
      expect(db.pragma('user_version', { simple: true })).toBe(migrations[file].length);
      migrate(db, file);
      expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'ev'").pluck().get()).toBe(1);
      db.close();
    }
  });

  it('run each step once, in order, and leave the file at the last good step when one fails', () => {
    const db = new Sqlite(':memory:');
    const steps = [
      'CREATE TABLE a(x)',
      'INSERT INTO a VALUES(1)',
      'INSERT INTO a VALUES(2); INSERT INTO none VALUES(1)',
    ];
    expect(() => migrate(db, 'site', steps)).toThrow(/none/);
    expect(db.pragma('user_version', { simple: true })).toBe(2);
    expect(db.prepare('SELECT x FROM a').pluck().all()).toEqual([1]);
    migrate(db, 'site', [...steps.slice(0, 2), 'INSERT INTO a VALUES(3)']);
    expect(db.prepare('SELECT x FROM a').pluck().all()).toEqual([1, 3]);
    db.close();
  });

  it.each(['site', 'bulk'] as const)('set a %s.db of a newer siteward aside and go on', async (file) => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(commitOf([row(1), row(2, { lane: 'activity' })]));
    await first.stop();
    withFile(join(dir, `${file}.db`), (db) => db.pragma('user_version = 65537'));
    const store = await startStore(dir);
    expect(store.health().reason).toContain('newer siteward');
    await until(
      async () => (await store.take('alarm', 0, 9)).length + (await store.take('activity', 0, 9)).length === 2,
    );
    expect(readdirSync(dir)).toContain(`${file}.db.corrupt-1`);
  });
});

describe('the state directory', () => {
  it('and its files are private', async () => {
    const dir = join(temporaryDir(), 'deep', 'state');
    const store = await startStore(dir);
    await store.commit(commitOf([row(1), row(2, { lane: 'activity' })]));
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(dir)) expect([name, statSync(join(dir, name)).mode & 0o777]).toEqual([name, 0o600]);
    expect(readdirSync(dir)).toEqual(expect.arrayContaining(['site.db', 'site.db-wal', 'bulk.db', 'epoch.json']));
  });

  it('that cannot be made is refused with its own code', async () => {
    const file = join(temporaryDir(), 'file');
    writeFileSync(file, '');
    await expect(makeStore(join(file, 'state')).start(signal)).rejects.toMatchObject({ code: 'state_dir_unusable' });
  });
});

describe('the id of the store', () => {
  it('stays over restarts, a lost database and a lost side file, and is another in another directory', async () => {
    const dir = temporaryDir();
    const idAfter = async () => {
      const store = await startStore(dir);
      const { storeId } = store.recovery();
      await store.stop();
      return storeId;
    };
    const first = await idAfter();
    expect(await idAfter()).toBe(first);
    rmSync(join(dir, 'epoch.json'));
    expect(await idAfter()).toBe(first);
    rmSync(join(dir, 'site.db'));
    expect(await idAfter()).toBe(first);
    expect((await startStore(temporaryDir())).recovery().storeId).not.toBe(first);
  });
});

describe('the epoch', () => {
  it('starts at 1, stays over restarts and is kept in the side file too', async () => {
    const dir = temporaryDir();
    for (let start = 0; start < 3; start += 1) {
      const store = await startStore(dir);
      expect(store.recovery()).toMatchObject({ epoch: 1, lost: false });
      await store.stop();
    }
    expect(side(dir)).toMatchObject({
      epoch: 1,
      created: expect.any(Number),
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  it('rises when site.db is gone, and the loss is told until the core has written a state again', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(commitOf([row(1)], { state: ['{}'] }));
    await first.stop();
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(dir, `site.db${suffix}`), { force: true });

    const second = await startStore(dir);
    expect(second.recovery()).toMatchObject({ epoch: 2, lost: true, state: undefined });
    expect(side(dir).epoch).toBe(2);
    await second.stop();
    const third = await startStore(dir);
    expect(third.recovery()).toMatchObject({ epoch: 2, lost: true });
    await third.commit(commitOf([], { state: ['{"fresh":true}'] }));
    await third.stop();
    expect((await startStore(dir)).recovery()).toMatchObject({ epoch: 2, lost: false, state: '{"fresh":true}' });
  });

  it('rises when site.db is empty or an older copy was put back', async () => {
    const dir = temporaryDir();
    await (await startStore(dir)).stop();
    const copy = readFileSync(join(dir, 'site.db'));
    truncateSync(join(dir, 'site.db'), 0);
    const emptied = await startStore(dir);
    expect(emptied.recovery()).toMatchObject({ epoch: 2, lost: true });
    await emptied.stop();
    writeFileSync(join(dir, 'site.db'), copy);
    expect((await startStore(dir)).recovery()).toMatchObject({ epoch: 3 });
  });

  it('survives a side file that is gone, and one that is garbage still proves that a store existed', async () => {
    const dir = temporaryDir();
    await (await startStore(dir)).stop();
    rmSync(join(dir, 'epoch.json'));
    const store = await startStore(dir);
    expect(store.recovery()).toMatchObject({ epoch: 1, lost: false });
    await store.stop();
    expect(side(dir).epoch).toBe(1);
    writeFileSync(join(dir, 'epoch.json'), '\0\0\0\0');
    rmSync(join(dir, 'site.db'));
    const lost = await startStore(dir);
    expect(lost.recovery().lost).toBe(true);
    expect(lost.recovery().epoch).toBeGreaterThan(1);
  });
});

describe('a damaged file', () => {
  it('is set aside as a whole, its waiting events are recovered, and the loss of the state is told', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    for (let seq = 1; seq <= 200; seq += 1) await first.commit(commitOf([row(seq)], { state: ['{}'] }));
    await first.settle([settled(1)]);
    await first.stop();
    zeroPages(join(dir, 'site.db'), rootOf(join(dir, 'site.db'), 'audit'), 1);

    const store = await startStore(dir);
    expect(store.recovery()).toMatchObject({ epoch: 2, lost: true, state: undefined });
    expect(store.recovery().nextSeq).toBeGreaterThan(200);
    await until(async () => (await store.stats()).pending.alarm === 199);
    expect((await store.take('alarm', 0, 3)).map(({ seq, eventId }) => [seq, eventId])).toEqual([
      [2, 'event-2'],
      [3, 'event-3'],
      [4, 'event-4'],
    ]);
    expect(existsSync(join(dir, 'site.db.corrupt-1'))).toBe(true);
    expect(store.health()).toMatchObject({ state: 'degraded', reason: expect.stringContaining('site.db.corrupt-1') });
    await store.commit(commitOf([row(store.recovery().nextSeq)]));
  });

  it('that is no database at all never keeps the store from starting; two sets are kept', async () => {
    const dir = temporaryDir();
    await (await startStore(dir)).stop();
    for (const epoch of [2, 3, 4]) {
      writeFileSync(join(dir, 'site.db'), 'this is not a database, and never was one'.repeat(1000));
      const store = await startStore(dir);
      expect(store.recovery()).toMatchObject({ epoch, lost: true });
      await store.commit(commitOf([row(store.recovery().nextSeq)]));
      // A set that was not read to its end stays until it was.
      await until(() => existsSync(join(dir, `site.db.corrupt-${epoch - 1}.read`)));
      await store.stop();
    }
    const kept = readdirSync(dir).filter((name) => /^site\.db\.corrupt-\d+$/.test(name));
    expect(kept.sort()).toEqual(['site.db.corrupt-2', 'site.db.corrupt-3']);
  });

  it('of bulk.db touches neither site.db nor the epoch, and no seq is used twice', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(commitOf([row(1), row(2, { lane: 'activity' })], { state: ['{"a":1}'] }));
    await first.stop();
    rmSync(join(dir, 'bulk.db'));
    mkdirSync(join(dir, 'bulk.db'));
    const store = await startStore(dir);
    expect(store.recovery()).toMatchObject({
      epoch: 1,
      lost: false,
      state: '{"a":1}',
      pending: { alarm: 1, activity: 0 },
    });
    expect(store.recovery().nextSeq).toBeGreaterThan(2);
    await store.commit(commitOf([row(store.recovery().nextSeq, { lane: 'activity' })]));
    expect(existsSync(join(dir, 'bulk.db.corrupt-1'))).toBe(true);
  });

  it('found while running is set aside, and what was sent is accepted when it is repeated', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    for (let seq = 1; seq < 1500; seq += 100) {
      await first.commit(commitOf(Array.from({ length: 100 }, (_, index) => wide(seq + index))));
    }
    await first.stop();
    const store = await startStore(dir);
    // The whole file past its header, as a dying card may do; SQLite notices when it reads the pages again.
    writeFileSync(join(dir, 'site.db'), Buffer.alloc(statSync(join(dir, 'site.db')).size, 0x5a));
    const commit = commitOf([row(5000)], { state: ['{}'] });
    await until(async () => {
      await store.take('alarm', 0, 1000).catch(() => undefined);
      const done = await store.commit(commit).then(
        () => true,
        () => false,
      );
      return done && existsSync(join(dir, 'site.db.corrupt-1'));
    });
    expect((await store.take('alarm', 4999, 10)).map(({ seq }) => seq)).toEqual([5000]);
    await store.stats();
    expect(await metric(store, 'siteward_store_errors_total', { file: 'site' })).toBeGreaterThan(0);
  });
});
