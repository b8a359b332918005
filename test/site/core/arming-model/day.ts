import { type Random, random } from './random.ts';

export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;

/** The line is good again and nobody acts: what has not come together by its end never does. */
export const quietMs = 20 * minute;
const actsMs = 11 * hour;
export const dayMs = actsMs + quietMs;

export type Act = { readonly at: number } & (
  | { readonly who: 'keypad'; readonly status: 'armed' | 'disarmed' }
  /** The operator looks at what the cloud shows, and chooses the other value, or now and then the same again. */
  | { readonly who: 'operator'; readonly press: 'other' | 'same' }
);

export interface Day {
  readonly seed: number;
  readonly cuts: readonly { readonly from: number; readonly until: number }[];
  readonly acts: readonly Act[];
}

/** One random day: one to four cuts of 1 min to 5.5 h, some four actions at the keypad, some ten in the cloud. */
export function randomDay(seed: number): Day {
  const dice = random(seed);
  const cuts: { from: number; until: number }[] = [];
  for (let n = Math.floor(dice.between(1, 5)); n > 0; n -= 1) {
    const from = dice.between(0, actsMs);
    cuts.push({ from, until: Math.min(actsMs, from + minute * Math.exp(dice.between(0, Math.log(330)))) });
  }
  const keypad = moments(dice, { count: dice.between(1, 7), again: 0.25, soonMs: 90 * second }).map(
    (at): Act => ({ at, who: 'keypad', status: dice.chance(0.5) ? 'armed' : 'disarmed' }),
  );
  const operator = moments(dice, { count: dice.between(3, 15), again: 0.1, soonMs: 60 * second }).map(
    (at): Act => ({ at, who: 'operator', press: dice.chance(0.9) ? 'other' : 'same' }),
  );
  return { seed, cuts, acts: [...keypad, ...operator].sort((a, b) => a.at - b.at) };
}

/** Anywhere in the day; some of them are followed by another one soon after, as people do. */
function moments(dice: Random, how: { count: number; again: number; soonMs: number }): readonly number[] {
  const result: number[] = [];
  for (let n = Math.floor(how.count); n > 0; n -= 1) {
    const at = dice.between(0, actsMs - how.soonMs);
    result.push(at);
    if (dice.chance(how.again)) result.push(at + dice.between(2 * second, how.soonMs));
  }
  return result;
}
