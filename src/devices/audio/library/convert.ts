import { rm, writeFile } from 'node:fs/promises';
import { resample } from '../resample.ts';
import { inSlices } from '../slices.ts';
import { type WavLayout, wavLayout } from '../wav.ts';
import { type Decoded, type Decoder, plainRates } from './decode.ts';
import { checkSeconds, invalidFile, storedRate } from './limits.ts';
import { createMixer, level } from './mix.ts';
import { type SoundKind, sniff } from './sniff.ts';

export interface Conversion {
  readonly bytes: Buffer;
  /** As it was called where it comes from; only its ending is looked at. */
  readonly fileName?: string;
  /** A file of this name lies there while another program reads it. */
  readonly part: string;
  readonly decoder: Decoder;
}

/** So much of a plain wav is mixed at a time. */
const sliceBytes = 100_000;

/**
 * Somebody's file as samples the library keeps: one channel, 48 kHz, one loudness. Rejects with `audio_invalid`, which names the
 * field, `audio_tool_missing`, or the reason of the signal; nothing is left behind.
 */
export async function convert(work: Conversion, signal: AbortSignal): Promise<Int16Array> {
  if (work.bytes.length === 0) throw invalidFile('empty', 'it is empty');
  const kind = sniff(work.bytes, work.fileName);
  const { rate, samples, clipped } = await decoded(kind, work, signal);
  return resample(await level(samples, clipped, signal), rate, storedRate, signal);
}

async function decoded(kind: SoundKind, work: Conversion, signal: AbortSignal): Promise<Decoded> {
  const { bytes, part, decoder } = work;
  if (kind === 'wav') {
    const layout = wavLayout(bytes);
    checkSeconds(layout.seconds);
    if (isPlain(layout)) return mixed(layout, signal);
  }
  try {
    await writeFile(part, bytes, { mode: 0o600 });
    return await decoder.decode(part, kind, signal);
  } finally {
    await rm(part, { force: true });
  }
}

/** What needs no other program. */
const isPlain = ({ coding, bits, channels, rate }: WavLayout): boolean =>
  coding === 1 && bits === 16 && channels <= 2 && plainRates.includes(rate);

async function mixed({ rate, channels, data }: WavLayout, signal: AbortSignal): Promise<Decoded> {
  const mixer = createMixer(channels);
  await inSlices(data.length, sliceBytes, (from, to) => mixer.push(data.subarray(from, to)), signal);
  return { rate, samples: mixer.samples(), clipped: mixer.clipped };
}
