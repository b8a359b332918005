import { amplify, peakOf } from '#devices/audio/gain.ts';
import { limits, storedRate } from '#devices/audio/library/limits.ts';
import { loudness } from '#devices/audio/library/loudness.ts';

/** The loudest sample of what is built, as of what is imported. */
const ceiling = 10 ** (limits.peakDb / 20) * 32_768;
/** A peak is turned down from so long before it, and up again for so long: shorter, and it is heard as noise. */
const window = storedRate / 200;
const tries = 12;
const closeDb = 0.05;

/** As loud to the ear as it is to be, in LUFS, with no sample above the peak of the library: what would be is turned down. */
export async function evened(samples: Int16Array, targetLufs: number): Promise<Int16Array> {
  let gainDb = targetLufs - (await loudness(samples));
  let made = limited(samples, gainDb);
  for (let n = 0; n < tries; n += 1) {
    const missing = targetLufs - (await loudness(made));
    if (Math.abs(missing) < closeDb) break;
    gainDb += missing;
    made = limited(samples, gainDb);
  }
  return made;
}

function limited(samples: Int16Array, gainDb: number): Int16Array {
  const gain = 10 ** (gainDb / 20);
  const wanted = Float64Array.from(samples, (sample) => sample * gain);
  if (peakOf(samples) * gain <= ceiling) return samples.map((sample) => amplify(sample, gain));
  const needed = wanted.map((sample) => Math.min(1, ceiling / Math.max(1, Math.abs(sample))));
  // The mean of the least around a moment is never above what the moment itself needs.
  const factors = meanAround(leastAround(needed));
  return Int16Array.from(wanted, (sample, at) => Math.trunc(sample * (factors[at] as number)));
}

/** The least value from half a window before to half a window after. */
function leastAround(values: Float64Array): Float64Array {
  const half = window / 2;
  const least = new Float64Array(values.length);
  // Places whose values rise: the first is the least of the window, and what a later one undercuts is gone.
  const rising: number[] = [];
  let first = 0;
  for (let at = 0; at < values.length + half; at += 1) {
    const value = values[at];
    if (value !== undefined) {
      while (rising.length > first && (values[rising.at(-1) as number] as number) >= value) rising.pop();
      rising.push(at);
    }
    if (at < half) continue;
    while ((rising[first] as number) < at - window) first += 1;
    least[at - half] = values[rising[first] as number] as number;
  }
  return least;
}

function meanAround(values: Float64Array): Float64Array {
  const half = window / 2;
  const sums = new Float64Array(values.length + 1);
  for (const [at, value] of values.entries()) sums[at + 1] = (sums[at] as number) + value;
  return values.map((_, at) => {
    const [from, to] = [Math.max(0, at - half), Math.min(values.length, at + half + 1)];
    return ((sums[to] as number) - (sums[from] as number)) / (to - from);
  });
}
