import { faded } from '../sound.ts';
import { storedRate } from './limits.ts';
import type { StoredMessage } from './message.ts';

export interface Tone {
  readonly message: StoredMessage;
  /** Its samples, anew at each call. */
  readonly make: () => Int16Array;
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

/**
 * Messages made in code: there where no other is. A text of a tone tells what is heard, as nobody speaks. What `measured` says of each stands
 * here, so that no start waits for it; a test measures them.
 */
export const tones: readonly Tone[] = [
  {
    message: {
      key: 'alarm.siren',
      name: 'Siren',
      description: 'A siren of three seconds.',
      category: 'alarm',
      language: 'zxx',
      sha256: 'd682ce65015ab274501ebc78e92e078c23a6b1d896dcd34698b76e5865f5f952',
      ...{ duration_seconds: 2.8, peak_db: -1, rms_db: -4.2, loudness_lufs: -4 },
    },
    make: siren,
  },
  {
    message: {
      key: 'announcement.chime',
      name: 'Chime',
      description: 'A chime of two tones.',
      category: 'announcement',
      language: 'zxx',
      sha256: '56afa4ffd20e35c43e6bb286a3d84762eaebc8bbe51511dcd5144d184aa40a20',
      ...{ duration_seconds: 1.05, peak_db: -1.3, rms_db: -11.3, loudness_lufs: -11.6 },
    },
    make: chime,
  },
  {
    message: {
      key: 'test.tone1k',
      name: 'Test tone',
      description: '1 kHz for one second, 12 dB below full scale.',
      category: 'test',
      language: 'zxx',
      sha256: 'ddcd47d7088279c056ddd6fc0814f056ab84cd27e5496528f6b80d08e006a562',
      ...{ duration_seconds: 1, peak_db: -12, rms_db: -15.1, loudness_lufs: -15 },
    },
    make: () => glide(1_000, 1_000, 1, quiet),
  },
  {
    message: {
      key: 'test.sweep',
      name: 'Test sweep',
      description: '200 Hz to 8 kHz in two seconds, 12 dB below full scale.',
      category: 'test',
      language: 'zxx',
      sha256: '4217feafaf971c136f7b5b85601314734b28d2295eb2108411314c625ace052a',
      ...{ duration_seconds: 2, peak_db: -12, rms_db: -15, loudness_lufs: -12.1 },
    },
    make: () => glide(200, 8_000, 2, quiet),
  },
];
