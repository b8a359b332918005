import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Lane } from '#site/model/index.ts';
import { spaceLevel, thresholds } from '#site/store/space.ts';
import {
  commitOf,
  metric,
  parkedVerdict,
  row,
  settled,
  startStore,
  type TestStore,
  temporaryDir,
  until,
} from './helpers.ts';
import { isRoot, smallDisk } from './small-disk.ts';

const quick = { lookEveryMs: 50, firstLookMs: 1, keepAlarms: 20 } as const;
const text = 'x'.repeat(2000);
const mib = 1024 ** 2;

/** Rows with two kilobytes each; the body tells the number. */
const rows = (lane: Lane, from: number, count: number, more: Parameters<typeof row>[1] = {}) =>
  Array.from({ length: count }, (_, index) =>
    row(from + index, { lane, body: JSON.stringify({ seq: from + index, text }), ...more }),
  );

/** Commits one row after the other until the store refuses one; returns the numbers that were acknowledged. */
async function fillWith(store: TestStore, lane: Lane, from: number, most: number): Promise<number[]> {
  const acknowledged: number[] = [];
  for (let seq = from; seq < from + most; seq += 10) {
    try {
      await store.commit(commitOf(rows(lane, seq, 10)));
    } catch {
      return acknowledged;
    }
    acknowledged.push(...Array.from({ length: 10 }, (_, index) => seq + index));
  }
  return acknowledged;
}

async function waiting(store: TestStore, lane: Lane): Promise<number[]> {
  const found: number[] = [];
  for (;;) {
    const part = await store.take(lane, found.at(-1) ?? 0, 1000);
    if (part.length === 0) return found;
    found.push(...part.map(({ seq }) => seq));
  }
}

const lostOf = async (store: TestStore, lane: Lane) =>
  (await store.gaps({ limit: 1000 })).filter((gap) => gap.lane === lane).reduce((sum, { count }) => sum + count, 0);

describe('the levels of a disk', () => {
  it.each([
    [32_000 * mib, 3000 * mib, 'ok'],
    [32_000 * mib, 2000 * mib, 'soft'],
    [32_000 * mib, 500 * mib, 'hard'],
    [32_000 * mib, 7 * mib, 'full'],
    [2_000_000 * mib, 100_000 * mib, 'ok'],
    [64 * mib, 40 * mib, 'ok'],
    [64 * mib, 12 * mib, 'soft'],
    [64 * mib, 5 * mib, 'hard'],
    [64 * mib, 1 * mib, 'full'],
  ] as const)('with %d bytes and %d free: %s', (total, free, level) => {
    expect(spaceLevel({ total, free }, 'ok')).toBe(level);
  });

  it('end a little above where they begin, so that they do not flap', () => {
    const total = 32_000 * mib;
    const edge = thresholds(total).hard;
    expect(spaceLevel({ total, free: edge - 1 }, 'soft')).toBe('hard');
    expect(spaceLevel({ total, free: edge + 1 }, 'hard')).toBe('hard');
    expect(spaceLevel({ total, free: edge * 1.2 }, 'hard')).toBe('soft');
    expect(spaceLevel({ total, free: edge + 1 }, 'soft')).toBe('soft');
  });
});

describe.skipIf(!isRoot)('the reserve file', () => {
  it('is really there, private, and a sixteenth of a small disk', async () => {
    const { dir } = smallDisk('ext4', 64);
    const store = await startStore(dir, { limits: quick });
    await until(() => store.storage().reserveBytes > 0);
    const { size, blocks, mode } = statSync(join(dir, 'reserve'));
    expect(size).toBeLessThanOrEqual(4 * mib);
    expect(blocks * 512).toBeGreaterThanOrEqual(size);
    expect(mode & 0o777).toBe(0o600);
  });

  it('goes when nothing fits any more, so that an alarm still does, and comes back with the room', async () => {
    const small = smallDisk('ext4', 64);
    const store = await startStore(small.dir, { limits: { ...quick, keepAlarms: 1000 } });
    await until(() => store.storage().reserveBytes > 0);
    small.fill();
    const kept = await fillWith(store, 'alarm', 1, 400);
    expect(kept.length).toBe(400);
    await until(() => store.storage().reserveBytes === 0);
    expect(['hard', 'full']).toContain(store.storage().level);
    expect(await waiting(store, 'alarm')).toEqual(kept);
    small.free();
    await until(() => store.storage().level === 'ok' && store.storage().reserveBytes > 0);
  });
});

describe.skipIf(!isRoot).each(['ext4', 'tmpfs'] as const)('a full disk (%s)', (type) => {
  it('takes history first, then waiting activity, and no alarm while there is either', async () => {
    const small = smallDisk(type, 64);
    const store = await startStore(small.dir, { limits: quick });
    await store.commit(commitOf(rows('alarm', 1, 100)));
    await store.settle(Array.from({ length: 50 }, (_, index) => settled(index + 1)));
    await store.commit(commitOf(rows('activity', 101, 600)));
    await until(() => store.storage().reserveBytes > 0);
    small.fill();
    const kept = await fillWith(store, 'alarm', 1001, 3000);
    const alarms = await waiting(store, 'alarm');
    const activity = await waiting(store, 'activity');
    expect(kept).toHaveLength(3000);
    // Each acknowledged event waits or stands in a gap record; of the alarms only the middle, and after all else.
    expect(activity.length + (await lostOf(store, 'activity'))).toBe(600);
    expect(alarms.length + (await lostOf(store, 'alarm'))).toBe(50 + kept.length);
    expect(await lostOf(store, 'alarm')).toBeGreaterThan(0);
    expect(activity).toEqual([]);
    expect(alarms.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, index) => 51 + index));
    expect(alarms.slice(-20)).toEqual(Array.from({ length: 20 }, (_, index) => 3981 + index));
    expect((await store.events({ limit: 1000 })).filter(({ delivery }) => delivery === 'delivered')).toEqual([]);
  });

  it('counts exactly what gave way: every event is waiting or in a gap record', async () => {
    const small = smallDisk(type, 64);
    const store = await startStore(small.dir, { limits: quick });
    await store.commit(commitOf(rows('activity', 1, 300)));
    await until(() => store.storage().reserveBytes > 0);
    small.fill();
    await fillWith(store, 'activity', 301, 3000);
    const kept = await waiting(store, 'activity');
    const { lost, pending } = await store.stats();
    const last = kept.at(-1) ?? 0;
    expect(lost).toBeGreaterThan(0);
    expect(pending.activity).toBe(kept.length);
    // The newest stay, the oldest went, and nothing is missing in between.
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => last - kept.length + 1 + index));
    expect(lost + kept.length).toBe(last);
    for (const gap of await store.gaps({ limit: 100 }))
      expect(gap).toMatchObject({ lane: 'activity', why: 'disk_full' });
    await until(async () => (await metric(store, 'siteward_store_lost_total')) === lost);
  });
});

describe('a file at its largest size', () => {
  const tight = { ...quick, siteBytes: 400 * 4096, bulkBytes: 400 * 4096 };

  it('gives up troubles before arming and arming before alarms, and of alarms only the middle', async () => {
    const store = await startStore(temporaryDir(), { limits: tight });
    await store.commit(commitOf(rows('trouble', 1, 40)));
    await store.commit(commitOf(rows('arming', 41, 40)));
    const order: string[] = [];
    let seq = 81;
    for (; seq < 2000; seq += 5) {
      await store.commit(commitOf(rows('alarm', seq, 5)));
      for (const lane of ['trouble', 'arming', 'alarm'] as const) {
        if (!order.includes(lane) && (await lostOf(store, lane)) > 0) {
          order.push(lane);
        }
      }
      if (order.includes('alarm')) break;
    }
    expect(order).toEqual(['trouble', 'arming', 'alarm']);
    expect(await waiting(store, 'trouble')).toEqual([]);
    expect(await waiting(store, 'arming')).toEqual([]);
    const alarms = await waiting(store, 'alarm');
    expect(alarms.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, index) => 81 + index));
    expect(alarms.slice(-20)).toEqual(Array.from({ length: 20 }, (_, index) => seq - 15 + index));
    expect(alarms.length + (await lostOf(store, 'alarm'))).toBe(seq + 5 - 81);
  });

  it('lets no alarm go for a trouble, an arming event or a settlement', async () => {
    const store = await startStore(temporaryDir(), { limits: tight });
    let seq = 1;
    for (; (await store.stats()).bytes.site < 380 * 4096 && seq < 1000; seq += 10) {
      await store.commit(commitOf(rows('alarm', seq, 10)));
    }
    const before = (await waiting(store, 'alarm')).length + (await lostOf(store, 'alarm'));
    const lost = await lostOf(store, 'alarm');
    for (let more = 10_000; more < 10_600; more += 10) {
      await store.commit(commitOf(rows('trouble', more, 10))).catch(() => undefined);
    }
    expect(await lostOf(store, 'alarm')).toBe(lost);
    expect(await waiting(store, 'alarm')).toHaveLength(before - lost);
  });

  it('never gives up a silent event, which shows nowhere', async () => {
    const store = await startStore(temporaryDir(), { limits: { ...tight, keepAlarms: 0 } });
    await store.commit(commitOf(rows('alarm', 1, 10, { silent: true })));
    for (let seq = 11; seq < 1000; seq += 10) await store.commit(commitOf(rows('alarm', seq, 10)));
    expect((await waiting(store, 'alarm')).slice(0, 10)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const gaps = await store.gaps({ limit: 100 });
    expect(gaps.length).toBeGreaterThan(0);
    for (const gap of gaps) expect(gap.seqFrom).toBeGreaterThan(10);
  });

  it('takes back the count of an event that was on its way and arrived', async () => {
    const store = await startStore(temporaryDir(), { limits: tight });
    let seq = 1;
    for (; (await lostOf(store, 'activity')) === 0; seq += 10) await store.commit(commitOf(rows('activity', seq, 10)));
    const lost = await lostOf(store, 'activity');
    await store.settle([settled(1, 'activity'), settled(2, 'activity'), settled(2, 'activity')]);
    expect(await lostOf(store, 'activity')).toBe(lost - 2);
  });

  it('keeps one growing gap record per kind until it is read to be reported', async () => {
    const store = await startStore(temporaryDir(), { limits: tight });
    for (let seq = 1; seq < 1000; seq += 10) await store.commit(commitOf(rows('activity', seq, 10)));
    const [first, ...rest] = await store.gaps({ limit: 10, unreported: true });
    expect(rest).toEqual([]);
    for (let seq = 1001; seq < 1500; seq += 10) await store.commit(commitOf(rows('activity', seq, 10)));
    const later = await store.gaps({ limit: 10, unreported: true });
    expect(later).toHaveLength(2);
    expect(later[1]).toEqual(first);
  });
});

describe.skipIf(!isRoot)('a card of 24 MiB under load', () => {
  it('gives up no trouble, arming or alarm while activity waits, and its pictures go with the events', async () => {
    const small = smallDisk('ext4', 24);
    const forgotten = new Set<string>();
    const onForgotten = (files: readonly string[]) => {
      for (const file of files) forgotten.add(file);
    };
    const store = await startStore(small.dir, { limits: quick, onForgotten });
    const media = [{ index: 0, kind: 'snapshot', camera: 'yard', offsetMs: 0 }] as never;
    await store.commit(commitOf(rows('activity', 1, 10, { media })));
    const ready = { state: 'ready', bytes: 1, sha256: 'x', mime: 'image/jpeg', at: 1 } as const;
    const names = Array.from({ length: 10 }, (_, index) => `${index + 1}-0.jpg`);
    await store.updateMedia(
      names.map((file, index) => ({ ...ready, seq: index + 1, lane: 'activity' as const, index: 0, file })),
    );
    await store.memory('panels').set('pin', 'kept');
    await fillWith(store, 'activity', 11, 1500);
    small.fill();
    const put: Record<Lane, number> = { alarm: 0, arming: 0, trouble: 0, activity: 0 };
    let seq = 10_001;
    for (let round = 0; round < 250; round += 1) {
      const lane = (['trouble', 'arming', 'alarm'] as const)[round % 3] ?? 'alarm';
      const stored = await store.commit(commitOf(rows(lane, seq, 10))).then(
        () => true,
        () => false,
      );
      seq += 10;
      if (stored) put[lane] += 10;
      const { pending, lanes } = await store.stats();
      const lost = lanes.trouble.lost + lanes.arming.lost + lanes.alarm.lost;
      if (lost > 0) expect(pending.activity).toBe(0);
    }
    const { pending, lanes } = await store.stats();
    expect(lanes.activity.lost + pending.activity).toBeGreaterThanOrEqual(10);
    for (const lane of ['trouble', 'arming', 'alarm'] as const) {
      expect(pending[lane] + lanes[lane].lost).toBe(put[lane]);
    }
    expect(lanes.alarm.lost + lanes.arming.lost + lanes.trouble.lost).toBeGreaterThan(0);
    await until(() => names.every((file) => forgotten.has(file)));
    expect(await store.memory('panels').get('pin')).toBe('kept');
  }, 60_000);
});

describe.skipIf(!isRoot)('a bulk.db that is gone while the disk is full', () => {
  it('is told of when there is room again, starts and stops later, with the refused events it held', async () => {
    const small = smallDisk('ext4', 24);
    const first = await startStore(small.dir, { limits: quick });
    await first.commit(commitOf([...rows('alarm', 1, 1), ...rows('activity', 2, 3)]));
    await first.settle([parkedVerdict(2, 'activity')]);
    await first.stop();
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(small.dir, `bulk.db${suffix}`), { force: true });
    small.fill();
    for (let starts = 0; starts < 2; starts += 1) {
      const store = await startStore(small.dir, { limits: { ...quick, carefulMs: 0 } });
      expect(await store.gaps({ limit: 10 })).toEqual([]);
      await store.stop();
    }
    small.free();
    const store = await startStore(small.dir, { limits: { ...quick, carefulMs: 0 } });
    await until(async () => (await lostOf(store, 'activity')) === 3);
    expect(await store.gaps({ limit: 10 })).toMatchObject([{ seqFrom: 2, seqTo: 4, count: 3, why: 'damage' }]);
  });
});
