import type { ArmingWord } from '#site/model/index.ts';

/** Slots of no read: what an alarm or entry delay began in before this run, and that it was running. */
export const baseSlot = '';
export const runSlot = '?';

/** At most so many partitions are remembered when the site did not name its own; the oldest gives way. */
const partitionCap = 256;
/** With one entry more, as the newest; the oldest gives way. An empty one is not kept. */
export function bounded<V>(
  map: ReadonlyMap<string, ReadonlyMap<string, V>>,
  key: string,
  value: ReadonlyMap<string, V>,
): ReadonlyMap<string, ReadonlyMap<string, V>> {
  const next = new Map(map);
  next.delete(key);
  if (value.size > 0) next.set(key, value);
  for (const oldest of next.keys()) {
    if (next.size <= partitionCap) break;
    next.delete(oldest);
  }
  return next;
}

/** Rank of combined states, highest first. The order among armed words only makes the answer independent of order. */
const ranks: readonly ArmingWord[] = [
  'triggered',
  'pending',
  'arming',
  'armed_away',
  'armed_vacation',
  'armed_night',
  'armed_custom_bypass',
  'armed_home',
  'disarmed',
  'unknown',
];

export function highest(words: Iterable<ArmingWord>): ArmingWord | undefined {
  const all = new Set(words);
  return ranks.find((word) => all.has(word));
}
