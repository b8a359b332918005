/** Random numbers that a seed repeats (mulberry32). */
export interface Random {
  readonly seed: number;
  /** From `low` up to, not including, `high`. */
  between(low: number, high: number): number;
  whole(low: number, high: number): number;
  chance(share: number): boolean;
  pick<T>(from: readonly T[]): T;
}

/** `SITEWARD_SEED` repeats a run as far as the machine's timing allows. */
export function randomOf(seed = Number(process.env.SITEWARD_SEED ?? Date.now() % 2 ** 31)): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const between = (low: number, high: number) => low + next() * (high - low);
  const whole = (low: number, high: number) => Math.floor(between(low, high));
  return {
    seed,
    between,
    whole,
    chance: (share) => next() < share,
    pick(from) {
      const chosen = from[whole(0, from.length)];
      if (chosen === undefined) throw new RangeError('there is nothing to pick from');
      return chosen;
    },
  };
}
