import type { ArmingWord } from '#site/model/index.ts';
import type { Outcome, Profile, Read } from './profile.ts';

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

/**
 * Whether what a source takes back is what an earlier run has heard. An exit delay ends with a word of its own; an alarm not with the
 * entry delay, which bridges say to be over with every disarming: whoever can say the word takes it back, anybody where none can.
 */
export function endsRun({ in: rules }: Profile, source: string, run: ArmingWord): boolean {
  if (run === 'arming') return false;
  const sayers = rules.flatMap(({ read }, i) =>
    read.flatMap((one, j) => (says(one, run) ? [sourceOf(one, `${i}.${j}`)] : [])),
  );
  return sayers.length === 0 || sayers.includes(source);
}

/** The slot of a read that has `place` within its profile. */
export const sourceOf = ({ slot }: Read, place: string): string => (slot === undefined ? place : `slot ${slot}`);

function says({ for: target, set, map, first = [], other }: Read, word: ArmingWord): boolean {
  if (target !== 'partition') return false;
  const isWord = (said: Outcome | undefined) =>
    typeof said === 'object' && said !== null ? said.state === word : set === 'state' && said === word;
  // Without a map it has the words themselves.
  if (set === 'state' && map === undefined && first.length === 0) return true;
  const mapped = typeof map === 'object' ? Object.values(map) : [];
  return [...mapped, ...first.map(({ value }) => value), other].some(isWord);
}
