import { readFileSync } from 'node:fs';

/** One channel of what was heard. Times in milliseconds from the beginning. */
export interface Measured {
  readonly rate: number;
  readonly lengthMs: number;
  /** Of the first sample that is heard; undefined where all is silent. */
  readonly onsetMs?: number;
  /** From the first to the last sample that is heard. */
  readonly durationMs: number;
  /** What of it is heard. Where a player ran dry meanwhile it is less than `durationMs`. */
  readonly soundingMs: number;
  /** Of what is heard, below full scale. */
  readonly rmsDb: number;
  /** What is heard without a longer pause. */
  readonly bursts: readonly { readonly atMs: number; readonly lengthMs: number; readonly soundingMs: number }[];
  /** From the end of each burst to the next one. */
  readonly gapsMs: readonly number[];
}

export interface Pcm {
  readonly rate: number;
  /** The samples of each channel, 1 being full scale. */
  readonly channels: readonly Float64Array[];
}

/** -54 dB. */
const audible = 0.002;
/** A tone of 1 kHz and more is above the threshold in each window. */
const windowMs = 1;

export function measureWav(file: string, pauseMs?: number): readonly Measured[] {
  return measure(readPcm(readFileSync(file)), pauseMs);
}

/** Each channel; a pause is what is silent for longer than `pauseMs`. */
export function measure({ rate, channels }: Pcm, pauseMs = 100): readonly Measured[] {
  return channels.map((samples) => measureChannel(samples, rate, pauseMs));
}

/** A wav file of 16 bits. One that is cut, or was being written, counts as far as it goes. */
export function readPcm(wav: Buffer): Pcm {
  let at = 12;
  let channels = 0;
  let rate = 0;
  while (at + 8 <= wav.length) {
    const id = wav.toString('latin1', at, at + 4);
    const size = wav.readUInt32LE(at + 4);
    if (id === 'fmt ') {
      if (wav.readUInt16LE(at + 8) !== 1 || wav.readUInt16LE(at + 22) !== 16) throw new Error('no PCM of 16 bits');
      channels = wav.readUInt16LE(at + 10);
      rate = wav.readUInt32LE(at + 12);
    }
    if (id === 'data') return rawPcm(wav.subarray(at + 8, at + 8 + size), { rate, channels });
    at += 8 + size + (size % 2);
  }
  throw new Error('no wav file');
}

/** Samples of 16 bits without a header. */
export function rawPcm(bytes: Buffer, { rate, channels }: { rate: number; channels: number }): Pcm {
  const count = Math.floor(bytes.length / (2 * channels));
  const split = Array.from({ length: channels }, (_, channel) =>
    Float64Array.from({ length: count }, (_, index) => bytes.readInt16LE((index * channels + channel) * 2) / 32768),
  );
  return { rate, channels: split };
}

function measureChannel(samples: Float64Array, rate: number, pauseMs: number): Measured {
  const ms = (count: number) => (count * 1000) / rate;
  const window = Math.max(1, Math.round((rate * windowMs) / 1000));
  const bursts: { first: number; last: number; sounding: number }[] = [];
  let squares = 0;
  let sounding = 0;
  for (let from = 0; from < samples.length; from += window) {
    const part = samples.subarray(from, from + window);
    const first = part.findIndex((value) => Math.abs(value) > audible);
    if (first === -1) continue;
    const last = part.findLastIndex((value) => Math.abs(value) > audible);
    for (const value of part) squares += value * value;
    sounding += part.length;
    const burst = bursts.at(-1);
    if (burst !== undefined && ms(from + first - burst.last - 1) <= pauseMs) {
      burst.last = from + last;
      burst.sounding += part.length;
    } else bursts.push({ first: from + first, last: from + last, sounding: part.length });
  }
  const first = bursts[0]?.first;
  const end = bursts.at(-1)?.last ?? 0;
  return {
    rate,
    lengthMs: ms(samples.length),
    ...(first === undefined ? {} : { onsetMs: ms(first) }),
    durationMs: first === undefined ? 0 : ms(end + 1 - first),
    soundingMs: ms(sounding),
    rmsDb: 10 * Math.log10(squares / Math.max(1, sounding)),
    bursts: bursts.map((burst) => ({
      atMs: ms(burst.first),
      lengthMs: ms(burst.last + 1 - burst.first),
      soundingMs: ms(burst.sounding),
    })),
    gapsMs: bursts.slice(1).map((burst, index) => ms(burst.first - (bursts[index]?.last ?? 0) - 1)),
  };
}
