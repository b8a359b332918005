import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Harness, type HarnessOptions, harness } from '../../cloud/delivery-harness.ts';
import { json, rowOf, until } from '../../cloud/support.ts';

const failedTries = 25;

let h: Harness;
afterEach(() => h.close());

/** Every file of the state directory with its size and times; a write to any of them shows. */
function written(dir: string): Record<string, string> {
  const entries = readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(
    entries.map((name) => {
      const { size, mtimeNs, ctimeNs } = statSync(join(dir, name), { bigint: true });
      return [name, `${size} ${mtimeNs} ${ctimeNs}`];
    }),
  );
}

async function counted(...names: string[]): Promise<number> {
  const metrics = await h.metrics.getMetricsAsJSON();
  const values = metrics.filter(({ name }) => names.includes(name)).flatMap((metric) => metric.values);
  return values.reduce((sum, { value }) => sum + value, 0);
}
const tries = () => counted('siteward_delivery_tries_total', 'siteward_delivery_line_looks_total');

/** The store's own start is over: its reserve file is made, and the first try has failed. */
async function offline(options: HarnessOptions, cut: () => Promise<void>): Promise<void> {
  h = await harness(options);
  await cut();
  await h.commit([
    rowOf(h.clock, 1),
    rowOf(h.clock, 2, { lane: 'arming' }),
    rowOf(h.clock, 3, { lane: 'trouble' }),
    rowOf(h.clock, 4, { lane: 'activity' }),
  ]);
  await until('the reserve file is made', () => 'reserve' in written(h.storeDir));
  await h.passTime('the first try has failed', async () => (await tries()) > 0);
}

async function failMore(): Promise<void> {
  const before = await tries();
  await h.passTime('more tries have failed', async () => (await tries()) >= before + failedTries, 30_000);
}

describe('the disk', () => {
  it('is not written to by tries that find a refused port', async () => {
    await offline({ withLine: true }, () => h.line.cut('refuses'));
    const before = written(h.storeDir);
    await failMore();
    expect(written(h.storeDir)).toEqual(before);
    expect(await h.waiting()).toBe(4);
  });

  it('is not written to by tries that the cloud answers with an error', async () => {
    await offline({ onEvent: (_post, _nth, response) => json(response, 503, {}) }, async () => {});
    const before = written(h.storeDir);
    await failMore();
    expect(written(h.storeDir)).toEqual(before);
    expect(await h.waiting()).toBe(4);
  });

  it('is written to by a verdict, which this way of looking at it sees', async () => {
    await offline({ withLine: true }, () => h.line.cut('refuses'));
    const before = written(h.storeDir);
    await h.store.settle([{ seq: 3, lane: 'trouble', verdict: 'delivered', at: h.clock.wall(), tries: 1 }]);
    expect(written(h.storeDir)).not.toEqual(before);
  });
});
