import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, expect, it, vi } from 'vitest';
import { SitewardError } from '#errors.ts';
import { type CommitQueue, commitQueue } from '#site/commit-queue.ts';
import type { SiteView } from '#site/model/index.ts';
import { type QuietChange, quietWrites } from '#site/quiet-writes.ts';
import type { Commit, OutboxRow, Store } from '#site/store/index.ts';
import { commitOf, row } from './store/rows.ts';

let queue: CommitQueue | undefined;
afterEach(() => {
  queue?.stop();
  vi.useRealTimers();
});

/** The real line of commits on a disk that can fail, with the state as a number that every change counts up. */
function start() {
  const disk = { works: true, state: 0, writes: 0 };
  const shown: number[] = [];
  const zones: (readonly string[])[] = [];
  let state = 0;
  const store: Pick<Store, 'commit' | 'leave'> = {
    leave: () => undefined,
    async commit(commit: Commit) {
      if (!disk.works) throw new SitewardError('store_failed', 'the disk does not answer');
      disk.writes += 1;
      disk.state = Math.max(disk.state, Number(commit.state?.join('') ?? 0));
    },
  };
  const line = commitQueue({
    store: store as Store,
    direct: () => {},
    log: pino({ level: 'silent' }),
    metrics: new Registry(),
  });
  queue = line;
  /** As the controller does it. */
  function commit(rows: OutboxRow[], show: () => void) {
    const batch = quiet.take();
    const added = line.add({
      commit: commitOf(rows, { state: [String(state)] }),
      publish() {
        batch.show();
        show();
      },
    });
    batch.follow(added.published);
    return added;
  }
  const quiet = quietWrites({
    show({ view, changes }) {
      shown.push(view.seq);
      zones.push(changes.zones);
    },
    write: () => commit([], () => {}).durable,
    isFailing: () => line.failing,
    clock: { monotonic: () => performance.now() },
  });
  return {
    disk,
    shown,
    zones,
    change(zone = '1'): Promise<void> {
      state += 1;
      const changes = { partitions: [], zones: [zone], troubles: false, links: false };
      return quiet.add({ view: { seq: state } as SiteView, changes } satisfies QuietChange);
    },
    /** A change that an event carries. */
    event(): Promise<void> {
      state += 1;
      const now = state;
      return commit([row(now)], () => void shown.push(now)).published;
    },
    failing: () => vi.waitFor(() => expect(line.failing).toBe(true), 20_000),
  };
}

it('shows a change on a failing disk only after the older one that is already in the line', async () => {
  vi.useFakeTimers();
  const { disk, shown, change, failing } = start();
  disk.works = false;
  const first = change();
  await failing();
  await change();
  await vi.advanceTimersByTimeAsync(2000);
  await first;
  expect(shown).toEqual([1, 2]);
});

it('shows a change on a failing disk only after the older event that is already in the line', async () => {
  vi.useFakeTimers();
  const { disk, shown, change, event, failing } = start();
  disk.works = false;
  void change();
  await failing();
  await vi.advanceTimersByTimeAsync(2000);
  void event();
  await change();
  await vi.advanceTimersByTimeAsync(2000);
  expect(shown).toEqual([1, 2, 3]);
});

it('does not wait for the disk with what came before the disk was known to fail', async () => {
  vi.useFakeTimers();
  const { disk, shown, change, failing } = start();
  disk.works = false;
  const both = [change(), change()];
  await failing();
  await vi.advanceTimersByTimeAsync(2000);
  await Promise.all(both);
  expect(shown).toEqual([1, 2]);
});

it('shows a change at once when the disk fails and nothing older waits to be shown', async () => {
  vi.useFakeTimers();
  const { disk, shown, change } = start();
  disk.works = false;
  void change();
  await vi.advanceTimersByTimeAsync(2000);
  void change();
  expect(shown).toEqual([1, 2]);
});

it('writes what it showed on a failing disk once more when the disk recovers', async () => {
  vi.useFakeTimers();
  const { disk, shown, change } = start();
  disk.works = false;
  void change();
  await vi.advanceTimersByTimeAsync(2000);
  await Promise.all([change(), change()]);
  disk.works = true;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(disk).toEqual({ works: true, state: 3, writes: 2 });
  expect(shown).toEqual([1, 2, 3]);
});

it('writes nothing more when a commit that holds the change is in the line already', async () => {
  vi.useFakeTimers();
  const { disk, change, event } = start();
  disk.works = false;
  void change();
  await vi.advanceTimersByTimeAsync(2000);
  await change();
  void event();
  disk.works = true;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(disk).toEqual({ works: true, state: 3, writes: 2 });
});

it('keeps only the newest view, with all changes, while an event on a failing disk waits to be shown', async () => {
  vi.useFakeTimers();
  const { disk, shown, zones, change, event } = start();
  disk.works = false;
  void change();
  await vi.advanceTimersByTimeAsync(2000);
  void event();
  for (const zone of ['4', '5', '4']) await change(zone);
  await vi.advanceTimersByTimeAsync(2000);
  expect(shown).toEqual([1, 2, 5]);
  expect(zones).toEqual([['1'], ['4', '5']]);
});

it('resolves on a disk that works when the change is written and shown', async () => {
  const { disk, shown, change } = start();
  await Promise.all([change(), change(), change()]);
  expect(disk.state).toBe(3);
  expect(shown).toEqual([1, 2, 3]);
});

it('writes the first change at once, and those that follow it closely together', async () => {
  vi.useFakeTimers();
  const { disk, shown, change } = start();
  for (let n = 1; n <= 6; n += 1) {
    void change();
    await vi.advanceTimersByTimeAsync(2);
  }
  expect({ ...disk, shown }).toEqual({ works: true, state: 1, writes: 1, shown: [1] });
  await vi.advanceTimersByTimeAsync(50);
  expect({ ...disk, shown }).toEqual({ works: true, state: 6, writes: 2, shown: [1, 2, 3, 4, 5, 6] });
});

it('does not wait for more changes when an event takes them with it', async () => {
  vi.useFakeTimers();
  const { disk, shown, change, event } = start();
  await change();
  const second = change();
  await event();
  await second;
  expect({ ...disk, shown }).toEqual({ works: true, state: 3, writes: 2, shown: [1, 2, 3] });
});

it('writes at once when so many wait that a panel would have to', async () => {
  vi.useFakeTimers();
  const { disk, change } = start();
  await change();
  await Promise.all(Array.from({ length: 16 }, () => change()));
  expect(disk).toEqual({ works: true, state: 17, writes: 2 });
});
