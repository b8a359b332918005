import { afterEach, describe, expect, it } from 'vitest';
import { accept, type Harness, type HarnessOptions, harness } from './delivery-harness.ts';
import { json, rowOf, until } from './support.ts';

/** On the first day the cloud has nothing that could be sent again to compare an event with. */
let h: Harness;
afterEach(() => h?.close());
async function setUp(options: HarnessOptions = {}) {
  h = await harness(options);
}
const seqs = () => h.posts.map((post) => post.seq);
const isDelivered = async (seq: number) =>
  (await h.store.events({ limit: 1, beforeSeq: seq + 1 }))[0]?.delivery === 'delivered';

describe('the very first event', () => {
  it('that alone is not permitted holds up no other, and is tried again when another was taken', async () => {
    let permits = false;
    await setUp({
      onEvent: (post, nth, response, socket) =>
        post.seq === 1 && !permits ? json(response, 403, {}) : accept(post, nth, response, socket),
    });
    await h.commit([rowOf(h.clock, 1)]);
    await until('it is not permitted', () => h.links.at(-1)?.[1] === 'forbidden');
    const began = h.clock.monotonic();
    await h.commit([rowOf(h.clock, 2, { lane: 'trouble', orderKey: 'p2' })]);
    await h.passTime('another is sent', () => seqs().includes(2), 500);
    // And an alarm of its own partition after three seconds.
    await h.commit([rowOf(h.clock, 3)]);
    await h.passTime('the alarm is sent', () => seqs().includes(3), 500);
    expect(h.clock.monotonic() - began).toBeLessThan(10_000);
    permits = true;
    await h.passTime('it is delivered itself', () => isDelivered(1));
  });

  it('that is not permitted because none is shows so at once and all the time, and the second one ends the tries', async () => {
    let permits = false;
    await setUp({
      onEvent: (post, nth, response, socket) =>
        permits ? accept(post, nth, response, socket) : json(response, 403, { error: 'forbidden' }),
    });
    await h.commit([rowOf(h.clock, 1)]);
    await until('it is not permitted', () => h.links.at(-1)?.[1] === 'forbidden');
    const well: string[] = [];
    const passing = (what: string, ms: number) => {
      const end = h.clock.monotonic() + ms;
      return h.passTime(what, () => {
        const { link, trouble } = h.delivery.state();
        if (link !== 'down' || trouble !== 'forbidden') well.push(`${link} ${trouble}`);
        return h.clock.monotonic() > end;
      });
    };
    await passing('half a minute', 30_000);
    expect(seqs()).toEqual([1]);
    // It is not tried at once, though nothing rests any more.
    expect(h.delivery.state().nextTryMs).toBeGreaterThan(240_000);
    await h.commit([2, 3, 4, 5].map((seq) => rowOf(h.clock, seq, { orderKey: `p${seq}` })));
    await passing('four minutes', 240_000);
    expect(seqs().length).toBeLessThanOrEqual(3);
    expect(h.links.slice(-1)).toEqual([[false, 'forbidden']]);
    expect(well).toEqual([]);
    permits = true;
    h.delivery.retryNow();
    await h.passTime('all are delivered', async () => (await h.waiting()) === 0);
  });

  it('that a gateway alone gives up on, an alarm, holds up no event of a lesser lane for long', async () => {
    await setUp({
      onEvent: (post, nth, response, socket) =>
        post.seq === 1 ? json(response, 502, {}) : accept(post, nth, response, socket),
    });
    await h.commit([rowOf(h.clock, 1)]);
    await until('it fails', () => h.links.at(-1)?.[1] === 'busy');
    const began = h.clock.monotonic();
    await h.commit([
      rowOf(h.clock, 2, { lane: 'trouble', orderKey: 'p2' }),
      rowOf(h.clock, 3, { lane: 'activity', orderKey: 'p3' }),
    ]);
    await h.passTime('the others are sent', () => seqs().includes(2) && seqs().includes(3));
    expect(h.clock.monotonic() - began).toBeLessThan(30_000);
  });
});
