import { expect, it } from 'vitest';
import { systemClock } from '#lib/clock.ts';
import { guessLock } from '#lib/guess-lock.ts';

it('five wrong codes lock for ten minutes from the first of them; a try that was right counts for nothing', () => {
  let mono = 0;
  const lock = guessLock({ ...systemClock(), monotonic: () => mono });
  for (mono = 0; mono < 5000; mono += 1000) {
    lock.count()();
    expect(lock.leftMs()).toBeLessThanOrEqual(0);
    lock.count();
  }
  expect(lock.leftMs()).toBe(600_000 - mono);
  mono = 599_999;
  expect(lock.leftMs()).toBe(1);
  mono = 600_000;
  expect(lock.leftMs()).toBe(0);
});

it('tries at once lock too, and each takes back its own alone', () => {
  const lock = guessLock({ ...systemClock(), monotonic: () => 0 });
  const tries = Array.from({ length: 5 }, () => lock.count());
  expect(lock.leftMs()).toBe(600_000);
  tries[2]?.();
  expect(lock.leftMs()).toBe(0);
  lock.count();
  expect(lock.leftMs()).toBe(600_000);
});
