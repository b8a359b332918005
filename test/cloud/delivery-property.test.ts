import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Lane } from '#site/model/index.ts';
import { accept, harness, type OnEvent } from './delivery-harness.ts';
import { html, json, rowOf, until } from './support.ts';

const lane = fc.constantFrom<Lane>('alarm', 'arming', 'trouble', 'activity');
const events = fc.array(fc.record({ lane, orderKey: fc.constantFrom('p1', 'p2', 'p3') }), {
  minLength: 1,
  maxLength: 60,
});

/** Faults of the line or the server; none of them is the event's. `applied`: the server acted, the reply was lost. */
const faults = {
  503: (_p, _n, response) => json(response, 503, {}),
  429: (_p, _n, response) => json(response, 429, {}, { 'retry-after': '2' }),
  portal: (_p, _n, response) => html(response, 200),
  401: (_p, _n, response) => json(response, 401, {}),
  403: (_p, _n, response) => json(response, 403, {}),
  reset: (_p, _n, _response, socket) => void socket.resetAndDestroy(),
} satisfies Record<string, OnEvent>;
const fault = fc.constantFrom(
  ...(Object.keys(faults) as (keyof typeof faults)[]),
  'applied' as const,
  'none' as const,
  'none' as const,
);

const chainOf = (row: { lane: Lane; orderKey: string }) =>
  `${row.lane === 'activity' ? 'activity' : 'site'} ${row.orderKey}`;

describe('whatever the lanes, keys, faults and outages', () => {
  it('every event is accepted, each key in the order of seq but for alarms that were held up, with one body', async () => {
    await fc.assert(
      fc.asyncProperty(events, fc.array(fault, { maxLength: 60 }), fc.nat(), async (made, script, split) => {
        const isCalm = script.every((one) => one === 'none');
        /** A fresh alarm that is held up for three seconds. Time makes long steps here. */
        const mayGoAlone = (seq: number) => made[seq - 1]?.lane === 'alarm';
        const accepted: number[] = [];
        const bodies = new Map<number, Set<string>>();
        const sending = new Map<string, number>();
        let broken = 0;
        const h = await harness({
          onEvent(post, nth, response, socket) {
            const fixed = post.body.replace(/"sent_at":"[^"]+"/, '');
            bodies.set(post.seq, (bodies.get(post.seq) ?? new Set()).add(fixed));
            const chain = chainOf(made[post.seq - 1]!);
            sending.set(chain, (sending.get(chain) ?? 0) + 1);
            // A repeat of what was accepted only tells whether another is at fault.
            if ((sending.get(chain) ?? 0) > 1 && !accepted.includes(post.seq) && !mayGoAlone(post.seq)) broken += 1;
            response.once('close', () => sending.set(chain, (sending.get(chain) ?? 1) - 1));
            const next = script.shift() ?? 'none';
            if (next === 'none' || next === 'applied') accepted.push(post.seq);
            if (next === 'applied') return void socket.resetAndDestroy();
            return (next === 'none' ? accept : faults[next])(post, nth, response, socket);
          },
        });
        try {
          const rows = made.map((event, i) => rowOf(h.clock, i + 1, event));
          const first = split % (rows.length + 1);
          await h.commit(rows.slice(0, first));
          await h.commit(rows.slice(first));
          await h.passTime('all is delivered', async () => (await h.waiting()) === 0, 30_000);
          const firsts = [...new Set(accepted)];
          expect([...firsts].sort((a, b) => a - b)).toEqual(rows.map(({ seq }) => seq));
          for (const chain of new Set(made.map(chainOf))) {
            const order = firsts.filter((seq) => chainOf(made[seq - 1]!) === chain && (isCalm || !mayGoAlone(seq)));
            expect(order).toEqual([...order].sort((a, b) => a - b));
          }
          for (const variants of bodies.values()) expect(variants.size).toBe(1);
          expect(broken).toBe(0);
        } finally {
          await h.close();
        }
      }),
      { numRuns: 25, interruptAfterTimeLimit: 40_000 },
    );
  });

  it('nothing is sent twice while nothing fails, also when events keep coming', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(events, { minLength: 1, maxLength: 8 }), async (groups) => {
        const h = await harness();
        try {
          let seq = 0;
          for (const group of groups) {
            const from = seq;
            seq += group.length;
            await h.commit(group.map((event, i) => rowOf(h.clock, from + i + 1, event)));
          }
          await until('all is delivered', async () => (await h.waiting()) === 0);
          expect(h.posts.map((post) => post.seq).sort((a, b) => a - b)).toEqual(
            Array.from({ length: seq }, (_, i) => i + 1),
          );
        } finally {
          await h.close();
        }
      }),
      { numRuns: 10 },
    );
  });
});
