import { describe, expect, it } from 'vitest';
import { resample } from '#devices/audio/resample.ts';
import { never } from '#lib/wait.ts';
import { rmsOf } from './rms-of.ts';

const level = 16_000;
const tone = (hertz: number, rate: number, samples = rate): Int16Array =>
  Int16Array.from({ length: samples }, (_, at) => Math.round(level * Math.sin((2 * Math.PI * hertz * at) / rate)));

/** In dB of what went in; without the edges, where the tone begins from nothing. */
function gainDb(samples: Int16Array): number {
  const edge = samples.length >> 3;
  return 20 * Math.log10(rmsOf(samples.subarray(edge, samples.length - edge)) / (level / Math.SQRT2));
}

const pairs = [
  [48_000, 8_000],
  [48_000, 16_000],
  [48_000, 44_100],
  [48_000, 22_050],
  [44_100, 48_000],
  [8_000, 48_000],
  [22_050, 48_000],
] as const;

describe.each(pairs)('from %i to %i', (from, to) => {
  const lower = Math.min(from, to);

  it('lets pass within 0.1 dB what lies below 0.42 of the lower rate', async () => {
    for (const share of [0.01, 0.05, 0.1, 0.2, 0.3, 0.35, 0.4, 0.419])
      expect(Math.abs(gainDb(await resample(tone(share * lower, from), from, to, never())))).toBeLessThan(0.1);
  });

  it('lets nothing fold back: 75 dB down', async () => {
    const folding = [0.505, 0.52, 0.55, 0.625, 0.75, 0.9, 1.05, 1.5, 2.1].filter((share) => share * lower < from / 2);
    for (const share of folding)
      expect(gainDb(await resample(tone(share * lower, from), from, to, never()))).toBeLessThan(-75);
  });

  it('adds no tone above those that were there', async () => {
    const made = await resample(tone(0.2 * lower, from), from, to, never());
    const expected = tone(0.2 * lower, to, made.length);
    const edge = made.length >> 3;
    const rest = made.map((sample, at) => (at < edge || at > made.length - edge ? 0 : sample - (expected[at] ?? 0)));
    expect(gainDb(rest)).toBeLessThan(-75);
  });

  it.each([1, 2, 7, 160, 4_801])('makes of %i samples as many as take the same time', async (samples) => {
    const made = await resample(new Int16Array(samples).fill(1000), from, to, never());
    expect(made.length).toBe(Math.round((samples * to) / from));
  });
});

it('takes samples as they are where the rate stays', async () => {
  const samples = tone(1_000, 48_000, 480);
  expect(await resample(samples, 48_000, 48_000, never())).toBe(samples);
});

it('never turns over where it overshoots', async () => {
  const square = Int16Array.from({ length: 48_000 }, (_, at) => (at % 96 < 48 ? 32_767 : -32_768));
  const made = await resample(square, 48_000, 44_100, never());
  // A sample that was turned over would lie on the other side of zero, far within a half wave.
  const inside = Array.from(made.entries()).filter(([at]) => {
    const phase = ((at * 48_000) / 44_100) % 48;
    return phase > 6 && phase < 42 && at > 100 && at < made.length - 100;
  });
  const wrong = inside.filter(([at, sample]) => ((at * 48_000) / 44_100) % 96 < 48 !== sample > 0);
  expect(wrong).toEqual([]);
  expect(Math.max(...made)).toBe(32_767);
});

it('gives others their turn, and ends when it is told to', async () => {
  const stop = new AbortController();
  const work = resample(new Int16Array(48_000 * 60), 48_000, 8_000, stop.signal);
  setImmediate(() => stop.abort(new Error('enough')));
  await expect(work).rejects.toThrow('enough');
});
