import { lastBy, type Phase, type Watched } from './observe.ts';
import { armedWord, asideOfDoor, disarmedWord, doorWords, exitWord, openWord } from './state-words.ts';

/** A value that went along with a door. */
export interface FoundDoor {
  readonly watched: Watched;
  readonly open: string;
  readonly closed: string;
  readonly score: number;
  /** Nothing but its timing speaks for it. */
  readonly isGuess: boolean;
}

/** A value that went along with arming and disarming. */
export interface FoundArea {
  readonly watched: Watched;
  readonly armed: string;
  /** Values on the way to armed. */
  readonly arming: readonly string[];
  /** Values of a disarmed partition; the door may have made some of them. */
  readonly disarmed: readonly string[];
  readonly score: number;
  /** Nothing but its timing speaks for it. */
  readonly isGuess: boolean;
}

/** Words of a request, not of a state; what they hold is what somebody wants. */
const requests = /(^|[/_-])(set|cmd|cmnd|command|commands|control|request|press)($|[/_-])/i;
/** Points below which something only happened at the same time. */
const enough = 3.5;
/** For a value that changed when it was asked for and never else, whatever its words. */
const exactly = 2;

const isQuiet = ({ values }: Watched, phases: readonly Phase[]): boolean =>
  phases.every((phase) => values[phase].length === 0);
const changedOnce = ({ values }: Watched, phases: readonly Phase[]): boolean =>
  phases.every((phase) => values[phase].length === 1);

const isRequest = (topic: string): boolean => requests.test(topic);

const isPair = (a: string, b: string): boolean => {
  const [x, y] = [a.toLowerCase(), b.toLowerCase()];
  return doorWords.some(([yes, no]) => (x === yes && y === no) || (x === no && y === yes));
};
const isStill = ({ watched }: { watched: Watched }): boolean => watched.values.before.length <= 1;
const byScore = <T extends { readonly score: number; readonly watched: Watched }>(all: readonly T[]): T[] =>
  all.toSorted((a, b) => b.score - a.score || (a.watched.topic < b.watched.topic ? -1 : 1));

/** Values that changed when the door opened and went back when it closed, the likeliest first. */
export function findDoors(all: readonly Watched[]): readonly FoundDoor[] {
  const found = all.flatMap((watched): FoundDoor[] => {
    const { topic, path, values, restless } = watched;
    const [open, closed] = [values.opened.at(-1), values.closed.at(-1)];
    const before = lastBy(values, 'before');
    if (restless || open === undefined || closed === undefined || open === closed || isRequest(topic)) return [];
    if (before !== undefined && before !== closed) return [];
    const later = [...values.armed, ...values.disarmed];
    const score =
      (before === closed ? 2 : 0) +
      (isPair(open, closed) ? 3 : 0) +
      (openWord.test(open) ? 1 : 0) +
      (/zone|door|contact|sensor|window|input|open/i.test([topic, ...path].join('/')) ? 2 : 0) -
      (asideOfDoor.test([topic, ...path].at(-1) ?? '') ? 3 : 0) -
      (/^-?\d/.test(open) && !isPair(open, closed) ? 3 : 0) -
      (later.some((value) => value !== open && value !== closed) ? 3 : 0) -
      // Somebody who leaves and comes back may pass it; a lamp does the same for no reason.
      (values.armed.length > 0 && values.disarmed.length > 0 ? 2 : 0) -
      0.1 * path.length;
    const isExact =
      before === closed &&
      changedOnce(watched, ['before', 'opened', 'closed']) &&
      isQuiet(watched, ['armed', 'disarmed']);
    return [{ watched, open, closed, score: score + (isExact ? exactly : 0), isGuess: score < enough }];
  });
  return byScore(found.filter(isStill).filter(({ score }) => score >= enough));
}

/** Values that changed at the arming and went back at the disarming, the likeliest first. */
export function findAreas(all: readonly Watched[]): readonly FoundArea[] {
  const found = all.flatMap((watched): FoundArea[] => {
    const { topic, path, values, restless } = watched;
    const [armed, disarmed] = [values.armed.at(-1), values.disarmed.at(-1)];
    const start = lastBy(values, 'closed');
    if (restless || armed === undefined || disarmed === undefined || armed === disarmed || isRequest(topic)) return [];
    if (start !== undefined && start !== disarmed) return [];
    // The exit delay was not over: what it says when armed is not known.
    if (exitWord.test(armed)) return [];
    const resting = [...new Set([disarmed, ...values.before, ...values.opened, ...values.closed])];
    if (resting.includes(armed)) return [];
    const score =
      (start === disarmed ? 2 : 0) +
      (armedWord.test(armed) ? 3 : 0) +
      (disarmedWord.test(disarmed) ? 1 : 0) +
      (/partition|area|alarm|panel|mode|state|status|arm/i.test([topic, ...path].join('/')) ? 2 : 0) -
      (/target|last|led|user|message|time/i.test([topic, ...path].at(-1) ?? '') ? 3 : 0) -
      (isPair(armed, disarmed) ? 1 : 0) -
      (resting.length - 1) -
      0.1 * path.length;
    const arming = values.armed.slice(0, -1).filter((value) => !resting.includes(value) && value !== armed);
    const isExact =
      start === disarmed && changedOnce(watched, ['before', 'disarmed']) && isQuiet(watched, ['opened', 'closed']);
    const found = { watched, armed, arming: [...new Set(arming)], disarmed: resting };
    return [{ ...found, score: score + (isExact ? exactly : 0), isGuess: score < enough }];
  });
  return byScore(found.filter(({ score }) => score >= enough));
}
