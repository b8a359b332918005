import type { AudioCategory } from '#site/model/index.ts';
import type { Playback, PlayRequest } from './types.ts';

/** What goes before what, from the greatest number down. Within one rank the oldest goes first. */
interface CategoryRule {
  readonly rank: number;
  /** What becomes of it when it was cut while it sounded: it begins anew, or is cancelled. */
  readonly again: 'always' | 'once' | 'never';
  /** It waits at most so long for its first sample. */
  readonly waitsMs: number;
}

const rules: Readonly<Record<AudioCategory, CategoryRule>> = {
  alarm: { rank: 100, again: 'always', waitsMs: 300_000 },
  announcement: { rank: 60, again: 'once', waitsMs: 60_000 },
  custom: { rank: 50, again: 'once', waitsMs: 60_000 },
  reminder: { rank: 40, again: 'never', waitsMs: 60_000 },
  // A late greeting is silly.
  greeting: { rank: 30, again: 'never', waitsMs: 15_000 },
  test: { rank: 20, again: 'never', waitsMs: 60_000 },
};

/** Whoever may ask for an alarm without a cause holds up no burglary. */
const causeRanks = { fire: 300, life_safety: 200, burglary: 150 } as const;

type Ranked = Pick<Playback | PlayRequest, 'category' | 'alarm'>;

export const rankOf = ({ category, alarm }: Ranked): number =>
  alarm === undefined ? rules[category].rank : causeRanks[alarm.cause];

export const isAlarm = (playback: Ranked): boolean => rankOf(playback) >= rules.alarm.rank;

/** Also on a speaker that fails again and again: an alarm may be heard all the same, and by a test it is known to be mended. */
export const isTried = (playback: Ranked): boolean => isAlarm(playback) || playback.category === 'test';

export const isLifeSafety = (playback: Ranked): boolean => rankOf(playback) >= causeRanks.life_safety;

/** Alarms cut what is below them; everything else waits for its turn. */
export const cuts = (one: Ranked, other: Ranked): boolean => isAlarm(one) && rankOf(one) > rankOf(other);

export const waitsMs = ({ category }: Ranked): number => rules[category].waitsMs;

export function beginsAgain(playback: Ranked, cutsBefore: number): boolean {
  const { again } = rules[playback.category];
  return again === 'always' || (again === 'once' && cutsBefore === 0);
}

/** Between two repeats, milliseconds. */
export const gapMs = (playback: Ranked): number => (isAlarm(playback) ? 250 : 500);

/** The category of a request: that of the message, or a higher one; never a lower one. */
export const raised = (ofMessage: AudioCategory, asked: AudioCategory = ofMessage): AudioCategory =>
  rules[asked].rank > rules[ofMessage].rank ? asked : ofMessage;
