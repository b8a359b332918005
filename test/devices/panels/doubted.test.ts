import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { buildPanels } from '#devices/panels/load.ts';
import { Runner } from '#devices/panels/runner.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { type ArmingWord, modeOf } from '#site/model/index.ts';
import { panel, presets } from './helpers.ts';

type Way = 'live' | 'retained' | 'queued';

function rig(given: Record<string, unknown>, known?: ArmingWord) {
  const clock = manualClock();
  const { built, problems } = buildPanels([panel({ id: 'main', ...given })], [presets]);
  expect([...problems]).toEqual([]);
  const [one] = built;
  if (one === undefined) throw new Error('the panel was not built');
  const runner = new Runner(one, {
    ...{ clock, log: pino({ level: 'silent' }) },
    ...(known && { known: new Map([['p1', { state: known, mode: modeOf(known), zones: [] }]]) }),
  });
  const says = (topic: string, payload: string, way: Way = 'live') => {
    const message = { topic, payload: Buffer.from(payload), retain: way === 'retained' };
    return (runner.take(message, way === 'queued')?.signals ?? []).flatMap(shown);
  };
  if (known === undefined) runner.brokerFound();
  return { clock, runner, says };
}

/** A question mark after what is retained. */
const shown = (signal: unknown): string[] => {
  const { kind, zone, partition, state, alarm, open, replay } = signal as Record<string, unknown>;
  if (kind === 'partition') return [`${partition} ${state}${replay === true ? '?' : ''}`];
  if (kind === 'zone' && open !== undefined) return [`${zone} open ${open}${replay === true ? '?' : ''}`];
  return kind === 'zone' ? [`${zone} alarm ${alarm}`] : [];
};

describe('a word that is not live and calmer than what is known', () => {
  const alarmo = {
    given: { profile: 'alarmo', partitions: { p1: 'attic' }, zones: { '1': { type: 'perimeter', key: 'skylight' } } },
    live: [
      ['alarmo/attic/event', '{"event":"TRIGGER","sensors":[{"entity_id":"skylight"}],"delay":0}'],
      ['alarmo/attic/state', 'triggered'],
    ],
    topic: 'alarmo/attic/state',
    calm: 'disarmed',
  };
  const texecom = {
    given: { profile: 'texecom2mqtt', partitions: { p1: 'house' }, zones: { '1': { type: 'perimeter' } } },
    live: [['texecom2mqtt/area/house', '{"status":"triggered","last_active_zone":{"number":1}}']],
    topic: 'texecom2mqtt/area/house',
    calm: '{"status":"disarmed"}',
  };

  it.each([
    { ...alarmo, way: 'retained' as const },
    { ...alarmo, way: 'queued' as const },
    { ...texecom, way: 'retained' as const },
    { ...texecom, way: 'queued' as const },
  ])('$way, ends no zone of the running alarm: $given.profile', ({ given, live, topic, calm, way }) => {
    const { says } = rig(given);
    const heard = live.flatMap(([at = '', payload = '']) => says(at, payload));
    expect(heard).toEqual(expect.arrayContaining(['1 alarm true', 'p1 triggered']));
    expect(says(topic, calm, way)).toEqual([way === 'retained' ? 'p1 disarmed?' : 'p1 disarmed']);
    // The live word ends them, as if nothing had been between.
    expect(says(topic, calm)).toEqual(expect.arrayContaining(['1 alarm false', 'p1 disarmed']));
  });

  it.each<[Way, ArmingWord | undefined]>([
    ['retained', 'armed_away'],
    ['queued', 'armed_away'],
    ['retained', undefined],
    ['queued', undefined],
  ])('%s, is no part of what later live messages mean; on disk: %s', (way, held) => {
    const { says } = rig({ profile: 'pai', partitions: { p1: 'Area_1' }, zones: {} }, held);
    const at = (name: string) => `paradox/states/partitions/Area_1/${name}`;
    if (held === undefined) says(at('current_state'), 'armed_away');
    says(at('current_state'), 'disarmed', way);
    expect(says(at('entry_delay'), 'True')).toEqual(['p1 pending']);
    expect(says(at('entry_delay'), 'False')).not.toContain('p1 disarmed');
    expect(says(at('current_state'), 'disarmed')).toEqual(['p1 disarmed']);
  });
});

describe('what a run before has known', () => {
  it.each([
    ['an entry delay and a disarming', 'armed_away', ['True', 'disarmed']],
    ['a disarming and an entry delay', 'armed_away', ['disarmed', 'True']],
    ['a disarming in an exit delay', 'arming', ['disarmed', 'True']],
  ] as const)('is no disarming by what is retained of %s', (_, held, words) => {
    const { says } = rig({ profile: 'pai', partitions: { p1: 'Area_1' }, zones: {} }, held);
    const at = (name: string) => `paradox/states/partitions/Area_1/${name}`;
    for (const word of words) says(at(word === 'True' ? 'entry_delay' : 'current_state'), word, 'retained');
    expect(says(at('entry_delay'), 'False')).not.toContain('p1 disarmed');
    expect(says(at('current_state'), 'disarmed')).toEqual(['p1 disarmed']);
  });
});

describe('a retained message that disarms', () => {
  it('is handed on whole, for the site to judge each word', () => {
    const { says } = rig({
      profile: 'visonic2mqtt',
      zones: { '1': { type: 'perimeter' }, '2': { type: 'perimeter' } },
    });
    const said = (state: string, z01: string, z02: string, way: Way) =>
      says('visonic2mqtt/state', JSON.stringify({ state, z01, z02 }), way);
    said('armed_away', 'on', 'off', 'live');
    expect(said('disarmed', 'off', 'on', 'retained')).toEqual(['p1 disarmed?', '1 open false?', '2 open true?']);
  });
});

describe('an entry delay whose end nobody has told', () => {
  const dsc = () => {
    const one = rig({ profile: 'dsc-keybus' });
    one.says('dsc/Get/Partition1', 'armed_away');
    expect(one.says('dsc/Get/Partition1/Message', 'Entry delay in progress')).toEqual(['p1 pending']);
    return one;
  };

  it('is over after ten minutes, and the partition is what its panel has said otherwise', () => {
    const { clock, runner } = dsc();
    clock.advance(599_999);
    expect(runner.checkSilence().flatMap(shown)).toEqual([]);
    clock.advance(1);
    expect(runner.checkSilence().flatMap(shown)).toEqual(['p1 armed_away?']);
    clock.advance(600_000);
    expect(runner.checkSilence().flatMap(shown)).toEqual([]);
  });

  it('is over with the alarm', () => {
    const { says } = dsc();
    expect(says('dsc/Get/Partition1', 'triggered')).toEqual(['p1 triggered']);
    expect(says('dsc/Get/Partition1', 'armed_away')).toEqual(['p1 armed_away']);
  });
});
