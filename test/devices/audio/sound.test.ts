import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SoundFormat } from '#devices/audio/driver.ts';
import { gapMs } from '#devices/audio/engine/rank.ts';
import { createSound, faded, type SoundWork } from '#devices/audio/sound.ts';
import { fromAlaw, fromUlaw } from './from-g711.ts';
import { rmsOf } from './rms-of.ts';

const mono: SoundFormat = { encoding: 's16le', rate: 8_000, channels: 1 };
const tone = (samples = 1_600, peak = 26_000): Int16Array =>
  Int16Array.from({ length: samples }, (_, at) => Math.round(peak * Math.sin(at * 0.8)));
const work = (change: Partial<SoundWork> = {}): SoundWork => ({
  samples: tone(),
  format: mono,
  key: 'test.tone',
  volume: 100,
  repeat: 1,
  gapMs: 500,
  ...change,
});
const whole = (change: Partial<SoundWork> = {}): Int16Array => {
  const sound = createSound(work(change));
  const bytes = sound.read(0, sound.samples);
  return Int16Array.from({ length: bytes.length / 2 }, (_, at) => bytes.readInt16LE(at * 2));
};

const format = fc.record({
  encoding: fc.constantFrom('s16le' as const, 'ulaw' as const, 'alaw' as const),
  rate: fc.constantFrom(8_000, 16_000, 44_100, 48_000),
  channels: fc.constantFrom(1 as const, 2 as const),
});
const any = fc.record({
  samples: fc.int16Array({ minLength: 1, maxLength: 400 }),
  format,
  key: fc.constant('any'),
  volume: fc.integer({ min: 0, max: 100 }),
  repeat: fc.integer({ min: 1, max: 5 }),
  gapMs: fc.constantFrom(0, 3, 250),
  leadMs: fc.constantFrom(0, 7),
  tailMs: fc.constantFrom(0, 11),
  trimDb: fc.constantFrom(-30, 0, 6),
});

describe('a sound', () => {
  it('at volume 100 is the prepared samples, bit for bit', () => {
    fc.assert(
      fc.property(fc.int16Array({ minLength: 1 }), (samples) => {
        expect(whole({ samples })).toEqual(samples);
      }),
    );
  });

  it.each(['s16le', 'ulaw', 'alaw'] as const)('at volume 0 is silence, all of it (%s)', (encoding) => {
    const silence = { s16le: 0, ulaw: 0xff, alaw: 0xd5 }[encoding];
    const sound = createSound(work({ volume: 0, repeat: 3, trimDb: 6, format: { ...mono, encoding } }));
    const bytes = sound.read(0, sound.samples);
    expect(bytes.length).toBeGreaterThan(3 * 1_600);
    expect(bytes.every((byte) => byte === silence)).toBe(true);
  });

  it('is never less loud at a higher volume, and louder at each step from 5 percent on', () => {
    const loudness = Array.from({ length: 101 }, (_, volume) => rmsOf(whole({ volume })));
    for (let volume = 1; volume <= 100; volume += 1) {
      expect(loudness[volume]).toBeGreaterThanOrEqual(loudness[volume - 1]!);
      if (volume >= 5) expect(loudness[volume]).toBeGreaterThan(loudness[volume - 1]!);
    }
  });

  it.each([20, 50, 70, 90])('at volume %i is as many dB quieter as the curve says', (volume) => {
    const db = 20 * Math.log10(rmsOf(whole({ volume })) / rmsOf(whole()));
    expect(db).toBeCloseTo(60 * Math.log10(volume / 100), 1);
  });

  it('lasts lead, message as often as asked, gaps between, and tail', () => {
    const sound = createSound(work({ repeat: 3, gapMs: 250, leadMs: 300, tailMs: 200 }));
    expect(sound.samples).toBe(2_400 + 3 * 1_600 + 2 * 2_000 + 1_600);
    const samples = whole({ repeat: 3, gapMs: 250, leadMs: 300, tailMs: 200 });
    const parts = [0, 2_400, 4_000, 6_000, 7_600, 9_600, 11_200, 12_800];
    const loud = parts.slice(1).map((end, part) => rmsOf(samples.subarray(parts[part], end)) > 0);
    expect(loud).toEqual([false, true, false, true, false, true, false]);
    for (const begin of [2_400, 6_000, 9_600]) expect(samples.subarray(begin, begin + 1_600)).toEqual(tone());
  });

  it('is exactly as long as its parts, whatever they are', () => {
    fc.assert(
      fc.property(any, (of) => {
        const { rate, channels, encoding } = of.format;
        const ms = (length: number) => Math.round((length * rate) / 1000);
        const sound = createSound(of);
        expect(sound.samples).toBe(
          ms(of.leadMs) + of.samples.length * of.repeat + ms(of.gapMs) * (of.repeat - 1) + ms(of.tailMs),
        );
        expect(sound.read(0, sound.samples).length).toBe(sound.samples * channels * (encoding === 's16le' ? 2 : 1));
      }),
    );
  });

  it('read in pieces is the same as read at once', () => {
    fc.assert(
      fc.property(any, fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }), (of, cuts) => {
        const sound = createSound(of);
        const places = [0, ...cuts.map((cut) => Math.floor(cut * sound.samples)).sort((a, b) => a - b), sound.samples];
        const pieces = places.slice(1).map((to, at) => sound.read(places[at]!, to));
        expect(Buffer.concat(pieces).equals(sound.read(0, sound.samples))).toBe(true);
      }),
    );
  });

  it('has no samples before its first or after its last', () => {
    const sound = createSound(work());
    for (const [from, to] of [
      [-1, 1],
      [0, sound.samples + 1],
      [5, 4],
      [Number.NaN, 1],
    ] as const)
      expect(() => sound.read(from, to)).toThrow(RangeError);
  });

  it('is as loud on each of two channels as on one', () => {
    const samples = whole({ format: { ...mono, channels: 2 }, volume: 70 });
    const one = whole({ volume: 70 });
    expect(samples.filter((_, at) => at % 2 === 0)).toEqual(one);
    expect(samples.filter((_, at) => at % 2 === 1)).toEqual(one);
  });

  it.each([
    ['ulaw', fromUlaw],
    ['alaw', fromAlaw],
  ] as const)('is %s where the speaker takes that', (encoding, decode) => {
    const sound = createSound(work({ format: { ...mono, encoding } }));
    const made = Int16Array.from(sound.read(0, sound.samples), decode);
    const error = rmsOf(made.map((sample, at) => sample - (tone()[at] ?? 0)));
    expect(20 * Math.log10(rmsOf(tone()) / error)).toBeGreaterThan(35);
  });

  it('tells that a trim makes it clip', () => {
    expect(createSound(work({ trimDb: 3 })).clips).toBe(true);
    expect(createSound(work({ trimDb: 1.5 })).clips).toBe(false);
    expect(createSound(work({ trimDb: 6, volume: 50 })).clips).toBe(false);
    expect(createSound(work({ samples: tone(100, 32_767) })).clips).toBe(false);
    expect(Math.max(...whole({ trimDb: 6 }))).toBe(32_767);
  });

  it('tells what was asked for', () => {
    expect(createSound(work({ volume: 30, repeat: 2 })).asked).toEqual({ key: 'test.tone', volume: 30, repeat: 2 });
  });
});

it('gaps are short in an alarm', () => {
  const gaps = (['alarm', 'announcement', 'test'] as const).map((category) => gapMs({ category }));
  expect(gaps).toEqual([250, 500, 500]);
});

describe('fading', () => {
  it('lets a message begin and end at nothing, within 10 ms', () => {
    const made = faded(new Int16Array(1_600).fill(20_000), 8_000);
    expect([made[0], made[40], made[80], made[1_519], made[1_559], made[1_599]]).toEqual([
      0, 10_000, 20_000, 20_000, 10_000, 0,
    ]);
    const steps = Array.from(made).map((sample, at) => Math.abs(sample - (made[at - 1] ?? 0)));
    expect(Math.max(...steps)).toBeLessThanOrEqual(250);
  });

  it('changes nothing but the edges, and not what it was given', () => {
    const samples = tone();
    const made = faded(samples, 8_000);
    expect(samples).toEqual(tone());
    expect(made.subarray(80, 1_520)).toEqual(samples.subarray(80, 1_520));
    expect(made.length).toBe(samples.length);
  });

  it('takes messages that are shorter than both edges', () => {
    for (const length of [0, 1, 2, 3, 100]) expect(faded(new Int16Array(length).fill(9), 8_000).length).toBe(length);
  });
});
