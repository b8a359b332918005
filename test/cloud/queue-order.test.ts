import { beforeEach, describe, expect, it } from 'vitest';
import { type ManualClock, manualClock } from '#lib/clock.fake.ts';
import type { Item } from '../../src/cloud/delivery/item.ts';
import { Queue } from '../../src/cloud/delivery/queue.ts';
import { rowOf } from './support.ts';

let clock: ManualClock;
let queue: Queue;
beforeEach(() => {
  clock = manualClock();
  queue = new Queue();
});
const add = (seq: number, more: { fresh?: boolean; lane?: 'alarm' | 'trouble' | 'arming' } = {}): Item =>
  queue.add(rowOf(clock, seq, { lane: more.lane ?? 'alarm' }), { direct: false, fresh: more.fresh ?? false });
const next = () => queue.next(clock.monotonic(), Number.POSITIVE_INFINITY)?.row.seq;
const send = (item: Item) => queue.started(item, clock.monotonic());
/** It alone fails and keeps its place. */
const fails = (item: Item, forMs = 60_000) => {
  send(item);
  const dueMono = clock.monotonic() + forMs;
  queue.setAside(item, { dueMono, keepsPlace: true, endsWithLink: false, endsWithTaken: false });
};
const delivered = (item: Item) => {
  send(item);
  queue.decided(item);
  queue.forget(item);
};

describe('events of one partition that alone fail', () => {
  it('all keep their places, whichever of them is decided first', () => {
    const [first, second] = [add(1), add(2, { fresh: true })];
    add(3, { lane: 'arming' });
    fails(first);
    expect(next()).toBeUndefined();
    clock.advance(3_000);
    expect(next()).toBe(2);
    fails(second, 10_000);
    clock.advance(10_000);
    expect(next()).toBe(2);
    delivered(second);
    expect(next()).toBeUndefined();
    clock.advance(47_000);
    expect(next()).toBe(1);
    delivered(first);
    expect(next()).toBe(3);
  });

  it('hold up no older ones: what an alarm has passed goes on', () => {
    const [older] = [add(1, { lane: 'trouble' }), add(2, { lane: 'trouble' })];
    const alarm = add(3, { fresh: true });
    expect(next()).toBe(1);
    clock.advance(3_000);
    // Not seen to be held up before now.
    expect(next()).toBe(3);
    fails(alarm);
    expect(next()).toBe(1);
    delivered(older);
    expect(next()).toBe(2);
  });
});

describe('fresh alarms of one partition that are held up', () => {
  it('count their three seconds side by side', () => {
    const hangs = add(1, { lane: 'trouble' });
    const alarms = [2, 3, 4].map((seq) => add(seq, { fresh: true }));
    expect(next()).toBe(1);
    send(hangs);
    expect(next()).toBeUndefined();
    clock.advance(3_000);
    for (const alarm of alarms) {
      expect(next()).toBe(alarm.row.seq);
      delivered(alarm);
    }
  });

  it('take turns with the older ones in a storm of them, while those are taken', () => {
    const older = [1, 2, 3].map((seq) => add(seq));
    const alarms = [4, 5, 6].map((seq) => add(seq, { fresh: true }));
    expect(next()).toBe(1);
    clock.advance(3_000);
    for (const i of [0, 1, 2]) {
      expect(next()).toBe(4 + i);
      delivered(alarms[i]!);
      expect(next()).toBe(1 + i);
      delivered(older[i]!);
    }
  });

  it('wait for no older one that has failed before', () => {
    const older = add(1);
    const alarms = [2, 3].map((seq) => add(seq, { fresh: true }));
    expect(next()).toBe(1);
    send(older);
    queue.back(older);
    clock.advance(3_000);
    for (const alarm of alarms) {
      expect(next()).toBe(alarm.row.seq);
      delivered(alarm);
    }
    expect(next()).toBe(1);
  });

  it('do not pass one another while one is under way', () => {
    const hangs = add(1, { lane: 'trouble' });
    const [alarm, end] = [add(2, { fresh: true }), add(3, { fresh: true })];
    send(hangs);
    expect(next()).toBeUndefined();
    clock.advance(3_000);
    expect(next()).toBe(2);
    send(alarm);
    expect(next()).toBeUndefined();
    expect(queue.nextDueMono()).toBe(clock.monotonic() + 3_000);
    queue.decided(alarm);
    expect(next()).toBe(end.row.seq);
  });
});

it('a poor probe comes after all others, whatever their lanes', () => {
  const alarm = add(1);
  queue.add(rowOf(clock, 2, { lane: 'activity', orderKey: 'p2' }), { direct: false, fresh: false });
  const probe = (isPoor: boolean) =>
    queue.next(clock.monotonic(), Number.POSITIVE_INFINITY, undefined, (item) => isPoor && item === alarm)?.row.seq;
  expect(probe(false)).toBe(1);
  expect(probe(true)).toBe(2);
  send(alarm);
  queue.setAside(alarm, { dueMono: 0, keepsPlace: false, endsWithLink: false, endsWithTaken: false });
  expect(probe(true)).toBe(2);
});

describe('an event in memory only that alone fails', () => {
  const held = (keepsPlace: boolean) => {
    const item = queue.add(rowOf(clock, 1, { lane: 'activity' }), { direct: true, fresh: true });
    queue.add(rowOf(clock, 2, { lane: 'activity' }), { direct: true, fresh: true });
    send(item);
    queue.setAside(item, {
      ...{ dueMono: clock.monotonic() + 60_000, keepsPlace },
      ...{ endsWithLink: false, endsWithTaken: false },
    });
    return item;
  };

  it('keeps its place when it gets a row', () => {
    const item = held(true);
    expect(next()).toBeUndefined();
    queue.written(item);
    expect(next()).toBeUndefined();
    expect(queue.directCount()).toBe(1);
    expect(queue.stored('activity')).toBe(1);
    clock.advance(60_000);
    expect(next()).toBe(1);
    delivered(item);
    expect(next()).toBe(2);
  });

  it('is read from the disk then where it has no place to keep', () => {
    const item = held(false);
    queue.written(item);
    expect(queue.get(1)).toBeUndefined();
  });
});
