import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SitePlan } from '#site/model/index.ts';
import { delaysAreTrue } from './arming/delays.ts';
import {
  asThePanelSays,
  type Check,
  lessNeedsRights,
  neverByItself,
  oneStepEach,
  onlyByRight,
  refusedIsNothing,
  staysWhole,
} from './arming/invariants.ts';
import type { Core } from './arming/machine.ts';
import * as mutants from './arming/mutants.ts';
import { inEach, isFound } from './arming/property.ts';
import { engine, mirror } from './arming/sites.ts';
import { storyOf } from './arming/steps.ts';
import { codeDisarms, cut, duressIsInvisible, endsNoLessSafe, noiseIsNothing, noisy } from './arming/twins.ts';

/** Each property of `arming.test.ts` against a core with a planted defect: a proof that cannot fail proves nothing. */
const tries = 3000;

type Case = readonly [name: string, defect: string, core: Core, check: Check, plan?: SitePlan];
const singly: readonly Case[] = [
  ['I2', 'writes no audit entry', mutants.skipsTheAudit, oneStepEach],
  ['I2', 'tells an event twice', mutants.doublesEvents, oneStepEach],
  ['I2', 'begins to count anew at each start', mutants.countsInMemoryOnly, oneStepEach],
  ['I3', 'starts disarmed', mutants.startsDisarmed, neverByItself],
  ['I3', 'takes a lost store for a new one', mutants.takesALostStoreForANewOne, neverByItself],
  ['I3', 'takes retained messages for live ones', mutants.takesRetainedForLive, neverByItself],
  ['I4', 'takes every code for a good one', mutants.trustsAnyCode, onlyByRight],
  ['I4', 'wants no code', mutants.wantsNoCode, onlyByRight],
  ['I4', 'ignores how old a command is', mutants.ignoresAge, onlyByRight],
  ['I6', 'believes its own wishes', mutants.believesItsWishes, asThePanelSays, mirror],
  ['I7', 'changes something though it refuses', mutants.touchesWhatItRefuses, refusedIsNothing],
  ['I7', 'leaves a command without an answer', mutants.answersNobody, refusedIsNothing],
  ['I12', 'measures delays by the wall clock', mutants.countsByTheWall, delaysAreTrue],
  ['I12', 'does not wind its timers', mutants.forgetsToWind, delaysAreTrue],
  ['I12', 'forgets running delays at a start', mutants.forgetsDelays, delaysAreTrue],
  ['I13', 'wants no code', mutants.wantsNoCode, lessNeedsRights],
  ['the state', 'keeps what cannot be read back', mutants.losesAMember, staysWhole],
];

describe('the property', () => {
  it.each(singly.map(([name, defect, ...planted]) => [name, defect, planted] as const))(
    '%s finds a core that %s',
    (_, _defect, [core, check, plan = engine]) => {
      const stories = fc.record({ plan: fc.constant(plan), steps: storyOf(plan) });
      expect(isFound(stories, (story) => inEach(check)(story, core), tries)).toBe(true);
    },
  );

  it.each([
    ['forgets which commands it has answered', mutants.forgetsAnswers],
    ['ignores how old a command is', mutants.ignoresAge],
    ['follows a command that is older than what was done on the site', mutants.followsOlderCommands],
  ])('I1 finds a core that %s', (_, core) => {
    expect(isFound(noisy(engine), (story) => noiseIsNothing(story, core), tries)).toBe(true);
  });

  it.each([
    ['forgets running delays at a start', mutants.forgetsDelays],
    ['comes back in the state before', mutants.answersBeforeTheCommit],
    ['starts disarmed', mutants.startsDisarmed],
  ])('I5 finds a core that %s', (_, core) => {
    expect(isFound(cut(engine), (story) => endsNoLessSafe(story, core), tries)).toBe(true);
  });

  it('I11 finds a core that shows that a code was one of duress', () => {
    const stories = fc.record({ plan: fc.constant(engine), steps: storyOf(engine) });
    expect(isFound(stories, (story) => duressIsInvisible(story, mutants.showsDuress), tries)).toBe(true);
  });

  it('I14 finds a core that slows down people with a good code', () => {
    const stories = fc.record({ plan: fc.constant(engine), steps: storyOf(engine) });
    expect(isFound(stories, (story) => codeDisarms(story, mutants.slowsDownPeople), tries)).toBe(true);
  });
});
