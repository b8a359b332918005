import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { behaviour, independent, judge } from '#site/core/zones.ts';
import { type ArmMode, type Command, modeOf, unknownClient } from '#site/model/index.ts';
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

describe('what is asked of another room: pictures, sound, help from far', () => {
  it('is held by no lock for what was done to arming, and counts for none', () => {
    const site = world();
    const client = 'kp1';
    const ask = (more: object = {}) =>
      site.command({ verb: 'dispatch', partition: 'all', client, code: 'none', ...more });
    for (let n = 0; n < 20; n += 1) expect(ask()).toMatchObject({ outcome: 'done' });
    expect(site.arm({ client, code: 'none' })).not.toMatchObject({ error: { code: 'RATE_LIMITED' } });
    for (let n = 0; n < 3; n += 1) site.disarm({ client, code: 'bad' });
    expect(site.disarm({ client }).error?.code).toBe('LOCKED');
    expect(ask()).toMatchObject({ outcome: 'done' });
  });

  it('is judged by the code it has: a wrong one counts towards the lock, one under duress calls for help', () => {
    const site = world();
    const ask = (code: 'bad' | 'ok' | 'duress') =>
      site.command({ verb: 'snapshot', partition: 'all', client: 'kp1', code });
    for (let n = 0; n < 3; n += 1) expect(ask('bad').error?.code).toBe('BAD_CODE');
    expect(ask('ok').error?.code).toBe('LOCKED');
    const other = world();
    expect(other.command({ verb: 'snapshot', partition: 'all', code: 'duress' })).toMatchObject({ outcome: 'done' });
    expect(other.events()).toMatchObject([{ kind: 'duress', silent: true }]);
    // An id that another command has is not taken.
    other.arm({ id: 'x' });
    expect(other.command({ verb: 'play', id: 'x', partition: 'all' }).error?.code).toBe('ID_CONFLICT');
  });

  it.each(['snapshot', 'play', 'cancel', 'dispatch', 'watch'] as const)(
    'locks by its wrong codes (%s) what is asked for alone, where the broker does not tell who asks; and the other way round',
    (verb) => {
      const client = unknownClient;
      const asked = (site: ReturnType<typeof world>, code: 'bad' | 'ok') =>
        site.command({ verb, partition: 'all', client, code }).error?.code;
      const site = world();
      for (let n = 0; n < 3; n += 1) expect(asked(site, 'bad')).toBe('BAD_CODE');
      expect(asked(site, 'ok')).toBe('LOCKED');
      expect(site.disarm({ client }).error).toBeUndefined();
      expect(site.command({ verb: 'silence', client, code: 'ok' }).error?.code).not.toBe('LOCKED');
      for (let n = 0; n < 3; n += 1) expect(site.disarm({ client, code: 'bad' }).error?.code).toBe('BAD_CODE');
      expect(site.disarm({ client }).error?.code).toBe('LOCKED');

      const other = world();
      for (let n = 0; n < 3; n += 1) other.disarm({ client, code: 'bad' });
      expect(other.disarm({ client }).error?.code).toBe('LOCKED');
      expect(asked(other, 'ok')).toBeUndefined();
    },
  );
});
