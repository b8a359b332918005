import { expect, it } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import { createRate } from '../../src/cloud/delivery/rate.ts';

const minute = 60_000;

it('tells what happens per minute over the last five, and less the longer nothing does', () => {
  const clock = manualClock();
  const rate = createRate({ clock });
  for (let second = 0; second < 600; second += 1) {
    rate.count();
    clock.advance(1_000);
  }
  expect(rate.perMin()).toBeGreaterThan(57);
  expect(rate.perMin()).toBeLessThanOrEqual(60);
  clock.advance(2 * minute);
  expect(rate.perMin()).toBeGreaterThan(33);
  expect(rate.perMin()).toBeLessThan(37);
  clock.advance(3 * minute);
  expect(rate.perMin()).toBe(0);
});

it('promises no more than was seen when little time has passed', () => {
  const clock = manualClock();
  const rate = createRate({ clock });
  expect(rate.perMin()).toBe(0);
  rate.count();
  rate.count();
  expect(rate.perMin()).toBe(2);
  clock.advance(2 * minute);
  expect(rate.perMin()).toBe(1);
});

it('forgets all at once after a long sleep, and is not moved by the wall clock', () => {
  const clock = manualClock();
  const rate = createRate({ clock });
  rate.count();
  clock.step(-7 * 24 * 60 * minute);
  expect(rate.perMin()).toBe(1);
  clock.advance(100 * 24 * 60 * minute);
  expect(rate.perMin()).toBe(0);
  rate.count();
  expect(rate.perMin()).toBe(0.2);
});
