import { sha256 } from '#lib/digest.ts';
import { decibels, peakOf, rmsOf } from '../gain.ts';
import { writeWav } from '../wav.ts';
import { storedRate } from './limits.ts';
import type { StoredMessage } from './message.ts';

/** Samples at the rate of the library as the file it keeps, and what it says of it. */
export function measured(samples: Int16Array): {
  readonly wav: Buffer;
  readonly facts: Pick<StoredMessage, 'sha256' | 'duration_seconds' | 'peak_db' | 'rms_db'>;
} {
  const wav = writeWav({ rate: storedRate, channels: 1, samples });
  const facts = {
    sha256: sha256(wav),
    duration_seconds: Math.round((samples.length / storedRate) * 1_000) / 1_000,
    peak_db: tenth(decibels(peakOf(samples))),
    rms_db: tenth(decibels(rmsOf(samples))),
  };
  return { wav, facts };
}

const tenth = (db: number): number => Math.round(db * 10) / 10;
