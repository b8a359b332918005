import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { SitewardError } from '#errors.ts';
import { type CommitQueue, commitQueue } from '#site/commit-queue.ts';
import type { Commit, Gap, OutboxRow, Store } from '#site/store/index.ts';
import { commitOf, row } from './store/rows.ts';

let queue: CommitQueue | undefined;
afterEach(() => queue?.stop());

const failed = () => Promise.reject(new SitewardError('store_failed', 'the disk does not answer'));

/** A disk whose files can fail each by itself. */
function start(options: { commitCap?: number } = {}) {
  const disk = { site: true, bulk: true, gaps: [] as Omit<Gap, 'id' | 'reported'>[], written: [] as Commit[] };
  const direct: OutboxRow[] = [];
  const store: Pick<Store, 'commit' | 'addGap'> = {
    commit(commit) {
      const isBulk = commit.rows.some(({ lane }) => lane === 'activity');
      const isSite = commit.rows.some(({ lane }) => lane !== 'activity') || commit.state !== undefined;
      if ((isBulk && !disk.bulk) || (isSite && !disk.site)) return failed();
      disk.written.push(commit);
      return Promise.resolve();
    },
    async addGap(gap) {
      if (!disk.bulk) return failed();
      disk.gaps.push(gap);
    },
  };
  const log = pino({ level: 'silent' });
  const made = commitQueue({
    store: store as Store,
    direct: (rows) => void direct.push(...rows),
    log,
    metrics: new Registry(),
    ...options,
  });
  queue = made;
  return { disk, direct, queue: made };
}

const activity = (seq: number) => row(seq, { lane: 'activity' });
const mixed = (seq: number) => commitOf([row(seq), activity(seq + 1)], { state: '{}' });

describe('a bulk.db that fails', () => {
  it('keeps neither an alarm of the same decision nor the state from the disk', async () => {
    const { disk, direct, queue } = start();
    disk.bulk = false;
    let shown: boolean[] | undefined;
    const added = queue.add({
      commit: mixed(1),
      publish: (isDurable) => {
        shown = [isDurable('alarm'), isDurable('activity')];
      },
    });
    await added.durableIn('alarm');
    expect(disk.written).toMatchObject([{ rows: [{ seq: 1 }], state: '{}' }]);
    await added.published;
    expect(shown).toEqual([true, false]);
    expect(direct.map(({ seq }) => seq)).toEqual([2]);
    expect([queue.failing, queue.bulkFailing]).toEqual([false, true]);
    disk.bulk = true;
    await added.durable;
    expect(disk.written.flatMap(({ rows }) => rows.map(({ seq }) => seq))).toEqual([1, 2]);
    await expect.poll(() => queue.bulkFailing).toBe(false);
  });
});

describe('memory that is full because nothing can be written', () => {
  it('gives up activity, then troubles, never alarms, and each loss is one count of a gap record', async () => {
    const { disk, queue } = start();
    disk.site = false;
    disk.bulk = false;
    const add = (rows: OutboxRow[]) => queue.add({ commit: commitOf(rows), publish: () => {} });
    for (let seq = 1; seq <= 1200; seq += 1) add([row(seq)]);
    for (let seq = 1201; seq <= 1300; seq += 1) add([activity(seq)]);
    for (let seq = 1301; seq <= 2500; seq += 1) add([row(seq, { lane: 'trouble' })]);
    add([row(2501, { lane: 'trouble' }), row(2502, { lane: 'arming' }), row(2503)]);
    expect(queue.waitingRows).toBe(1200 + 1200 + 2);
    disk.site = true;
    disk.bulk = true;
    const counted = () => disk.gaps.reduce((sum, { count }) => sum + count, 0);
    await expect.poll(counted, { timeout: 10_000 }).toBe(101);
    for (const gap of disk.gaps) expect(gap.why).toBe('memory_full');
    const ofActivity = disk.gaps.filter(({ lane }) => lane === 'activity');
    expect(Math.min(...ofActivity.map(({ seqFrom }) => seqFrom))).toBe(1201);
    expect(Math.max(...ofActivity.map(({ seqTo }) => seqTo))).toBe(1300);
    expect(disk.gaps.filter(({ lane }) => lane === 'trouble')).toMatchObject([
      { seqFrom: 2501, seqTo: 2501, count: 1 },
    ]);
    await expect.poll(() => queue.waitingRows, { timeout: 10_000 }).toBe(0);
  });
});

describe('alarms at the cap of what may wait in memory', () => {
  it('the middle ones give way, each is one count of a gap record, and the first and the last are written', async () => {
    const { disk, queue } = start({ commitCap: 20 });
    disk.site = false;
    const added = Array.from({ length: 50 }, (_, index) =>
      queue.add({ commit: commitOf([row(index + 1)], { state: `{"n":${index + 1}}` }), publish: () => {} }),
    );
    await expect.poll(() => disk.gaps.reduce((sum, { count }) => sum + count, 0)).toBe(30);
    for (const gap of disk.gaps) expect(gap).toMatchObject({ lane: 'alarm', why: 'memory_full' });
    disk.site = true;
    await Promise.all(added.map(({ durable }) => durable));
    const written = disk.written.flatMap(({ rows }) => rows.map(({ seq }) => seq)).sort((a, b) => a - b);
    const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
    expect(written).toEqual([...range(1, 10), ...range(41, 50)]);
  });
});
