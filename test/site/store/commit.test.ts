import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ArmingRecord } from '#site/model/index.ts';
import { commitOf, makeStore, metric, row, settled, startStore, temporaryDir, until, withFile } from './helpers.ts';

const record = (seq: number, partition = 'p1'): ArmingRecord => ({
  partition,
  seq,
  epoch: 1,
  state: 'armed_away',
  mode: 'away',
  at: 1000 + seq,
  source: 'panel',
});

describe('a commit', () => {
  it('comes back complete after a restart: rows, arming records and state', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    expect(first.recovery()).toMatchObject({
      epoch: 1,
      nextSeq: 1,
      hidden: 0,
      state: undefined,
      lost: false,
      restored: false,
      lastBoot: undefined,
    });
    await first.commit(commitOf([row(1), row(2, { lane: 'activity' })], { arming: [record(7)], state: ['{"a":1}'] }));
    await first.stop();

    const second = await startStore(dir);
    expect(second.recovery()).toEqual({
      epoch: 1,
      storeId: expect.any(String),
      nextSeq: 3,
      lastSeq: 2,
      hidden: 0,
      state: '{"a":1}',
      lost: false,
      restored: false,
      lastBoot: '00000000-0000-4000-8000-000000000001',
      pending: { alarm: 1, arming: 0, trouble: 0, activity: 1 },
    });
    const { seq, lane, eventId, orderKey, mono, wall, boot, clock, body } = row(1);
    expect(await second.take('alarm', 0, 10)).toEqual([
      { seq, lane, eventId, orderKey, mono, wall, boot, clock, body },
    ]);
    expect(await second.arming({ limit: 10 })).toEqual([record(7)]);
  });

  it('changes nothing when it is repeated, not even after its event was delivered', async () => {
    const store = await startStore(temporaryDir());
    const commit = commitOf([row(1, { media: [{ index: 0, kind: 'snapshot', camera: 'yard', offsetMs: 0 }] })], {
      arming: [record(1)],
      inputs: ['{"n":1}'],
    });
    await store.commit(commit);
    await store.settle([settled(1)]);
    await store.commit(commit);
    await store.commit(commitOf([row(1, { body: '{"other":true}' })], { arming: [record(1)] }));
    expect(await store.take('alarm', 0, 10)).toEqual([]);
    expect(await store.events({ limit: 10 })).toMatchObject([{ seq: 1, delivery: 'delivered', tries: 2 }]);
    expect(await store.arming({ limit: 10 })).toHaveLength(1);
    expect(await store.media(['planned'], 10)).toHaveLength(1);
  });

  it('never lets an older state overwrite a newer one when a failed commit is repeated', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir, { limits: { queueBytes: 4000 } });
    // Refused for its size, as a stand-in for a failure; its repeat comes after a newer state.
    const old = { ...commitOf([]), state: [JSON.stringify({ old: 'x'.repeat(3000) })] };
    const filler = store.commit(commitOf([row(1, { body: 'y'.repeat(1000) })]));
    await expect(store.commit(old)).rejects.toMatchObject({ code: 'queue_full' });
    await filler;
    await store.commit(commitOf([], { state: ['{"new":true}'] }));
    await store.commit(old);
    await store.stop();
    expect((await startStore(dir)).recovery().state).toBe('{"new":true}');
  });

  it('of 64 callers in one tick costs far fewer transactions than 64', async () => {
    const store = await startStore(temporaryDir());
    const before = await metric(store, 'siteward_store_commits_total');
    await Promise.all(Array.from({ length: 64 }, (_, index) => store.commit(commitOf([row(index + 1)]))));
    await until(async () => (await metric(store, 'siteward_store_commit_rows_sum')) >= 64);
    expect((await metric(store, 'siteward_store_commits_total')) - before).toBeLessThanOrEqual(8);
    expect(await store.take('alarm', 0, 100)).toHaveLength(64);
  });

  it('that cannot be written fails alone; the others of its group are kept', async () => {
    const store = await startStore(temporaryDir());
    const broken = row(2, { eventId: null as unknown as string });
    const results = await Promise.allSettled([1, 2, 3].map((n) => store.commit(commitOf([n === 2 ? broken : row(n)]))));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'store_failed' } });
    expect((await store.take('alarm', 0, 10)).map(({ seq }) => seq)).toEqual([1, 3]);
  });

  it('is rejected before start and after stop', async () => {
    const store = makeStore(temporaryDir());
    expect(() => store.recovery()).toThrowError(expect.objectContaining({ code: 'store_unavailable' }));
    await expect(store.commit(commitOf([row(1)]))).rejects.toMatchObject({ code: 'store_unavailable' });
    await store.start(new AbortController().signal);
    await store.stop();
    await store.stop();
    await expect(store.commit(commitOf([row(1)]))).rejects.toMatchObject({ code: 'stopped' });
  });

  it('made just before stop is on disk after it, input lines included', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir, { limits: { inputDelayMs: 60_000 } });
    const commit = store.commit(commitOf([row(1)], { inputs: ['{"n":1}', '{"n":2}'] }));
    await store.stop();
    await commit;
    expect(withFile(join(dir, 'bulk.db'), (db) => db.prepare('SELECT line FROM inputs').pluck().all())).toEqual([
      '{"n":1}',
      '{"n":2}',
    ]);
    const again = await startStore(dir);
    await again.commit(commitOf([], { inputs: ['{"n":3}'] }));
    expect(await again.inputs({ limit: 2 })).toEqual(['{"n":2}', '{"n":3}']);
  });
});

describe('sequence numbers', () => {
  it('continue without a hole after a clean stop', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir);
    await store.commit(commitOf([row(1), row(9, { lane: 'activity' })]));
    await store.stop();
    expect((await startStore(dir)).recovery().nextSeq).toBe(10);
  });

  it('of a failed commit are not used again, since its event may have been sent from memory', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir);
    await store.commit(commitOf([row(1)]));
    await expect(store.commit(commitOf([row(2, { eventId: null as unknown as string })]))).rejects.toThrow();
    await store.stop();
    expect((await startStore(dir)).recovery().nextSeq).toBe(3);
  });
});
