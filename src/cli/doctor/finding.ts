import type { Scene } from './scene.ts';

/** `skipped`: it could not be looked at, or this site has none. */
export type FindingState = 'ok' | 'warning' | 'failed' | 'skipped';

/** One thing that was looked at. */
export interface Finding {
  readonly state: FindingState;
  /** Which one, where there are several: the id of a camera, an address. */
  readonly subject?: string;
  /** What was seen, with its values. Never a secret. */
  readonly seen: string;
  /** What it means for the site. */
  readonly means?: string;
  /** What to do, one step each. */
  readonly advice?: readonly string[];
}

/** One line of the report; it finds one thing or several. */
export interface Check {
  /** For programs; stays the same over versions. */
  readonly id: string;
  readonly title: string;
  /** Milliseconds after which it is given up. */
  readonly patienceMs?: number;
  /** Rejects only where siteward itself is wrong, or by the signal. */
  look(scene: Scene, signal: AbortSignal): readonly Finding[] | Promise<readonly Finding[]>;
}

export const good = (seen: string, subject?: string): Finding => ({ state: 'ok', seen, ...about(subject) });

export const skipped = (seen: string, subject?: string): Finding => ({ state: 'skipped', seen, ...about(subject) });

interface Wrong {
  readonly subject?: string | undefined;
  readonly seen: string;
  readonly means: string;
  readonly advice: string | readonly string[];
}

/** Something does not work. */
export const failed = (what: Wrong): Finding => wrong('failed', what);

/** It works, and will not for long or not as well as it should. */
export const warning = (what: Wrong): Finding => wrong('warning', what);

const wrong = (state: FindingState, { subject, seen, means, advice }: Wrong): Finding => ({
  state,
  seen,
  means,
  advice: typeof advice === 'string' ? [advice] : advice,
  ...about(subject),
});

const about = (subject: string | undefined) => (subject === undefined ? {} : { subject });

/** Where no daemon tells. */
export const noDaemon = (what: string): Finding => skipped(`${what}, and ${silent}`);

/** No daemon answers, or one that runs with another file. */
export const silent = 'siteward does not answer for this file';
