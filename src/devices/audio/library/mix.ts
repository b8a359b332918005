import { amplify, decibels } from '../gain.ts';
import { inSlices } from '../slices.ts';
import { invalidFile, limits } from './limits.ts';

/** Makes one channel of several as they come, and watches how loud they are. */
export interface Mixer {
  /** Bytes of samples of 16 bits; may end within one. */
  push(bytes: Buffer): void;
  /** All that came, in one channel. */
  samples(): Int16Array;
  /** Share of samples that were cut off at full scale. */
  readonly clipped: number;
}

/** A single sample at full scale is a peak; so many side by side were cut off. */
const cutRun = 3;
const fullScale = 32_767;
/** So many are gone through at a time. */
const sliceSamples = 200_000;

export function createMixer(channels: number): Mixer {
  const blockBytes = channels * 2;
  const parts: Int16Array[] = [];
  const runs = new Uint32Array(channels);
  let rest = Buffer.alloc(0);
  let clipped = 0;
  let heard = 0;

  function watch(sample: number, channel: number): void {
    heard += 1;
    const run = Math.abs(sample) >= fullScale ? (runs[channel] ?? 0) + 1 : 0;
    runs[channel] = run;
    if (run === cutRun) clipped += cutRun;
    else if (run > cutRun) clipped += 1;
  }

  return {
    push(bytes) {
      const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      const blocks = Math.floor(all.length / blockBytes);
      const part = new Int16Array(blocks);
      for (let block = 0; block < blocks; block += 1) {
        let sum = 0;
        for (let channel = 0; channel < channels; channel += 1) {
          const sample = all.readInt16LE(block * blockBytes + channel * 2);
          watch(sample, channel);
          sum += sample;
        }
        part[block] = Math.round(sum / channels);
      }
      parts.push(part);
      rest = Buffer.from(all.subarray(blocks * blockBytes));
    },
    samples() {
      const whole = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
      let at = 0;
      for (const part of parts) {
        whole.set(part, at);
        at += part.length;
      }
      return whole;
    },
    get clipped() {
      return heard === 0 ? 0 : clipped / heard;
    },
  };
}

/** Refuses what nobody would hear, or would hear distorted; brings the rest to one peak. Rejects with `audio_invalid`. */
export async function level(samples: Int16Array, clipped: number, signal: AbortSignal): Promise<Int16Array> {
  const { mean, peak, rms } = await measure(samples, signal);
  const loudness = decibels(rms);
  if (loudness < limits.silentDb)
    throw invalidFile(
      'silent',
      peak === 0
        ? 'there is nothing to hear'
        : `there is next to nothing to hear (${loudness.toFixed(0)} dB). Record it louder`,
    );
  if (clipped > limits.clipped)
    throw invalidFile(
      'clipping',
      `it is distorted: ${(clipped * 100).toFixed(0)} % of it is cut off at full scale. Record it less loud`,
    );
  const gain = (10 ** (limits.peakDb / 20) * 32_768) / peak;
  const output = new Int16Array(samples.length);
  const make = (from: number, to: number) => {
    for (let at = from; at < to; at += 1) output[at] = amplify((samples[at] as number) - mean, gain);
  };
  await inSlices(samples.length, sliceSamples, make, signal);
  return output;
}

/** Apart from a level that never changes, which is not heard but takes the room of what is. */
export async function measure(
  samples: Int16Array,
  signal?: AbortSignal,
): Promise<{ mean: number; peak: number; rms: number }> {
  let sum = 0;
  let squares = 0;
  let low = 32_767;
  let high = -32_768;
  const look = (from: number, to: number) => {
    for (let at = from; at < to; at += 1) {
      const sample = samples[at] as number;
      sum += sample;
      squares += sample * sample;
      if (sample < low) low = sample;
      if (sample > high) high = sample;
    }
  };
  await inSlices(samples.length, sliceSamples, look, signal);
  const count = Math.max(1, samples.length);
  const mean = Math.round(sum / count);
  // The sums are whole numbers below 2^53, so nothing is lost in them.
  const rms = Math.sqrt(Math.max(0, squares - 2 * mean * sum + count * mean * mean) / count);
  return { mean, peak: Math.max(high - mean, mean - low, 0), rms };
}
