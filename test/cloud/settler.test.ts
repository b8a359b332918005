import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#lib/clock.ts';
import { openStore, type Store } from '#site/store/index.ts';
import type { Item } from '../../src/cloud/delivery/item.ts';
import { createSettler } from '../../src/cloud/delivery/settler.ts';
import { rowOf } from './support.ts';

const clock = systemClock();
const end = new AbortController();
let dir: string;
let store: Store;
let done: Item[];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-settler-'));
  store = openStore({ dir, clock, log: pino({ level: 'silent' }), metrics: new Registry() });
  await store.start(end.signal);
  done = [];
});
afterEach(async () => {
  await store.stop();
  rmSync(dir, { recursive: true, force: true });
});

const commit = (seqs: readonly number[]) =>
  store.commit({ rows: seqs.map((seq) => rowOf(clock, seq)), arming: [], inputs: [] });
const soon = { timeout: 10_000 };
const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

function settlerWith(seqs: readonly number[]) {
  const settler = createSettler({ store, signal: end.signal, done: (item) => done.push(item) });
  for (const seq of seqs) {
    const item = { row: { seq } } as Item;
    settler.add(item, { seq, lane: 'alarm', verdict: 'delivered', at: clock.wall(), tries: 1 });
  }
  return settler;
}

describe('verdicts', () => {
  it('that are few leave with the next write of the store', async () => {
    await commit([1]);
    const asked = vi.spyOn(store, 'settle');
    const settler = settlerWith([1]);
    await vi.waitFor(() => expect(asked).toHaveBeenCalledOnce(), soon);
    expect(asked.mock.calls[0]?.[1]?.until?.aborted).toBe(false);
    expect(done).toEqual([]);
    await commit([2]);
    await vi.waitFor(() => expect(done.length).toBe(1), soon);
    expect(settler.size('site')).toBe(0);
  });

  it('of silent events are in no count that anyone sees', () => {
    const settler = settlerWith([1]);
    const silent = { row: { seq: 2, silent: true } } as Item;
    settler.add(silent, { seq: 2, lane: 'alarm', verdict: 'delivered', at: clock.wall(), tries: 1 });
    expect([settler.size('site'), settler.shown()]).toEqual([2, 1]);
  });

  it('that are many leave by themselves', async () => {
    await commit(range(16));
    settlerWith(range(16));
    await vi.waitFor(() => expect(done.length).toBe(16), soon);
  });

  it('of a refused event do not ride', async () => {
    await commit([1]);
    const settler = createSettler({ store, signal: end.signal, done: (item) => done.push(item) });
    const refused = { verdict: 'parked', status: 422, reason: 'no', at: 1, tries: 2 } as const;
    settler.add({ row: { seq: 1 } } as Item, { seq: 1, lane: 'alarm', ...refused });
    await vi.waitFor(() => expect(done.length).toBe(1), { timeout: 4000 });
  });

  it('that become many end the ride of the first', async () => {
    await commit(range(17));
    const asked = vi.spyOn(store, 'settle');
    const settler = settlerWith([1]);
    await vi.waitFor(() => expect(asked).toHaveBeenCalledOnce(), soon);
    for (const seq of range(17).slice(1)) {
      settler.add({ row: { seq } } as Item, { seq, lane: 'alarm', verdict: 'delivered', at: 1, tries: 1 });
    }
    expect(asked.mock.calls[0]?.[1]?.until?.aborted).toBe(true);
    await vi.waitFor(() => expect(done.length).toBe(17), soon);
  });

  it('ride no longer when the end is near', async () => {
    await commit([1]);
    const asked = vi.spyOn(store, 'settle');
    const settler = settlerWith([1]);
    await vi.waitFor(() => expect(asked).toHaveBeenCalledOnce(), soon);
    await settler.flush(end.signal);
    expect(done.length).toBe(1);
  });
});
