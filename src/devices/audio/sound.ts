import type { Sound, SoundFormat } from './driver.ts';
import { toAlaw, toUlaw } from './g711.ts';
import { amplify, gainOf, peakOf, type VolumeCurve } from './gain.ts';

/** At its start and its end a message is faded, as a sudden edge is heard as a click. */
const fadeMs = 10;

export interface SoundWork {
  /** One channel at the rate of the format, faded: what the cache of prepared messages gives. */
  readonly samples: Int16Array;
  readonly format: SoundFormat;
  readonly key: string;
  /** 0 to 100 percent. */
  readonly volume: number;
  /** How often it is heard. */
  readonly repeat: number;
  /** Between two times it is heard. */
  readonly gapMs: number;
  readonly curve?: VolumeCurve;
  readonly trimDb?: number;
  /** Silence before the first sample and after the last: some devices wake late, and some let go early. */
  readonly leadMs?: number;
  readonly tailMs?: number;
}

export interface MadeSound extends Sound {
  /** The trim of the speaker makes it louder than can be: it is distorted. */
  readonly clips: boolean;
}

/**
 * A message as it is to be heard: lead, the message as often as asked for with gaps between, tail; each sample at its gain and in
 * the encoding of the speaker. Nothing is made before it is read.
 */
export function createSound(work: SoundWork): MadeSound {
  const { samples, format, key, volume, repeat, curve, trimDb } = work;
  const { encoding, rate, channels } = format;
  const gain = gainOf(volume, curve, trimDb);
  const inSamples = (ms = 0) => Math.round((ms * rate) / 1000);
  const lead = inSamples(work.leadMs);
  const period = samples.length + inSamples(work.gapMs);
  const soundsUntil = lead + period * repeat - inSamples(work.gapMs);
  const total = soundsUntil + inSamples(work.tailMs);
  const bytesEach = encoding === 's16le' ? 2 : 1;
  const write = writers[encoding];
  const sampleAt = (at: number): number =>
    at < lead || at >= soundsUntil ? 0 : amplify(samples[(at - lead) % period] ?? 0, gain);

  return {
    format,
    samples: total,
    asked: { key, volume, repeat },
    clips: gain > 1 && peakOf(samples) * gain > 32_767,
    encoded: (other) => createSound({ ...work, format: { ...format, encoding: other } }),
    read(from, to) {
      if (!(from >= 0 && from <= to && to <= total)) throw new RangeError(`no samples ${from} to ${to} of ${total}`);
      const bytes = Buffer.alloc((to - from) * channels * bytesEach);
      let place = 0;
      for (let at = from; at < to; at += 1) {
        const sample = sampleAt(at);
        // The same on both, as it is: half of it on each would be 3 dB less.
        for (let channel = 0; channel < channels; channel += 1) {
          write(bytes, sample, place);
          place += bytesEach;
        }
      }
      return bytes;
    },
  };
}

const writers: Readonly<Record<SoundFormat['encoding'], (bytes: Buffer, sample: number, at: number) => void>> = {
  s16le: (bytes, sample, at) => {
    bytes.writeInt16LE(sample, at);
  },
  ulaw: (bytes, sample, at) => {
    bytes[at] = toUlaw(sample);
  },
  alaw: (bytes, sample, at) => {
    bytes[at] = toAlaw(sample);
  },
};

/** The same samples with their edges faded. */
export function faded(samples: Int16Array, rate: number): Int16Array {
  const edge = Math.min(Math.round((fadeMs * rate) / 1000), Math.floor(samples.length / 2));
  const output = samples.slice();
  for (let at = 0; at < edge; at += 1) {
    const share = at / edge;
    const last = output.length - 1 - at;
    output[at] = Math.round((output[at] ?? 0) * share);
    output[last] = Math.round((output[last] ?? 0) * share);
  }
  return output;
}
