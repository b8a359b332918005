import { inSlices } from '../slices.ts';
import { storedRate } from './limits.ts';

/** What is measured where there is nothing to hear: blocks below it do not count. */
export const silentLufs = -70;

/** So many are gone through at a time. */
const sliceSamples = 100_000;
/** Blocks of 400 ms, one every 100 ms. */
const stepSamples = storedRate / 10;
const stepsOfBlock = 4;
const relativeGate = -10;

/**
 * How loud a message is to the ear, in LUFS: the integrated loudness of ITU-R BS.1770-4 for one channel at the rate of the
 * library. Rejects with the reason of the signal.
 */
export async function loudness(samples: Int16Array, signal?: AbortSignal): Promise<number> {
  const steps: number[] = [];
  const weigh = kWeighting();
  let sum = 0;
  const look = (from: number, to: number) => {
    for (let at = from; at < to; at += 1) {
      sum += weigh((samples[at] as number) / 32_768) ** 2;
      if ((at + 1) % stepSamples !== 0) continue;
      steps.push(sum / stepSamples);
      sum = 0;
    }
  };
  await inSlices(samples.length, sliceSamples, look, signal);
  return gated(blocksOf(steps, samples.length, sum));
}

/** Mean squares of blocks; what is shorter than one is a block by itself. */
function blocksOf(steps: readonly number[], length: number, rest: number): number[] {
  if (steps.length < stepsOfBlock) {
    const total = steps.reduce((sum, step) => sum + step * stepSamples, rest);
    return length === 0 ? [] : [total / length];
  }
  return steps.slice(stepsOfBlock - 1).map((_, at) => mean(steps.slice(at, at + stepsOfBlock)));
}

/** The mean of the blocks that are no pause: first against silence, then against what is loud in this message. */
function gated(blocks: readonly number[]): number {
  const heard = blocks.filter((block) => lufs(block) > silentLufs);
  if (heard.length === 0) return silentLufs;
  const gate = lufs(mean(heard)) + relativeGate;
  return lufs(mean(heard.filter((block) => lufs(block) > gate)));
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const lufs = (square: number): number => -0.691 + 10 * Math.log10(square);

/** The two filters of the standard for 48 kHz: a head in the way, and low tones heard less. */
function kWeighting(): (sample: number) => number {
  const shelf = biquad([1.53512485958697, -2.69169618940638, 1.19839281085285], [-1.69065929318241, 0.73248077421585]);
  const highPass = biquad([1, -2, 1], [-1.99004745483398, 0.99007225036621]);
  return (sample) => highPass(shelf(sample));
}

function biquad(
  [b0, b1, b2]: readonly [number, number, number],
  [a1, a2]: readonly [number, number],
): (x: number) => number {
  let z1 = 0;
  let z2 = 0;
  return (x) => {
    const y = b0 * x + z1;
    z1 = b1 * x - a1 * y + z2;
    z2 = b2 * x - a2 * y;
    return y;
  };
}
