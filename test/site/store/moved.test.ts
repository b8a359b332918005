import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commitOf, parkedVerdict, row, settled, startStore, type TestStore, temporaryDir, until } from './helpers.ts';

const limits = { lookEveryMs: 50, firstLookMs: 1 };
const alarms = [1, 2, 3, 4, 5, 6, 7, 8];

/** Four alarms of which one is delivered and one refused, four activity events. */
async function inUse(dir: string): Promise<TestStore> {
  const store = await startStore(dir, { limits });
  await store.commit(commitOf(alarms.slice(0, 4).map((seq) => row(seq))));
  await store.commit(commitOf([11, 12, 13, 14].map((seq) => row(seq, { lane: 'activity' }))));
  await store.settle([settled(1)]);
  await store.settle([parkedVerdict(2)]);
  return store;
}

const writtenAnew = (store: TestStore, name = 'site') =>
  until(() => (store.health().reason ?? '').includes(`${name}.db or its log was deleted, replaced or emptied`));

/** What a kill leaves: the files as their paths show them. */
async function afterKill(dir: string): Promise<TestStore> {
  const copy = join(temporaryDir(), 'state');
  cpSync(dir, copy, { recursive: true });
  return startStore(copy, { limits });
}

const seqsOf = async (store: TestStore, lane: 'alarm' | 'activity' = 'alarm') =>
  (await store.take(lane, 0, 100)).map(({ seq }) => seq);

describe('files that are taken away from a running store', () => {
  it.each([
    [
      'all deleted',
      (dir: string) =>
        readdirSync(dir).forEach((name) => {
          rmSync(join(dir, name), { recursive: true, force: true });
        }),
    ],
    ['site.db deleted', (dir: string) => rmSync(join(dir, 'site.db'))],
    ['site.db emptied', (dir: string) => truncateSync(join(dir, 'site.db'), 0)],
    ['the log of site.db deleted', (dir: string) => rmSync(join(dir, 'site.db-wal'))],
    ['the folder moved away', (dir: string) => renameSync(dir, `${dir}.old`)],
    [
      'the folder replaced by an empty one',
      (dir: string) => {
        renameSync(dir, `${dir}.old`);
        mkdirSync(dir);
      },
    ],
  ])('are written anew with everything that was acknowledged: %s', async (_, take) => {
    const dir = join(temporaryDir(), 'state');
    const store = await inUse(dir);
    const { epoch, storeId } = store.recovery();
    take(dir);
    await store.commit(commitOf([row(5), row(6)], { state: ['{"late":true}'] }));
    await writtenAnew(store);
    expect(store.health().state).toBe('degraded');
    await store.commit(commitOf([row(7), row(8)]));
    expect(await seqsOf(store)).toEqual(alarms.slice(2));
    const next = await afterKill(dir);
    expect(await seqsOf(next)).toEqual(alarms.slice(2));
    expect(await seqsOf(next, 'activity')).toEqual([11, 12, 13, 14]);
    expect((await next.parked({ limit: 10 })).map(({ seq }) => seq)).toEqual([2]);
    expect(next.recovery()).toMatchObject({ epoch, storeId, lost: false, state: '{"late":true}' });
    expect(next.recovery().nextSeq).toBeGreaterThan(14);
    expect(await next.gaps({ limit: 10 })).toEqual([]);
  });

  it('are called a failing storage, which passes', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir, { limits: { ...limits, lookEveryMs: 400 } });
    await store.commit(commitOf([row(1)]));
    rmSync(join(dir, 'site.db'));
    await until(() => store.storage().level === 'failing');
    await until(() => store.storage().level === 'ok');
  });

  it('of bulk.db are written anew', async () => {
    const dir = temporaryDir();
    const store = await inUse(dir);
    rmSync(join(dir, 'bulk.db'));
    await writtenAnew(store, 'bulk');
    const next = await afterKill(dir);
    expect(await seqsOf(next, 'activity')).toEqual([11, 12, 13, 14]);
  });

  it('are not mixed with others that were put in their place, which are kept', async () => {
    const [dir, other] = [temporaryDir(), temporaryDir()];
    const foreign = await startStore(other);
    await foreign.commit(commitOf([row(500)]));
    await foreign.stop();
    const store = await inUse(dir);
    cpSync(join(other, 'site.db'), join(dir, 'put.db'));
    renameSync(join(dir, 'put.db'), join(dir, 'site.db'));
    const { size } = statSync(join(dir, 'site.db'));
    await writtenAnew(store);
    expect(await seqsOf(await afterKill(dir))).toEqual([3, 4]);
    expect(readFileSync(join(dir, 'site.db.corrupt-1'))).toHaveLength(size);
  });

  it('are written anew by a stop too', async () => {
    const dir = temporaryDir();
    const store = await inUse(dir);
    rmSync(join(dir, 'site.db'));
    rmSync(join(dir, 'site.db-wal'));
    await store.stop();
    expect(await seqsOf(await startStore(dir))).toEqual([3, 4]);
  });

  it('are used as they were while they cannot be written anew', async () => {
    const dir = join(temporaryDir(), 'state');
    const store = await inUse(dir);
    renameSync(dir, `${dir}.old`);
    cpSync(join(`${dir}.old`, 'epoch.json'), dir);
    await until(() => (store.health().reason ?? '').includes('cannot be written anew'));
    expect(store.storage().level).toBe('failing');
    await store.commit(commitOf([row(5)]));
    expect(await seqsOf(store)).toEqual([3, 4, 5]);
    rmSync(dir);
  });
});
