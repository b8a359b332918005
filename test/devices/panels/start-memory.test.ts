import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { KnownPartition } from '#devices/panels/index.ts';
import { buildPanels } from '#devices/panels/load.ts';
import { Runner } from '#devices/panels/runner.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { panel, presets } from './helpers.ts';

/** A panel that begins to be read while the site knows of it from an earlier run. */
function started(given: Record<string, unknown>, known: KnownPartition) {
  const { built } = buildPanels([panel({ id: 'main', ...given })], [presets]);
  const [one] = built;
  if (one === undefined) throw new Error('the panel was not built');
  const options = { clock: manualClock(), log: pino({ level: 'silent' }), known: new Map([['p1', known]]) };
  const runner = new Runner(one, options);
  runner.brokerFound();
  return (topic: string, payload: string) =>
    (runner.take({ topic, payload: Buffer.from(payload), retain: false })?.signals ?? []).flatMap((signal) => {
      if (signal.kind === 'partition') return [`${signal.partition} ${signal.state}`];
      return signal.kind === 'zone' ? [`${signal.zone} open ${signal.open} alarm ${signal.alarm}`] : [];
    });
}

describe('after a start, the end of an alarm of a bridge that retains nothing', () => {
  const satel = { profile: 'satel-over-dotnet' };
  const triggered = 'satel/partition/1/triggered';

  it('is the arming the site knows, however often', () => {
    const says = started(satel, { state: 'armed_home', mode: 'home', zones: [] });
    for (let n = 0; n < 2; n += 1) {
      expect(says(triggered, 'ON')).toEqual(['p1 triggered']);
      expect(says(triggered, 'OFF')).toEqual(['p1 armed_home']);
    }
    expect(says('satel/partition/1/armed', 'OFF')).toEqual(['p1 disarmed']);
    expect(says(triggered, 'ON')).toEqual(['p1 triggered']);
    expect(says(triggered, 'OFF')).toEqual(['p1 disarmed']);
  });

  it.each<KnownPartition['state']>(['triggered', 'pending'])(
    'is understood when the run before has heard it: %s',
    (state) => {
      const says = started(satel, { state, mode: 'away', zones: [] });
      expect(says(triggered, 'OFF')).toEqual(['p1 armed_away']);
    },
  );

  it('is no disarming: whether it was armed meanwhile is not known', () => {
    for (const state of ['disarmed', 'triggered'] as const) {
      const says = started(satel, { state, mode: null, zones: [] });
      says(triggered, 'ON');
      expect(says(triggered, 'OFF')).toEqual(['p1 unknown']);
    }
  });

  it('is none by the end of something else, as PAI says the entry delay to be over with each disarming', () => {
    const pai = { profile: 'pai', partitions: { p1: 'Area_1' }, zones: {} };
    const at = (name: string) => `paradox/states/partitions/Area_1/${name}`;
    const says = started(pai, { state: 'triggered', mode: 'away', zones: [] });
    expect(says(at('entry_delay'), 'False')).toEqual([]);
    expect(says(at('current_state'), 'disarmed')).toEqual(['p1 disarmed']);
    const fire = started(pai, { state: 'triggered', mode: 'away', zones: [] });
    expect(fire(at('pulse_fire_alarm'), 'False')).toEqual(['p1 armed_away']);
    const entry = started(pai, { state: 'pending', mode: 'away', zones: [] });
    expect(entry(at('pulse_fire_alarm'), 'False')).toEqual([]);
    expect(entry(at('entry_delay'), 'False')).toEqual(['p1 armed_away']);
  });

  it('says nothing where nothing is taken back', () => {
    const says = started({ profile: 'dsc-keybus' }, { state: 'armed_away', mode: 'away', zones: [] });
    expect(says('dsc/Get/Partition1/Message', 'Zones open')).toEqual([]);
  });
});

describe('a zone that an alarm has named in an earlier run', () => {
  it('ends with the calm of its partition: alarmo', () => {
    const zones = { '1': { type: 'perimeter', key: 'a' }, '2': { type: 'perimeter', key: 'b' } };
    const given = { profile: 'alarmo', partitions: { p1: 'attic' }, zones };
    const says = started(given, { state: 'triggered', mode: 'away', zones: ['1'] });
    expect(says('alarmo/attic/state', 'disarmed')).toEqual(['p1 disarmed', '1 open false alarm false']);
    expect(says('alarmo/attic/state', 'armed_away')).toEqual(['p1 armed_away']);
    expect(says('alarmo/attic/state', 'disarmed')).toEqual(['p1 disarmed']);
  });

  it('whose contact the bridge tells itself stays open: texecom2mqtt', () => {
    const given = { profile: 'texecom2mqtt', partitions: { p1: 'house' }, zones: { '1': { type: 'perimeter' } } };
    const says = started(given, { state: 'triggered', mode: 'away', zones: ['1'] });
    expect(says('texecom2mqtt/area/house', '{"status":"disarmed"}')).toEqual([
      'p1 disarmed',
      '1 open undefined alarm false',
    ]);
  });
});
