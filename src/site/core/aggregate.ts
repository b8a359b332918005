import { type ArmingWord, isArmed, type PartitionState } from '#site/model/index.ts';

/** One word for a whole site, from its partitions as shown: never armed while one of them is not. */
export function siteWord(partitions: readonly PartitionState[]): ArmingWord {
  const words = partitions.map(({ state }) => state);
  const [first] = words;
  if (first === undefined) return 'unknown';
  for (const word of ['triggered', 'unknown', 'pending', 'arming'] as const) if (words.includes(word)) return word;
  if (words.every((word) => word === first)) return first;
  return words.every(isArmed) ? 'armed_custom_bypass' : 'disarmed';
}
