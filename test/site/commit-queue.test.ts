import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { SitewardError } from '#errors.ts';
import { type CommitQueue, commitQueue } from '#site/commit-queue.ts';
import type { Lane } from '#site/model/index.ts';
import type { Commit, NewGap, OutboxRow, Store } from '#site/store/index.ts';
import { commitOf, row } from './store/rows.ts';

let queue: CommitQueue | undefined;
afterEach(() => queue?.stop());

const failed = () => Promise.reject(new SitewardError('store_failed', 'the disk does not answer'));

/** A disk whose files can fail each by itself. */
function start(options: { commitCap?: number; byteCap?: number; wasAccepted?: (seq: number) => boolean } = {}) {
  const disk = {
    ...{ site: true, bulk: true, hangs: false, tries: 0 },
    gaps: [] as NewGap[],
    written: [] as Commit[],
    left: undefined as (() => readonly NewGap[]) | undefined,
    /** Told of each commit as it is written. */
    seen: undefined as ((commit: Commit) => void) | undefined,
  };
  const direct: OutboxRow[] = [];
  const late: OutboxRow[] = [];
  const store: Pick<Store, 'commit' | 'addGap' | 'leave'> = {
    commit(commit) {
      disk.tries += 1;
      if (disk.hangs) return new Promise(() => undefined);
      const isOf = ({ lane }: { lane: Lane }) => lane === 'activity';
      const isBulk = commit.rows.some(isOf) || commit.reported?.some(isOf) === true;
      const isSite = commit.rows.some(({ lane }) => lane !== 'activity') || commit.state !== undefined;
      if ((isBulk && !disk.bulk) || (isSite && !disk.site)) return failed();
      disk.seen?.(commit);
      // As it was when it was written.
      disk.written.push({ ...commit });
      return Promise.resolve();
    },
    async addGap(gap) {
      if (!disk.bulk) return failed();
      disk.gaps.push(gap);
    },
    leave(losses) {
      disk.left = losses;
    },
  };
  const log = pino({ level: 'silent' });
  const made = commitQueue({
    store: store as Store,
    direct: (rows) => void direct.push(...rows),
    written: (rows) => void late.push(...rows),
    log,
    metrics: new Registry(),
    ...options,
  });
  queue = made;
  return { disk, direct, late, queue: made };
}

const activity = (seq: number) => row(seq, { lane: 'activity' });
const mixed = (seq: number) => commitOf([row(seq), activity(seq + 1)], { state: ['{}'] });

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
    expect(disk.written).toMatchObject([{ rows: [{ seq: 1 }], state: ['{}'] }]);
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

describe('a site.db that fails', () => {
  it('is waited for once; what comes after is published and sent from memory at once, until it takes writes again', async () => {
    const { disk, direct, late, queue } = start();
    disk.site = false;
    const shown: boolean[] = [];
    const add = (seq: number) =>
      queue.add({ commit: commitOf([row(seq)]), publish: (isDurable) => void shown.push(isDurable('alarm')) });
    await add(1).published;
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      const later = [2, 3, 4].map((seq) => add(seq).published);
      await vi.advanceTimersByTimeAsync(1);
      await Promise.all(later);
      expect(shown).toEqual([false, false, false, false]);
      expect(direct.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
      expect(late).toEqual([]);
      disk.site = true;
      // What waits for its next try since then waits by this clock.
      await vi.advanceTimersByTimeAsync(60_000);
    } finally {
      vi.useRealTimers();
    }
    await expect.poll(() => disk.written.length, { timeout: 10_000 }).toBeGreaterThan(0);
    await add(5).published;
    expect(shown.at(-1)).toBe(true);
    // Whoever sent them from memory hears that they are on disk now.
    await expect.poll(() => late.map(({ seq }) => seq).toSorted(), { timeout: 10_000 }).toEqual([1, 2, 3, 4]);
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

describe('an event that tells of losses', () => {
  const mark = (id: number, lane: 'alarm' | 'activity') => ({ lane, id, seqFrom: 1, seqTo: 9 });
  const telling = (seq: number) => ({
    ...commitOf([row(seq, { lane: 'trouble' })], { state: ['{}'] }),
    reported: [mark(1, 'alarm'), mark(2, 'activity')],
  });

  it('is written with the marks of site.db, and those of bulk.db follow though bulk.db fails for a while', async () => {
    const { disk, queue } = start();
    disk.bulk = false;
    await queue.add({ commit: telling(1), publish: () => {} }).durable;
    expect(disk.written).toMatchObject([{ rows: [{ seq: 1 }], reported: [{ id: 1 }] }]);
    expect(queue.failing).toBe(false);
    disk.bulk = true;
    await expect.poll(() => disk.written.length, { timeout: 10_000 }).toBe(2);
    expect(disk.written[1]).toMatchObject({ rows: [], reported: [{ id: 2 }] });
  });

  it('is written with its marks though other troubles give way in full memory', async () => {
    const { disk, queue } = start();
    disk.site = false;
    for (let seq = 1; seq <= 2400; seq += 1) queue.add({ commit: commitOf([row(seq)]), publish: () => {} });
    queue.add({ commit: telling(2401), publish: () => {} });
    queue.add({ commit: commitOf([row(2402, { lane: 'trouble' })]), publish: () => {} });
    disk.site = true;
    await expect.poll(() => queue.waitingRows, { timeout: 10_000 }).toBe(0);
    await expect.poll(() => disk.gaps).toMatchObject([{ lane: 'trouble', seqFrom: 2402, count: 1 }]);
    await expect
      .poll(() => disk.written.flatMap(({ reported = [] }) => reported))
      .toMatchObject([{ id: 1 }, { id: 2 }]);
    expect(disk.written.flatMap(({ rows }) => rows).filter(({ lane }) => lane === 'trouble')).toMatchObject([
      { seq: 2401 },
    ]);
  });

  it('is written with its marks though the middle of a very long line gives way', async () => {
    const { disk, queue } = start({ commitCap: 20 });
    disk.site = false;
    const add = (commit: Commit) => queue.add({ commit, publish: () => {} });
    for (let seq = 1; seq <= 10; seq += 1) add(commitOf([row(seq)]));
    const { durable } = add(telling(11));
    for (let seq = 12; seq <= 50; seq += 1) add(commitOf([row(seq)]));
    await expect.poll(() => disk.gaps.reduce((sum, { count }) => sum + count, 0)).toBe(30);
    disk.site = true;
    await durable;
    await expect
      .poll(() => disk.written.flatMap(({ reported = [] }) => reported))
      .toMatchObject([{ id: 1 }, { id: 2 }]);
    expect(disk.gaps.filter(({ lane }) => lane === 'trouble')).toEqual([]);
    await expect.poll(() => disk.written.flatMap(({ rows }) => rows)).toHaveLength(20);
  });
});

describe('alarms at the cap of what may wait in memory', () => {
  it('the middle ones give way, each is one count of a gap record, and the first and the last are written', async () => {
    const { disk, queue } = start({ commitCap: 20 });
    disk.site = false;
    const added = Array.from({ length: 50 }, (_, index) =>
      queue.add({ commit: commitOf([row(index + 1)], { state: [`{"n":${index + 1}}`] }), publish: () => {} }),
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

describe('events sent from memory of which some give way', () => {
  it('of the others, and of no more, it is told that they are on disk', async () => {
    const { disk, late, queue } = start({ commitCap: 20 });
    disk.site = false;
    const add = (seq: number) => queue.add({ commit: commitOf([row(seq)]), publish: () => {} });
    await add(1).published;
    const added = Array.from({ length: 49 }, (_, index) => add(index + 2));
    await added.at(-1)?.published;
    await expect.poll(() => disk.gaps.reduce((sum, { count }) => sum + count, 0)).toBe(30);
    disk.site = true;
    await Promise.all(added.map(({ durable }) => durable));
    const seqs = (rows: readonly OutboxRow[]) => rows.map(({ seq }) => seq).sort((a, b) => a - b);
    await expect.poll(() => seqs(late)).toEqual(seqs(disk.written.flatMap(({ rows }) => rows)));
    expect(late).toHaveLength(20);
  });
});

describe('an event that gave way in memory though the cloud has it', () => {
  it('is no loss', async () => {
    const { disk, queue } = start({ commitCap: 20, wasAccepted: (seq) => seq % 2 === 0 });
    disk.site = false;
    for (let seq = 1; seq <= 50; seq += 1) queue.add({ commit: commitOf([row(seq)]), publish: () => {} });
    await expect.poll(() => disk.gaps.reduce((sum, { count }) => sum + count, 0)).toBe(15);
  });
});

describe('a stop', () => {
  it('writes what waited for a full disk when there is room again, without the wait of the next try', async () => {
    const { disk, queue } = start();
    disk.site = false;
    disk.bulk = false;
    const { durable } = queue.add({ commit: mixed(1), publish: () => {} });
    // After several failures the next try is seconds away.
    await expect.poll(() => disk.tries, { timeout: 10_000 }).toBeGreaterThanOrEqual(10);
    disk.site = true;
    disk.bulk = true;
    const before = disk.tries;
    await queue.stop();
    await durable;
    expect(disk.tries).toBe(before + 2);
    expect(disk.written.flatMap(({ rows }) => rows.map(({ seq }) => seq)).sort()).toEqual([1, 2]);
  });

  it('tries what the disk still does not take once more, and says that it was not written', async () => {
    const { disk, queue } = start();
    disk.site = false;
    const { durable, durableIn } = queue.add({ commit: commitOf([row(1)]), publish: () => {} });
    // Nobody needs to listen to this one.
    void durableIn('alarm');
    await expect.poll(() => queue.failing).toBe(true);
    await queue.stop();
    await expect(durable).rejects.toMatchObject({ code: 'stopped' });
    const { tries } = disk;
    disk.site = true;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(disk.tries).toBe(tries);
  });

  it('is held up by no disk that hangs', async () => {
    const { disk, queue } = start();
    disk.hangs = true;
    const { durable } = queue.add({ commit: commitOf([row(1)]), publish: () => {} });
    durable.catch(() => undefined);
    await queue.stop();
    expect(disk.tries).toBe(1);
    expect(queue.waitingRows).toBe(1);
  });
});

describe('a stop on a disk that takes nothing', () => {
  it('leaves the count of what is in memory only, by lane, without what the cloud has and without silent events', async () => {
    const { disk, queue } = start({ wasAccepted: (seq) => seq === 2 });
    disk.site = false;
    disk.bulk = false;
    const rows = [
      row(1),
      row(2),
      row(3),
      row(4, { silent: true }),
      row(5, { lane: 'arming' }),
      row(6, { toCloud: false }),
    ];
    for (const one of rows) queue.add({ commit: commitOf([one]), publish: () => {} });
    queue.add({ commit: commitOf([activity(7)]), publish: () => {} });
    await queue.stop();
    expect(disk.left?.()).toMatchObject([
      { lane: 'alarm', count: 2, seqFrom: 1, seqTo: 3, why: 'memory_full' },
      { lane: 'arming', count: 1, seqFrom: 5, seqTo: 5 },
      { lane: 'activity', count: 1, seqFrom: 7, seqTo: 7 },
    ]);
  });

  it('leaves the counts of rows given up before which the store never took', async () => {
    const { disk, queue } = start();
    disk.site = false;
    disk.bulk = false;
    for (let seq = 1; seq <= 1210; seq += 1) queue.add({ commit: commitOf([activity(seq)]), publish: () => {} });
    await queue.stop();
    const left = disk.left?.() ?? [];
    expect(left.reduce((sum, { count }) => sum + count, 0)).toBe(1210);
  });

  it('leaves nothing when the disk takes it at last', async () => {
    const { disk, queue } = start();
    disk.site = false;
    const added = queue.add({ commit: commitOf([row(1)]), publish: () => {} });
    await expect.poll(() => disk.tries).toBeGreaterThan(0);
    disk.site = true;
    await queue.stop();
    await added.durable;
    expect(disk.left?.() ?? []).toEqual([]);
  });
});

describe('commits that wait for a disk', () => {
  const stateOf = (n: number) => [JSON.stringify({ n })];
  const highest = ({ rows }: Commit) => Math.max(...rows.map(({ seq }) => seq));

  it('are never written beside a state that does not know of their rows, the newest first and the others without one', async () => {
    const { disk, queue } = start();
    disk.site = false;
    const written: { seq: number; n: number | undefined }[] = [];
    disk.seen = (commit) => {
      const { n } = commit.state === undefined ? {} : (JSON.parse(commit.state.join('')) as { n: number });
      written.push({ seq: highest(commit), n });
    };
    const add = (seq: number) =>
      queue.add({ commit: commitOf([row(seq)], { state: stateOf(seq) }), publish: () => {} }).durable;
    const durable = Array.from({ length: 300 }, (_, index) => add(index + 1));
    await expect.poll(() => disk.tries).toBeGreaterThan(300);
    disk.site = true;
    await Promise.all([...durable, add(301)]);
    let known = 0;
    for (const { seq, n } of written) {
      if (n !== undefined) expect(n).toBeGreaterThanOrEqual(seq);
      known = Math.max(known, n ?? 0);
      expect(known).toBeGreaterThanOrEqual(seq);
    }
    expect(written).toHaveLength(301);
    expect(written.filter(({ n }) => n !== undefined).length).toBeLessThan(50);
  });

  it('above a bound in bytes the middle ones give way, each counted', async () => {
    const { disk, queue } = start({ byteCap: 60_000 });
    disk.site = false;
    const add = (seq: number) =>
      queue.add({ commit: commitOf([row(seq)], { state: ['{}'] }), publish: () => {} }).durable;
    const durable = Array.from({ length: 100 }, (_, index) => add(index + 1));
    const counted = () => disk.gaps.reduce((sum, { count }) => sum + count, 0);
    await expect.poll(counted, { timeout: 10_000 }).toBeGreaterThan(50);
    disk.site = true;
    await Promise.all(durable);
    const seqs = disk.written.map(highest).sort((a, b) => a - b);
    expect([seqs[0], seqs.at(-1), seqs.length + counted()]).toEqual([1, 100, 100]);
  });
});
