import fc from 'fast-check';
import type { SitePlan } from '#site/model/index.ts';
import type { Check } from './invariants.ts';
import { type Core, core, play } from './machine.ts';
import type { Step } from './steps.ts';

/** `SITEWARD_SEED` repeats what a failure says; `SITEWARD_ARMING_RUNS` multiplies the runs, for a night. */
export const seed = Number(process.env.SITEWARD_SEED ?? Date.now() % 2 ** 31);
const factor = Number(process.env.SITEWARD_ARMING_RUNS ?? 1);

export interface Story {
  readonly plan: SitePlan;
  readonly steps: readonly Step[];
}

/** A check of one history as one of a story. */
export const inEach =
  (check: Check) =>
  ({ plan, steps }: Story, under: Core = core): readonly string[] =>
    check(play(plan, steps, under));

const propertyOf = <T>(stories: fc.Arbitrary<T>, broken: (story: T) => readonly string[]) =>
  fc.property(stories, (story) => {
    const wrong = broken(story);
    if (wrong.length > 0) throw new Error([...new Set(wrong)].slice(0, 5).join('\n'));
  });

/** Fails with what is wrong, with a short story, and with how to repeat it. */
export function holds<T extends { plan: SitePlan }>(
  stories: fc.Arbitrary<T>,
  broken: (story: T) => readonly string[],
  runs: number,
): void {
  const result = fc.check(propertyOf(stories, broken), { seed, numRuns: runs * factor });
  if (!result.failed) return;
  const wrong = result.errorInstance instanceof Error ? result.errorInstance.message : '';
  const [story] = result.counterexample ?? [];
  throw new Error([`repeat with SITEWARD_SEED=${seed}`, wrong, ...linesOf(story)].join('\n'));
}

/** The members of a story, the steps one a line; of the plan only what is not in every test plan. */
function linesOf(story: object = {}): readonly string[] {
  return Object.entries(story).flatMap(([name, value]) => {
    if (name === 'plan') return [`plan: ${planText(value)}`];
    return Array.isArray(value) ? value.map((one) => `  ${textOf(one)}`) : [`${name}: ${textOf(value)}`];
  });
}

const textOf = (value: unknown): string =>
  JSON.stringify(value, (name, member: unknown) => (name === 'bodyHash' ? undefined : member));

function planText({ zones: _zones, cameras: _cameras, media: _media, ...plan }: SitePlan): string {
  return JSON.stringify(plan);
}

/** Whether a story is found that breaks it, within so many. */
export const isFound = <T>(stories: fc.Arbitrary<T>, broken: (story: T) => readonly string[], runs: number): boolean =>
  fc.check(propertyOf(stories, broken), { seed, numRuns: runs, endOnFailure: true }).failed;
