import { afterEach, describe, expect, it } from 'vitest';
import { accept, type Harness, type HarnessOptions, harness } from './delivery-harness.ts';
import { json, rowOf, until } from './support.ts';

let h: Harness;
afterEach(() => h.close());
async function setUp(options: HarnessOptions = {}): Promise<void> {
  h = await harness(options);
}

describe('the state of delivery', () => {
  it('tells a free line and how many events leave per minute, silent ones never', async () => {
    await setUp();
    const rows = [1, 2, 3].map((seq) => rowOf(h.clock, seq));
    await h.commit([...rows, { ...rowOf(h.clock, 4), silent: true as const }]);
    await until('all are delivered', async () => h.posts.length === 4 && (await h.waiting()) === 0);
    await until('all are settled', () => h.delivery.state().inMemory === 0);
    expect(h.delivery.state()).toMatchObject({
      ...{ link: 'up', breaker: 'closed', trouble: undefined, reason: undefined, heldMs: undefined, perMin: 3 },
      ...{ nextTryMs: undefined, inFlight: 0, aside: 0, direct: 0 },
    });
    expect(h.delivery.health()).toMatchObject({ state: 'ok', facts: { link: 'up', trouble: null, perMin: 3 } });
  });

  it('tells of each accepted event how long it took, of one of an earlier boot without that, of silent ones nothing', async () => {
    const told: (number | undefined)[] = [];
    await setUp({ start: false, delivery: { onAccepted: (latencyMs) => void told.push(latencyMs) } });
    await h.commit([
      rowOf(h.clock, 1),
      { ...rowOf(h.clock, 2), silent: true as const },
      { ...rowOf(h.clock, 3), boot: 'an earlier one' },
    ]);
    h.clock.advance(5_000);
    await h.delivery.start(new AbortController().signal);
    await until('all are delivered', async () => h.posts.length === 3 && (await h.waiting()) === 0);
    expect(told.sort()).toEqual([5_000, undefined]);
  });

  it('tells a line that is held, why, since when and until when; the health says the same', async () => {
    let busy = true;
    await setUp({
      onEvent: (post, nth, response, socket) =>
        busy ? json(response, 503, {}, { 'retry-after': '600' }) : accept(post, nth, response, socket),
    });
    await h.commit([rowOf(h.clock, 1)]);
    await until('the cloud has asked for a pause', () => h.delivery.state().breaker === 'open');
    h.clock.advance(5_000);
    const state = h.delivery.state();
    expect(state).toMatchObject({ link: 'down', trouble: 'busy', heldMs: 5_000, inMemory: 1, perMin: 0 });
    expect(state.nextTryMs).toBeGreaterThan(590_000);
    const { trouble, heldMs, nextTryMs, reason } = state;
    expect(h.delivery.health()).toMatchObject({ state: 'degraded', reason, facts: { trouble, heldMs, nextTryMs } });
    busy = false;
    await h.passTime('it is delivered', async () => (await h.waiting()) === 0, 60_000);
    expect(h.delivery.state()).toMatchObject({ link: 'up', breaker: 'closed', heldMs: undefined });
  });
});
