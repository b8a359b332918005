import { createHash } from 'node:crypto';
import { decibels } from '../gain.ts';
import { inSlices } from '../slices.ts';
import { writeWav } from '../wav.ts';
import { storedRate } from './limits.ts';
import { loudness } from './loudness.ts';
import type { StoredMessage } from './message.ts';
import { measure } from './mix.ts';

/** So many bytes go into a digest at a time. */
const sliceBytes = 500_000;

/** Samples at the rate of the library as the file it keeps, and what it says of it. */
export async function measured(samples: Int16Array): Promise<{
  readonly wav: Buffer;
  readonly facts: Pick<StoredMessage, 'sha256' | 'duration_seconds' | 'peak_db' | 'rms_db' | 'loudness_lufs'>;
}> {
  const wav = writeWav({ rate: storedRate, channels: 1, samples });
  const { peak, rms } = await measure(samples);
  const facts = {
    sha256: await digestOf(wav),
    duration_seconds: Math.round((samples.length / storedRate) * 1_000) / 1_000,
    peak_db: tenth(decibels(peak)),
    rms_db: tenth(decibels(rms)),
    loudness_lufs: tenth(await loudness(samples)),
  };
  return { wav, facts };
}

/** SHA-256 of a file of ten megabytes, say; hexadecimal. */
export async function digestOf(bytes: Buffer): Promise<string> {
  const hash = createHash('sha256');
  await inSlices(bytes.length, sliceBytes, (from, to) => hash.update(bytes.subarray(from, to)));
  return hash.digest('hex');
}

const tenth = (db: number): number => Math.round(db * 10) / 10;
