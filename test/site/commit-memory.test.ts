import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { SitewardError } from '#errors.ts';
import { type CommitQueue, commitQueue } from '#site/commit-queue.ts';
import type { Store } from '#site/store/index.ts';
import { commitOf, row } from './store/rows.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

let queue: CommitQueue | undefined;
afterEach(() => queue?.stop());

/** Of a disk that is read-only. */
const store: Pick<Store, 'commit' | 'addGap' | 'leave'> = {
  commit: () => Promise.reject(new SitewardError('store_failed', 'the disk is read-only')),
  addGap: () => Promise.reject(new SitewardError('store_failed', 'the disk is read-only')),
  leave: () => undefined,
};

function heap(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

const body = (seq: number) => JSON.stringify({ seq }).padEnd(600, ' ');

describe('commits that wait for a disk that takes nothing', () => {
  it('hold no more memory than they are counted with', async () => {
    const byteCap = 8 * 1024 ** 2;
    const line = commitQueue({
      ...{ store: store as Store, direct: () => undefined, log: pino({ level: 'silent' }) },
      ...{ metrics: new Registry(), byteCap },
    });
    queue = line;
    const add = async (seq: number) => {
      const state = [`{"seq":${seq},"pad":"${'x'.repeat(20_000)}"}`];
      const inputs = [`{"n":${seq}}`.padEnd(300, ' ')];
      const commit = { ...commitOf([row(seq, { body: body(seq) })], { state }), inputs };
      await line.add({ commit, publish: () => undefined }).published;
    };
    const before = heap();
    for (let seq = 1; seq <= 1500; seq += 1) await add(seq);
    const held = heap() - before;
    expect(line.waitingRows).toBeGreaterThan(500);
    expect(line.waitingRows).toBeLessThan(1000);
    expect(held).toBeLessThan(byteCap);
  }, 60_000);
});
