import { clamp } from './gain.ts';
import { inSlices } from './slices.ts';

/** Zero crossings of the sinc on each side: they make the step from what passes to what does not narrow. */
const crossings = 32;
/** Of the lower rate: halfway through that step. What passes ends at 0.42 of it; from 0.5 on nothing is left to fold back. */
const cutoff = 0.46;
/** Of the Kaiser window, for 80 dB. */
const shape = 7.857;
/** So many products are made at a time, about a millisecond. */
const productsAtATime = 1_000_000;

/**
 * Samples of one rate as those of another, by windowed sinc: what lies above half the lower rate is 75 dB down, below 0.42 of it
 * all is within 0.1 dB. Exactly `length * to / from` of them, rounded. Rejects with the reason of the signal.
 */
export async function resample(
  samples: Int16Array,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<Int16Array> {
  if (from === to) return samples;
  const { filters, half, up, down } = design(from, to);
  // With silence before the first and after the last sample.
  const padded = new Float32Array(samples.length + 2 * half);
  padded.set(samples, half - 1);
  const output = new Int16Array(resampledLength(samples.length, from, to));
  const slice = Math.max(1, Math.floor(productsAtATime / (2 * half)));
  const make = (begin: number, end: number) => {
    for (let at = begin; at < end; at += 1) {
      const filter = filters[(at * down) % up] ?? filters[0];
      output[at] = clamp(Math.round(convolve(padded, Math.floor((at * down) / up), filter)));
    }
  };
  await inSlices(output.length, slice, make, signal);
  return output;
}

const resampledLength = (samples: number, from: number, to: number): number => Math.round((samples * to) / from);

/** Four sums side by side: one alone waits for itself, and takes three times as long. */
function convolve(samples: Float32Array, first: number, filter: Float32Array): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let tap = 0; tap < filter.length; tap += 4) {
    const at = first + tap;
    a += (samples[at] as number) * (filter[tap] as number);
    b += (samples[at + 1] as number) * (filter[tap + 1] as number);
    c += (samples[at + 2] as number) * (filter[tap + 2] as number);
    d += (samples[at + 3] as number) * (filter[tap + 3] as number);
  }
  return a + b + c + d;
}

/** One filter for each place an output sample may have between two input samples. */
function design(from: number, to: number) {
  const divisor = commonDivisor(from, to);
  const up = to / divisor;
  const down = from / divisor;
  /** Cycles per input sample. */
  const edge = (cutoff * Math.min(from, to)) / from;
  const half = 2 * Math.ceil(crossings / (4 * edge));
  const filterAt = (fraction: number): Float32Array => {
    const filter = Float64Array.from({ length: 2 * half }, (_, tap) => {
      const distance = tap - half + 1 - fraction;
      return sinc(2 * edge * distance) * kaiser(distance / half);
    });
    const sum = filter.reduce((all, value) => all + value, 0);
    return Float32Array.from(filter, (value) => value / sum);
  };
  const [first = filterAt(0), ...rest] = Array.from({ length: up }, (_, phase) => filterAt(phase / up));
  return { filters: [first, ...rest] as const, half, up, down };
}

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

/** From the middle, 0, to the edges, -1 and 1. */
const kaiser = (x: number): number => (Math.abs(x) >= 1 ? 0 : bessel(shape * Math.sqrt(1 - x * x)) / bessel(shape));

/** The modified Bessel function of the first kind, order zero. */
function bessel(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-12; k += 1) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b));
