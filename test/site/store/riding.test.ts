import { describe, expect, it } from 'vitest';
import { commitOf, row, startStore, type TestStore, temporaryDir } from './helpers.ts';

const delivered = (seq: number) => [{ seq, lane: 'alarm', verdict: 'delivered', at: 1, tries: 1 }] as const;

async function transactions(store: TestStore): Promise<number> {
  // A read comes after the report of what went before it.
  await store.stats();
  const metric = store.metrics.getSingleMetric('siteward_store_commit_seconds');
  const { values } = (await metric?.get()) ?? { values: [] };
  const counts = values.filter((value) => 'metricName' in value && String(value.metricName).endsWith('_count'));
  return counts.reduce((sum, { value }) => sum + value, 0);
}

async function storeWithOne() {
  const store = await startStore(temporaryDir());
  await store.commit(commitOf([row(1)]));
  const ride = new AbortController();
  return { store, ride, before: await transactions(store) };
}

describe('a verdict that may ride', () => {
  it('is written in the transaction of the next commit', async () => {
    const { store, ride, before } = await storeWithOne();
    const settled = store.settle(delivered(1), { until: ride.signal });
    await Promise.all([store.commit(commitOf([row(2)])), settled]);
    expect(await transactions(store)).toBe(before + 1);
    expect((await store.take('alarm', 0, 10)).map(({ seq }) => seq)).toEqual([2]);
  });

  it('is written when its signal aborts', async () => {
    const { store, ride, before } = await storeWithOne();
    const settled = store.settle(delivered(1), { until: ride.signal });
    ride.abort();
    await settled;
    expect(await transactions(store)).toBe(before + 1);
  });

  it('is shown to whoever asks meanwhile', async () => {
    const { store, ride } = await storeWithOne();
    const settled = store.settle(delivered(1), { until: ride.signal });
    expect((await store.stats()).pending.alarm).toBe(0);
    await settled;
  });

  it('is written when the store stops', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir);
    await store.commit(commitOf([row(1)]));
    const settled = store.settle(delivered(1), { until: new AbortController().signal });
    await store.stop();
    await settled;
    const again = await startStore(dir);
    expect(await again.take('alarm', 0, 10)).toEqual([]);
  });
});
