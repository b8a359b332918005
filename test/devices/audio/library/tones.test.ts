import { expect, it } from 'vitest';
import { decibels, peakOf } from '#devices/audio/gain.ts';
import { readBuiltins } from '#devices/audio/library/builtin.ts';
import { measured } from '#devices/audio/library/measure.ts';
import { storedMessage } from '#devices/audio/library/message.ts';
import { tones } from '#devices/audio/library/tones.ts';

const samplesOf = (key: string) => tones.find(({ message }) => message.key === key)!.make();

/** How loud one pitch is, in dB of full scale. */
function toneDb(samples: Int16Array, hertz: number): number {
  let [re, im] = [0, 0];
  samples.forEach((sample, at) => {
    const angle = (2 * Math.PI * hertz * at) / 48_000;
    re += sample * Math.cos(angle);
    im += sample * Math.sin(angle);
  });
  return decibels((2 * Math.hypot(re, im)) / samples.length);
}

it('there are always a siren, a chime, a test tone and a sweep', async () => {
  const keys = ['alarm.siren', 'announcement.chime', 'test.sweep', 'test.tone1k'];
  expect((await readBuiltins()).map(({ message }) => message.key).sort()).toEqual(keys);
  for (const { message } of tones) expect(storedMessage.parse(message)).toMatchObject({ language: 'zxx' });
});

it('the test tone is 1 kHz for one second at -12 dB, and nothing else', () => {
  const samples = samplesOf('test.tone1k');
  expect(samples.length).toBe(48_000);
  expect(toneDb(samples, 1_000)).toBeCloseTo(-12, 0);
  for (const hertz of [500, 2_000, 3_000]) expect(toneDb(samples, hertz)).toBeLessThan(-80);
});

it('the sweep goes from 200 Hz to 8 kHz in two seconds', () => {
  const samples = samplesOf('test.sweep');
  expect(samples.length).toBe(96_000);
  const pitch = (from: number, to: number) => {
    const part = samples.subarray(from, to);
    const rises = part.filter((sample, at) => at > 0 && sample >= 0 && (part[at - 1] ?? 0) < 0).length;
    return (rises * 48_000) / part.length;
  };
  expect(pitch(1_000, 5_800)).toBeGreaterThan(200);
  expect(pitch(1_000, 5_800)).toBeLessThan(900);
  expect(pitch(90_000, 95_000)).toBeGreaterThan(7_200);
  expect(pitch(90_000, 95_000)).toBeLessThan(8_100);
});

it('alarms and chimes are as loud as can be, and no tone begins or ends with a click', () => {
  for (const { message, make } of tones) {
    const samples = make();
    expect(decibels(peakOf(samples))).toBeCloseTo(message.category === 'test' ? -12 : -1, 0);
    expect([samples[0], samples.at(-1)]).toEqual([0, 0]);
    const steps = samples.map((sample, at) => Math.abs(sample - (samples[at - 1] ?? 0)));
    expect(peakOf(steps)).toBeLessThan(9_000);
  }
});

it('are what is said of them, each time they are made, so that their digests are', async () => {
  for (const { message, make } of tones) {
    const { facts } = await measured(make());
    expect(message).toMatchObject(facts);
    expect(make()).toEqual(make());
  }
});
