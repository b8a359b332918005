import { describe, expect, it } from 'vitest';
import { commitOf, row, startStore, temporaryDir } from './helpers.ts';

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

async function storeWith(rows: ReturnType<typeof row>[]) {
  const store = await startStore(temporaryDir());
  await store.commit(commitOf(rows));
  const waiting = async () => (await store.take('alarm', 0, 1000)).map(({ seq }) => seq);
  return { store, waiting };
}

describe('rows that are written together', () => {
  it('are each there once, with their pictures, whatever their number', async () => {
    const picture = { index: 0, kind: 'snapshot', camera: 'front', offsetMs: 0 } as const;
    for (const count of [1, 7, 8, 9, 16, 27]) {
      const { store, waiting } = await storeWith(range(1, count).map((seq) => row(seq, { media: [picture] })));
      expect(await waiting()).toEqual(range(1, count));
      expect((await store.stats()).pending.alarm).toBe(count);
      expect((await store.media(['planned'], 100)).map(({ seq }) => seq)).toEqual(range(1, count));
      await store.stop();
    }
  });

  it('may hold repeats among new ones: what became of those is not undone', async () => {
    const { store, waiting } = await storeWith(range(11, 30).map((seq) => row(seq)));
    await store.settle([{ seq: 13, lane: 'alarm', verdict: 'delivered', at: 1, tries: 1 }]);
    await store.commit(commitOf(range(1, 50).map((seq) => row(seq))));
    const expected = range(1, 50).filter((seq) => seq !== 13);
    expect(await waiting()).toEqual(expected);
    expect((await store.stats()).pending.alarm).toBe(expected.length);
  });

  it('may hold some in no order, and some that are not for the cloud', async () => {
    const rows = range(1, 30).map((seq) => row(seq, { toCloud: seq % 10 !== 0 }));
    const { store, waiting } = await storeWith([...rows.slice(15), ...rows.slice(0, 15)]);
    expect(await waiting()).toEqual(range(1, 30).filter((seq) => seq % 10 !== 0));
    const local = (await store.events({ limit: 100 })).filter(({ delivery }) => delivery === 'local');
    expect(local.map(({ seq }) => seq)).toEqual([30, 20, 10]);
  });

  it('of several commits are written before a verdict that comes after them', async () => {
    const { store, waiting } = await storeWith([]);
    const done = range(1, 20).map((seq) => store.commit(commitOf([row(seq)])));
    done.push(store.settle([{ seq: 20, lane: 'alarm', verdict: 'delivered', at: 1, tries: 1 }]));
    done.push(store.commit(commitOf([row(21)])));
    await Promise.all(done);
    expect(await waiting()).toEqual([...range(1, 19), 21]);
  });
});
