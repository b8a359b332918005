import { expect, it } from 'vitest';
import { backoff } from '#lib/backoff.ts';

const waits = (jitter: 'equal' | 'full' | undefined, random: number): number[] => {
  const one = backoff({ baseMs: 100, capMs: 1_000, random: () => random, ...(jitter !== undefined && { jitter }) });
  return Array.from({ length: 6 }, () => one.next());
};

it('doubles up to the cap; half of each wait is random, or with full jitter all of it', () => {
  expect(waits('full', 1)).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  expect(waits('full', 0)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(waits('full', 0.25)).toEqual([25, 50, 100, 200, 250, 250]);
  expect(waits('equal', 0)).toEqual([50, 100, 200, 400, 500, 500]);
  expect(waits(undefined, 0.5)).toEqual([75, 150, 300, 600, 750, 750]);
});

it('begins anew after a success, and never waits longer than the cap however often it failed', () => {
  const one = backoff({ baseMs: 100, capMs: 1_000, random: () => 1, jitter: 'full' });
  for (let n = 0; n < 5_000; n += 1) expect(one.next()).toBeLessThanOrEqual(1_000);
  one.reset();
  expect(one.next()).toBe(100);
});
