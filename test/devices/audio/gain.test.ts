import fc from 'fast-check';
import { expect, it } from 'vitest';
import { amplify, decibels, gainOf, peakOf } from '#devices/audio/gain.ts';

it.each([
  [100, 0],
  [90, -2.7],
  [80, -5.8],
  [70, -9.3],
  [60, -13.3],
  [50, -18.1],
  [40, -23.9],
  [30, -31.4],
  [25, -36.1],
  [20, -41.9],
  [10, -60],
])('at volume %i a message is %f dB', (volume, db) => {
  expect(20 * Math.log10(gainOf(volume))).toBeCloseTo(db, 1);
});

it('is linear where that is chosen', () => {
  expect(gainOf(70, 'linear')).toBeCloseTo(0.7, 12);
});

it.each(['cubic', 'linear'] as const)('is nothing at 0 and 1 at 100 (%s)', (curve) => {
  expect(gainOf(0, curve)).toBe(0);
  expect(gainOf(0, curve, 6)).toBe(0);
  expect(gainOf(100, curve)).toBe(1);
});

it('trims in dB', () => {
  expect(gainOf(100, 'cubic', -6) / gainOf(100)).toBeCloseTo(0.501, 3);
  expect(gainOf(50, 'cubic', 6) / gainOf(50)).toBeCloseTo(1.995, 3);
});

it('never makes of a sample what does not fit 16 bits, nor turns it over', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -32_768, max: 32_767 }),
      fc.double({ min: 0, max: 4, noNaN: true }),
      (sample, gain) => {
        const made = amplify(sample, gain);
        expect(made).toBeGreaterThanOrEqual(-32_768);
        expect(made).toBeLessThanOrEqual(32_767);
        expect(Math.abs(Math.sign(made) - Math.sign(sample))).toBeLessThanOrEqual(1);
      },
    ),
  );
  expect(amplify(20_000, 2)).toBe(32_767);
  expect(amplify(-20_000, 2)).toBe(-32_768);
});

it('measures loudness', () => {
  expect(peakOf(Int16Array.of(1, -32_768, 5))).toBe(32_768);
  expect(decibels(16_384)).toBeCloseTo(-6.02, 2);
});
