import { expect, test } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import { createBreaker, type Rest } from '../../src/cloud/delivery/breaker.ts';

const rest = (over: Partial<Rest> = {}): Rest => ({
  trouble: 'unauthorized',
  fromMs: 60_000,
  toMs: 1_800_000,
  endsWithLink: false,
  reason: 'refused',
  retryAfterMs: undefined,
  ...over,
});

test('without a token it rests as long as the token source does, and no later rest grows by it', () => {
  const clock = manualClock();
  const breaker = createBreaker({ clock, slots: 4, random: () => 1 });
  for (let round = 0; round < 5; round += 1) {
    breaker.failed(rest({ tokenWaitMs: 5000 }), clock.monotonic());
    expect(breaker.waitMs()).toBeLessThanOrEqual(5250);
    expect(breaker.limit()).toBe(0);
    clock.advance(breaker.waitMs());
    expect(breaker.limit()).toBe(1);
  }
  breaker.failed(rest(), clock.monotonic());
  expect(breaker.waitMs()).toBe(60_000);
});

test('a refusal by the server itself doubles the rest up to its cap', () => {
  const clock = manualClock();
  const breaker = createBreaker({ clock, slots: 4, random: () => 1 });
  const waits: number[] = [];
  for (let round = 0; round < 7; round += 1) {
    breaker.failed(rest(), clock.monotonic());
    waits.push(breaker.waitMs());
    clock.advance(breaker.waitMs());
  }
  expect(waits).toEqual([60_000, 120_000, 240_000, 480_000, 960_000, 1_800_000, 1_800_000]);
});

test('a line that is down is tried again at any moment of the step, a refusal not before half of it', () => {
  const clock = manualClock();
  const waitOf = (random: number, over: Partial<Rest>) => {
    const breaker = createBreaker({ clock, slots: 4, random: () => random });
    breaker.failed(rest({ fromMs: 1_000, ...over }), clock.monotonic());
    return breaker.waitMs();
  };
  expect([0, 0.25, 1].map((random) => waitOf(random, { endsWithLink: true }))).toEqual([0, 250, 1_000]);
  expect([0, 1].map((random) => waitOf(random, { endsWithLink: false }))).toEqual([500, 1_000]);
});

test('a pause that is asked for holds, though another request of the same outage failed first', () => {
  const clock = manualClock();
  const breaker = createBreaker({ clock, slots: 4, random: () => 0 });
  const sentMono = clock.monotonic();
  clock.advance(10);
  breaker.failed(rest({ fromMs: 1_000, endsWithLink: true }), sentMono);
  clock.advance(1);
  breaker.failed(rest({ fromMs: 1_000, endsWithLink: true, retryAfterMs: 3_000 }), sentMono);
  expect(breaker.waitMs()).toBe(3_000);
  breaker.linkUp();
  breaker.succeeded(sentMono);
  expect(breaker.waitMs()).toBe(3_000);
});

test.each(['succeeds', 'fails'] as const)(
  'a pause that an older request is asked for holds, though the probe sent before it %s',
  (probe) => {
    const clock = manualClock();
    const breaker = createBreaker({ clock, slots: 4, random: () => 0 });
    const line = rest({ fromMs: 1_000, endsWithLink: true });
    const olderMono = clock.monotonic();
    clock.advance(10);
    breaker.failed(line, olderMono);
    clock.advance(breaker.waitMs());
    const probeMono = clock.monotonic();
    clock.advance(10);
    breaker.failed({ ...line, retryAfterMs: 30_000 }, olderMono);
    clock.advance(10);
    if (probe === 'succeeds') breaker.succeeded(probeMono);
    else breaker.failed(line, probeMono);
    expect(breaker.waitMs()).toBe(30_000 - 10);
    expect(breaker.limit()).toBe(0);
  },
);
