import { afterEach, describe, expect, it } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import { createSpread } from '../../src/cloud/delivery/spread.ts';
import { createWatchdog } from '../../src/cloud/delivery/watchdog.ts';
import { accept, type Harness, type HarnessOptions, harness } from './delivery-harness.ts';
import { html, rowOf, until } from './support.ts';

let h: Harness;
afterEach(() => h?.close());

async function setUp(options: HarnessOptions = {}): Promise<void> {
  h = await harness({ withLine: true, ...options });
}
const empty = async () => (await h.waiting()) === 0;
const seqs = () => h.posts.map(({ seq }) => seq);

async function counted(metric: string): Promise<Record<string, number>> {
  const found = await h.metrics.getSingleMetric(metric)?.get();
  return Object.fromEntries(found?.values.map(({ labels, value }) => [String(labels.outcome ?? ''), value]) ?? []);
}
/** Lets so much time pass while nothing can be delivered. */
async function outage(ms: number): Promise<void> {
  const end = h.clock.monotonic() + ms;
  await h.passTime('the outage is over', () => h.clock.monotonic() >= end, 5_000);
}
/** Milliseconds of the delivery's own clock until the condition holds. */
async function timeUntil(what: string, condition: () => boolean | Promise<boolean>): Promise<number> {
  const began = h.clock.monotonic();
  await h.passTime(what, condition, 250);
  return h.clock.monotonic() - began;
}

describe('a line that comes back after long', () => {
  it.each(['never had a token', 'holds a token'])(
    'carries the first event within 5 s, when delivery %s',
    async (held) => {
      await setUp();
      if (held === 'holds a token') {
        await h.commit([rowOf(h.clock, 1)]);
        await until('the first is delivered', empty);
      }
      await h.line.cut('refuses');
      await h.commit([rowOf(h.clock, 2)]);
      // By now the waits between tries are several minutes.
      await outage(900_000);
      expect(seqs()).not.toContain(2);
      await h.passTime('the next try is far off', () => Number(h.delivery.health().facts?.nextTryMs) > 6_000);
      await h.line.mend();
      expect(await timeUntil('the event has arrived', () => seqs().includes(2))).toBeLessThanOrEqual(5_000);
      await until('the event is delivered', empty);
      expect(h.links.at(-1)).toEqual([true, undefined]);
    },
  );

  it('is asked seldom and looked at often, without a request', async () => {
    await setUp();
    await h.line.cut('refuses');
    await h.commit([rowOf(h.clock, 1)]);
    await outage(600_000);
    const tries = await counted('siteward_delivery_tries_total');
    expect(tries['token server away']).toBeLessThanOrEqual(20);
    expect(await counted('siteward_delivery_line_looks_total')).toEqual({ unreachable: expect.any(Number) });
  });

  it('that takes every connection and hangs up is no news, again and again', async () => {
    await setUp();
    await h.line.cut('hangs up');
    await h.commit([rowOf(h.clock, 1)]);
    await outage(600_000);
    const tries = await counted('siteward_delivery_tries_total');
    expect(tries['token server away']).toBeLessThanOrEqual(20);
    expect((await counted('siteward_delivery_line_looks_total')).reachable).toBeGreaterThan(50);
  });

  it('with a portal that answers for the cloud is no news either', async () => {
    await setUp({ withLine: false, onEvent: (_p, _n, response) => html(response, 200) });
    await h.commit([rowOf(h.clock, 1)]);
    await outage(600_000);
    expect(h.posts.length).toBeLessThanOrEqual(20);
  });

  it('does not wait for what still hangs on the old one', async () => {
    let hangs = true;
    await setUp({
      onEvent: (post, nth, response, socket) => (hangs ? undefined : accept(post, nth, response, socket)),
    });
    await h.line.cut('refuses');
    await h.commit([rowOf(h.clock, 1)]);
    await outage(120_000);
    await h.line.mend();
    await timeUntil('the event is on its way', () => h.posts.length === 1);
    // The answer is lost with the line.
    await h.line.cut('refuses');
    await until('the loss is noticed', () => h.links.at(-1)?.[0] === false);
    hangs = false;
    await outage(20_000);
    await h.line.mend();
    expect(await timeUntil('the event has arrived', () => h.posts.length === 2)).toBeLessThanOrEqual(5_000);
    await until('the event is delivered', empty);
  });
});

describe('after an outage of more than a minute', () => {
  it('alarms begin within 2 s and all else within 30 s, at a moment of the bridge itself', async () => {
    await setUp();
    await h.line.cut('refuses');
    const rows = [1, 2, 3, 4].map((seq) => rowOf(h.clock, seq, { orderKey: `p${seq}` }));
    await h.commit([...rows, rowOf(h.clock, 5, { lane: 'trouble', orderKey: 'p5' })]);
    await outage(120_000);
    await h.line.mend();
    await timeUntil('the first is delivered', () => h.posts.length >= 1);
    // One half of each span: the harness's dice are loaded.
    expect(await timeUntil('the alarms are delivered', () => h.posts.length >= 4)).toBeLessThanOrEqual(1_500);
    await h.commit([rowOf(h.clock, 6, { orderKey: 'p6' })]);
    await until('an alarm of this moment is delivered at once', () => seqs().includes(6));
    expect(seqs()).not.toContain(5);
    expect(await timeUntil('everything is delivered', empty)).toBeGreaterThan(10_000);
  });

  it('a person who asks for a try need not wait', async () => {
    await setUp();
    await h.line.cut('refuses');
    await h.commit([1, 2].map((seq) => rowOf(h.clock, seq, { lane: 'trouble', orderKey: `p${seq}` })));
    await outage(120_000);
    await h.line.mend();
    await timeUntil('the line is known to be back', () => h.links.at(-1)?.[0] === true);
    h.delivery.retryNow();
    await until('everything is delivered', empty);
  });

  it('nothing waits after a short one', () => {
    const clock = manualClock();
    const spread = createSpread({ clock, random: () => 1 });
    spread.outageEnded(60_000);
    expect([spread.belowRank(), spread.waitMs()]).toEqual([Number.POSITIVE_INFINITY, 0]);
    spread.outageEnded(60_001);
    expect([spread.belowRank(), spread.waitMs()]).toEqual([1, 2_000]);
    clock.advance(2_000);
    expect([spread.belowRank(), spread.waitMs()]).toEqual([2, 28_000]);
    clock.advance(28_000);
    expect([spread.belowRank(), spread.waitMs()]).toEqual([Number.POSITIVE_INFINITY, 0]);
  });
});

describe('connections', () => {
  it('are made anew when events wait for ten minutes although they may be sent, and then every ten', () => {
    const clock = manualClock();
    const renewed: number[] = [];
    const watchdog = createWatchdog({ clock, renew: (ms) => renewed.push(ms) });
    const pass = (ms: number, state: { waiting: boolean; maySend: boolean }) => {
      clock.advance(ms);
      watchdog.check(state);
    };
    pass(599_000, { waiting: true, maySend: true });
    watchdog.progress();
    pass(599_000, { waiting: true, maySend: true });
    pass(300_000, { waiting: true, maySend: false });
    pass(300_000, { waiting: false, maySend: true });
    pass(599_000, { waiting: true, maySend: true });
    expect(renewed).toEqual([]);
    pass(1_000, { waiting: true, maySend: true });
    pass(599_000, { waiting: true, maySend: true });
    pass(1_000, { waiting: true, maySend: true });
    expect(renewed).toEqual([600_000, 600_000]);
  });

  it('that hang are given up, and the event arrives on a new one', async () => {
    let hangs = true;
    await setUp({
      onEvent: (post, nth, response, socket) => (hangs ? undefined : accept(post, nth, response, socket)),
    });
    await h.commit([rowOf(h.clock, 1)]);
    await until('the request hangs', () => h.posts.length === 1);
    hangs = false;
    h.clock.advance(600_000);
    h.delivery.wake();
    await until('the event is delivered', empty);
    expect(await counted('siteward_delivery_renewed_total')).toEqual({ '': 1 });
  });
});
