import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { siteStatus } from '#site/core/index.ts';
import { armingWords, type PartitionState, type SitePlan } from '#site/model/index.ts';
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
import { holds, inEach, type Story } from './arming/property.ts';
import { engine, foreign, mirror, mixed, ruled } from './arming/sites.ts';
import { storyOf } from './arming/steps.ts';
import {
  codeDisarms,
  cut,
  duressIsInvisible,
  eachWritesItsOwn,
  endsNoLessSafe,
  fireIsAlarm,
  noiseIsNothing,
  noisy,
  sameAgain,
} from './arming/twins.ts';

/**
 * The invariants of arming under random signals, commands of every source, timers, clock
 * steps, changes of the plan, lost stores, and crashes at every write point. `arming/machine.ts` stands for the controller and
 * its disk; `arming-mutants.test.ts` shows that each property can fail. Files are beside this one unless a path is given.
 *
 * | no | what | proven by |
 * |---|---|---|
 * | I1 | noise changes nothing | here |
 * | I2 | one step, one audit entry, one event | here; on a real disk: arming-store |
 * | I3 | never disarmed by itself | here; schedules: test/site/core/schedule-properties |
 * | I4 | disarmed by right, in time, once | here |
 * | I5 | a crash ends no less safe; one id, one event | here; on a real disk: arming-store; ids: kill, crash-points |
 * | I6 | as the panel says | here |
 * | I7 | refused is nothing; the state is shown again | here; shown again: test/site/controller (C9) |
 * | I8 | the cloud converges | test/site/core/cloud-sync, arming-model |
 * | I9 | two bridges never write one partition | here |
 * | I10 | no code anywhere | test/system-input/service; test/lan/mqtt/lan-commands |
 * | I11 | duress looks like any code | here; the LAN stream: arming-duress |
 * | I12 | delays are true | here; by real clocks: test/system-input/clock |
 * | I13 | less protection needs rights | here |
 * | I14 | a good code disarms | here; cloud down, broker away, disk full: arming-disarm |
 */

/** Of each property on each site: 11,000 and more in all. */
const runs = 200;

const sites: readonly (readonly [string, SitePlan])[] = [
  ['the engine', engine],
  ['a panel', mirror],
  ['a partition of each kind', mixed],
  ['another system', foreign],
];

const stories = (plan: SitePlan): fc.Arbitrary<Story> =>
  ruled(plan).chain((one) => fc.record({ plan: fc.constant(one), steps: storyOf(one) }));

const singly: Readonly<Record<string, Check>> = {
  'I2: each transition adds one to the sequence, with one audit entry and at most one event': oneStepEach,
  'I3: nothing becomes disarmed by itself': neverByItself,
  'I4: the engine is disarmed only by right, in time and once': onlyByRight,
  'I6: what a panel owns stands as its panel says': asThePanelSays,
  'I7: a refused command is answered and changes nothing': refusedIsNothing,
  'I12: delays are whole and end when they are over, whatever the clocks do': delaysAreTrue,
  'I13: a mode that protects less needs the rights of a disarm': lessNeedsRights,
  'every state comes back from the disk as it was': staysWhole,
};

describe.each(sites)('whatever happens to a site of %s', (_, plan) => {
  it.each(Object.entries(singly))('%s', (_name, check) => holds(stories(plan), inEach(check), runs));

  it('I1: what is expired, repeated, retained, replayed or out of order changes nothing', () =>
    holds(ruled(plan).chain(noisy), noiseIsNothing, runs));

  it('I5: a crash at any write point ends no less safe', () => holds(ruled(plan).chain(cut), endsNoLessSafe, runs));

  it('I11: a duress code shows what an ordinary one does', () => holds(stories(plan), duressIsInvisible, runs));

  it('I14: afterwards a good code disarms what the engine decides', () => holds(stories(plan), codeDisarms, runs));

  it('safety 1: afterwards a fire is one signalled alarm', () => holds(stories(plan), fireIsAlarm, runs));

  it('the same inputs give the same history', () => holds(stories(plan), sameAgain, runs / 5));
});

describe('I9: two bridges of one site', () => {
  it('each write only the partition they own', () => holds(stories(mirror), eachWritesItsOwn, runs));

  it('tell the cloud the same of the site, in whatever order its partitions are counted', () => {
    const partition = fc.record({
      state: fc.constantFrom(...armingWords),
      mode: fc.constantFrom('away', null),
      stale: fc.boolean(),
    });
    const partitions = fc.array(
      partition.map((one) => one as PartitionState),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(partitions, fc.nat(5), (all, turn) => {
        const turned = [...all.slice(turn), ...all.slice(0, turn)];
        const status = siteStatus(all);
        expect([siteStatus(turned), siteStatus(all.toReversed())]).toEqual([status, status]);
        if (status === 'armed') expect(all.some(({ state, stale }) => stale || state === 'disarmed')).toBe(false);
      }),
    );
  });
});
