import { setImmediate } from 'node:timers/promises';

/**
 * Goes through so many things in slices, each of which should take a millisecond or two: packets for speakers have their turn
 * between. Rejects with the reason of the signal.
 */
export async function inSlices(
  length: number,
  size: number,
  work: (from: number, to: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  for (let from = 0; from < length; from += size) {
    signal?.throwIfAborted();
    const to = Math.min(from + size, length);
    work(from, to);
    if (to < length) await setImmediate();
  }
}
