import { atPeak, clamp, decibels, rmsOf } from '../gain.ts';
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

/** Refuses what nobody would hear, or would hear distorted; brings the rest to one peak. Throws `audio_invalid`. */
export function level(samples: Int16Array, clipped: number): Int16Array {
  const mean = Math.round(samples.reduce((sum, sample) => sum + sample, 0) / Math.max(1, samples.length));
  // A level that never changes is not heard but takes the room of what is.
  const centred = mean === 0 ? samples : samples.map((sample) => clamp(sample - mean));
  const loudness = decibels(rmsOf(centred));
  if (loudness < limits.silentDb)
    throw invalidFile('silent', `there is next to nothing to hear (${loudness.toFixed(0)} dB). Record it louder`);
  if (clipped > limits.clipped)
    throw invalidFile(
      'clipping',
      `it is distorted: ${(clipped * 100).toFixed(0)} % of it is cut off at full scale. Record it less loud`,
    );
  return atPeak(centred, limits.peakDb);
}
