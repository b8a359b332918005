import { faded } from '../sound.ts';
import { storedRate } from './limits.ts';
import { measured } from './measure.ts';
import type { StoredMessage } from './message.ts';

export interface Tone {
  readonly message: StoredMessage;
  readonly samples: Int16Array;
}

/** A pitch that moves evenly from one to the other, at a level from 0 to 1. `dying` lets it fade as a bell does. */
function glide(from: number, to: number, seconds: number, level: number, dying = false): Int16Array {
  const length = Math.round(seconds * storedRate);
  const samples = new Int16Array(length);
  let phase = 0;
  for (let at = 0; at < length; at += 1) {
    const done = at / length;
    const loud = dying ? (1 - done) ** 2 : 1;
    samples[at] = Math.round(Math.sin(phase) * level * loud * 32_767);
    phase += (2 * Math.PI * (from + (to - from) * done)) / storedRate;
  }
  return faded(samples, storedRate);
}

/** One after the other. */
export function joined(...parts: readonly Int16Array[]): Int16Array {
  const whole = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export const pause = (seconds: number): Int16Array => new Int16Array(Math.round(seconds * storedRate));

const loud = 10 ** (-1 / 20);
/** -12 dB: a test is not to frighten anybody. */
const quiet = 10 ** (-12 / 20);

/** Falls by a third and dies away, before announcements. */
export const chime = (): Int16Array => joined(glide(784, 784, 0.45, loud, true), glide(587, 587, 0.6, loud, true));
export const ding = (): Int16Array => glide(988, 988, 0.5, loud, true);
/** Rises and falls four times, before alarms. */
export function siren(): Int16Array {
  const wave = joined(glide(700, 1_400, 0.35, loud), glide(1_400, 700, 0.35, loud));
  return joined(wave, wave, wave, wave);
}

/** Messages made in code: there where no other is. A text of a tone tells what is heard, as nobody speaks. */
const tones: readonly (Pick<StoredMessage, 'key' | 'name' | 'description' | 'category'> & {
  make: () => Int16Array;
})[] = [
  {
    key: 'alarm.siren',
    name: 'Siren',
    description: 'A siren of three seconds.',
    category: 'alarm',
    make: siren,
  },
  {
    key: 'announcement.chime',
    name: 'Chime',
    description: 'A chime of two tones.',
    category: 'announcement',
    make: chime,
  },
  {
    key: 'test.tone1k',
    name: 'Test tone',
    description: '1 kHz for one second, 12 dB below full scale.',
    category: 'test',
    make: () => glide(1_000, 1_000, 1, quiet),
  },
  {
    key: 'test.sweep',
    name: 'Test sweep',
    description: '200 Hz to 8 kHz in two seconds, 12 dB below full scale.',
    category: 'test',
    make: () => glide(200, 8_000, 2, quiet),
  },
];

export const makeTones = (): Promise<Tone[]> =>
  Promise.all(
    tones.map(async ({ make, ...words }) => {
      const samples = make();
      const { facts } = await measured(samples);
      return { message: { ...words, language: 'zxx', ...facts }, samples };
    }),
  );
