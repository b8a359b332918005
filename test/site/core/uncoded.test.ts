import fc from 'fast-check';
import { expect, it } from 'vitest';
import { behaviour, independent, judge } from '#site/core/zones.ts';
import { type ArmMode, type Command, modeOf } from '#site/model/index.ts';
import { house, type World, world } from './world.ts';

const modes = ['away', 'home', 'night', 'vacation', 'custom'] as const satisfies readonly ArmMode[];
const mode = fc.constantFrom(...modes);
const verdicts = (site: World, wanted: readonly string[]): readonly string[] => {
  const partition = site.state.partitions.p1;
  const period = site.state.periods.p1;
  if (partition === undefined) return [];
  return site.plan.zones.flatMap((zone) => {
    const isOut = period?.bypassed.includes(zone.number) === true || independent(behaviour(zone).group);
    return !isOut && wanted.includes(judge(partition, period ?? {}, behaviour(zone))) ? [zone.number] : [];
  });
};
const isPartial = (site: World): boolean =>
  ['armed_home', 'armed_night'].includes(site.word() ?? '') || site.state.periods.p1?.guard !== undefined;

const uncoded: fc.Arbitrary<Partial<Command>> = fc.oneof(
  fc.record(
    {
      verb: fc.constant('arm' as const),
      mode,
      force: fc.boolean(),
      skipExitDelay: fc.boolean(),
      bypass: fc.subarray(['1', '2', '3', '4', '21']),
    },
    { requiredKeys: ['verb', 'mode'] },
  ),
  fc.record({ verb: fc.constantFrom('bypass' as const, 'unbypass' as const), zone: fc.constantFrom('1', '2', '3') }),
  fc.record({ verb: fc.constantFrom('disarm' as const, 'test' as const, 'clear_memory' as const) }),
);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ command: uncoded }) },
  fc.record({ passMs: fc.constantFrom(1000, 30_000, 61_000) }),
  fc.record({ owner: mode }),
);

it('I13: a command without a code never makes a zone alarm less than it did', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const site = world(house());
      for (const one of steps) {
        if ('passMs' in one) site.pass(one.passMs);
        else if ('owner' in one) site.arm({ mode: one.owner, role: 'owner' });
        else {
          const [alarms, watched] = [verdicts(site, ['alarm']), verdicts(site, ['alarm', 'entry', 'entered'])];
          const leaves = isPartial(site);
          const before = site.state.partitions.p1;
          site.command({ partition: 'p1', ...one.command, code: 'none', role: undefined, actor: undefined } as never);
          site.ms +=
            70_000 *
            Number(site.last.some((effect) => effect.kind === 'reply' && effect.result.error?.code === 'RATE_LIMITED'));
          expect(verdicts(site, ['alarm'])).toEqual(expect.arrayContaining([...alarms]));
          // Only on the way from a mode at home to a wider one do the doors people leave by rest, once.
          if (!leaves)
            expect(verdicts(site, ['alarm', 'entry', 'entered'])).toEqual(expect.arrayContaining([...watched]));
          if (before !== undefined && modeOf(before.state) !== null) expect(site.word()).not.toBe('disarmed');
        }
      }
    }),
    { numRuns: 500 },
  );
});
