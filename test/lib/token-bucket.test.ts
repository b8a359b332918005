import { expect, it } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import { bucket, rateLimit } from '#lib/token-bucket.ts';

const so = (count: number, take: () => boolean) => Array.from({ length: count }, take);

it('a bucket gives its burst at once, then as many as its rate, and never more than its burst', () => {
  const one = bucket({ burst: 3, perSecond: 2 });
  expect(so(4, () => one.take(5_000))).toEqual([true, true, true, false]);
  expect(so(2, () => one.take(5_500))).toEqual([true, false]);
  expect(so(4, () => one.take(3_600_000))).toEqual([true, true, true, false]);
});

it('a bucket leaves to others what is spared', () => {
  const one = bucket({ burst: 3, perSecond: 1 });
  expect(so(3, () => one.take(0, 2))).toEqual([true, false, false]);
  expect(so(3, () => one.take(0))).toEqual([true, true, false]);
});

it('a rate limit counts each subject alone; over its cap the oldest starts anew', () => {
  const clock = manualClock();
  const limit = rateLimit({ clock, burst: 1, perSecond: 1, cap: 2 });
  expect(['a', 'a', 'b', 'b'].map(limit.take)).toEqual([true, false, true, false]);
  clock.advance(1_000);
  expect(limit.take('b')).toBe(true);
  expect(['c', 'c', 'a'].map(limit.take)).toEqual([true, false, true]);
});
