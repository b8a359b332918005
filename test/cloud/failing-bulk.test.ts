import { afterEach, describe, expect, it } from 'vitest';
import type { Store } from '#site/store/index.ts';
import { accept, type Harness, harness } from './delivery-harness.ts';
import { json, rowOf, until, withMembers } from './support.ts';

let h: Harness;
afterEach(() => h.close());

/** The store as it answers while `bulk.db` refuses every write. */
function withBadBulk(store: Store): Store {
  const settle: Store['settle'] = async (verdicts, options) => {
    const ofSite = verdicts.filter(({ lane }) => lane !== 'activity');
    if (ofSite.length > 0) await store.settle(ofSite, options);
    if (ofSite.length < verdicts.length) throw new Error('bulk.db did not confirm a write');
  };
  return withMembers(store, { settle });
}

/** The store as it answers on a disk that takes no writes: what was stored can still be read. */
const withoutVerdicts = (store: Store): Store =>
  withMembers(store, { settle: () => Promise.reject(new Error('the disk is read-only')) });

const activity = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) =>
    rowOf(h.clock, from + index, { lane: 'activity', orderKey: `k${index % 20}` }),
  );
const sent = (seq: number) => h.posts.filter((post) => post.seq === seq).length;

describe('while bulk.db takes no verdicts', () => {
  it('an alarm is sent, and its verdict written, after more activity than may wait for a verdict', async () => {
    h = await harness({ withStore: withBadBulk });
    for (let from = 1; from < 2_200; from += 100) await h.commit(activity(from, 100));
    await until('no more activity is sent', () => h.posts.length >= 2_000);
    await h.commit([rowOf(h.clock, 5_000)]);
    await until('the alarm is sent', () => sent(5_000) === 1);
    await until('its verdict is on disk', async () => (await h.store.take('alarm', 0, 10)).length === 0);
  });

  it('a refused alarm that is put back in line is sent again', async () => {
    let isRefused = true;
    h = await harness({
      withStore: withBadBulk,
      onEvent: (post, nth, response, server) =>
        post.seq === 1 && isRefused ? json(response, 422, {}) : accept(post, nth, response, server),
    });
    await h.commit([rowOf(h.clock, 1), ...activity(2, 1)]);
    await h.passTime('it is parked', async () => (await h.store.parked({ limit: 5 })).length === 1, 61_000);
    isRefused = false;
    const before = sent(1);
    await h.store.retryParked([{ seq: 1, lane: 'alarm' }]);
    h.delivery.retried();
    await h.passTime(
      'it is accepted',
      async () => sent(1) > before && (await h.store.take('alarm', 0, 10)).length === 0,
      61_000,
    );
    expect(await h.store.parked({ limit: 5 })).toEqual([]);
  });
});

describe('while no file takes a verdict', () => {
  it('fresh alarms and what is in memory only are sent past a backlog that rests', async () => {
    h = await harness({ withStore: withoutVerdicts, start: false });
    for (let from = 1; from < 2_200; from += 100)
      await h.commit(Array.from({ length: 100 }, (_, i) => rowOf(h.clock, from + i, { orderKey: `k${i % 20}` })));
    await h.delivery.start(new AbortController().signal);
    await until('the backlog rests', () => h.posts.length >= 2_000 && h.delivery.state().inFlight === 0);
    const before = h.posts.length;
    h.delivery.direct([
      rowOf(h.clock, 5_000, { orderKey: 'other' }),
      rowOf(h.clock, 5_001, { orderKey: 'k19' }),
      rowOf(h.clock, 5_002, { lane: 'trouble', orderKey: 'k18' }),
    ]);
    await until('they are sent', () => sent(5_000) + sent(5_001) + sent(5_002) === 3);
    expect(h.posts.length).toBe(before + 3);
  });
});

describe('a stop', () => {
  it('writes every verdict that is there, though one request gets no answer', async () => {
    const answered: number[] = [];
    h = await harness({
      delivery: { slots: 20 },
      onEvent(post, nth, response, server) {
        if (post.seq === 1) return;
        answered.push(post.seq);
        return accept(post, nth, response, server);
      },
    });
    await h.commit([rowOf(h.clock, 1, { orderKey: 'p1' })]);
    for (let seq = 2; seq < 10; seq += 1) {
      await h.commit([rowOf(h.clock, seq, { orderKey: `p${seq}` })]);
      await until('it is answered', () => answered.length === seq - 1);
    }
    await h.delivery.stop();
    expect((await h.store.take('alarm', 0, 20)).map(({ seq }) => seq)).toEqual([1]);
  });
});
