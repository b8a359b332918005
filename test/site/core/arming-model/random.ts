/** A small seeded generator (xorshift over 32 bits): the same days on every machine. */
export interface Random {
  /** From 0 to below 1. */
  next(): number;
  between(low: number, high: number): number;
  chance(probability: number): boolean;
}

export function random(seed: number): Random {
  let state = Math.imul(seed + 1, 0x9e37_79b1) >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 4_294_967_296;
  };
  for (let i = 0; i < 8; i += 1) next();
  return {
    next,
    between: (low, high) => low + (high - low) * next(),
    chance: (probability) => next() < probability,
  };
}
