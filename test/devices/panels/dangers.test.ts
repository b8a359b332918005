import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { Dangers } from '#devices/panels/dangers.ts';
import { buildPanels } from '#devices/panels/load.ts';
import type { Reading } from '#devices/panels/reading.ts';
import { Runner } from '#devices/panels/runner.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { panelHouse, partition, world, zone } from '../../site/core/world.ts';
import { panel, presets } from './helpers.ts';

/** A danger a bridge tells of something that is no zone of the site, told to the site as the daemon does. */
function site(given: Record<string, unknown>) {
  const { built, problems } = buildPanels([panel({ id: 'main', ...given })], [presets]);
  expect([...problems]).toEqual([]);
  const [one] = built;
  if (one === undefined) throw new Error('the panel was not built');
  const runner = new Runner(one, { clock: manualClock(), log: pino({ level: 'silent' }) });
  runner.brokerFound();
  const partitions = ['p1', 'p2'].map((id) => partition(id, { authority: 'panel', panel: 'main' }));
  const zones = Object.entries(one.options.zones ?? {}).map(([number, { type }]) => zone(number, type));
  const house = world(panelHouse({ partitions, zones }));
  const tell = (signals: readonly Parameters<typeof house.signal>[0][]) =>
    signals
      .flatMap((signal) => house.events(house.signal(signal)))
      .filter(({ class: is }) => is === 'alarm')
      .map(({ kind, status, partition: at, zone: number, late }) =>
        [kind, status, at ?? '-', number ?? '-', ...(late ? ['late'] : [])].join(' '),
      );
  tell([{ kind: 'link', source: { kind: 'panel', id: 'main' }, layer: 'bridge', up: true }]);
  return {
    house,
    runner,
    says: (topic: string, payload: string, retain = false) =>
      tell(runner.take({ topic, payload: Buffer.from(payload), retain })?.signals ?? []),
    later: () => tell(runner.due()),
    hints: () => runner.hints().flatMap(({ kind, about }) => (kind === 'not_heard' ? [] : [`${kind} ${about}`])),
  };
}
const two = { partitions: { p1: '1', p2: '2' } };

describe('a danger without a zone of its own', () => {
  it.each<[string, Record<string, unknown>, string, string, string]>([
    ['pai', {}, 'paradox/states/partitions/1/paramedic_alarm', 'True', 'medical active p1 -'],
    ['pai', {}, 'paradox/states/partitions/1/pulse_fire_alarm', 'True', 'fire active p1 -'],
    ['dsc-keybus', two, 'dsc/Get/Fire2', '1', 'fire active p2 -'],
    ['dsc-keybus-openhab', two, 'dsc/Get/Fire2', '1', 'fire active p2 -'],
    ['vista-ecp', two, 'Vista/Get/Partition2/Fire', 'ON', 'fire active p2 -'],
    [
      'ad2iot',
      { ...two, vars: { uuid: 'u' } },
      'ad2iot/u/partitions/2',
      '{"fire_alarm":true,"alarm_sounding":true}',
      'fire active p2 -',
    ],
    [
      'qolsysgw',
      two,
      'qolsys/qolsys_panel/event',
      '{"event":"ALARM","alarm_type":"FIRE","partition_id":2}',
      'fire active p2 -',
    ],
    ['dscalarm-mqtt', two, 'dsc-alarm/keypad/alarm', 'panic', 'panic active - -'],
    ['dscalarm-mqtt', {}, 'dsc-alarm/keypad/alarm', 'aux', 'medical active p1 -'],
    ['dscalarm-mqtt', two, 'dsc-alarm/partition/2/lights/fire', 'on', 'fire active p2 -'],
    ['zigbee2mqtt', two, 'zigbee2mqtt/attic', '{"smoke":true}', 'fire active - -'],
    ['zigbee2mqtt', two, 'zigbee2mqtt/attic', '{"carbon_monoxide":true,"smoke":true}', 'fire active - -'],
    ['zigbee2mqtt', two, 'zigbee2mqtt/cellar', '{"water_leak":true}', 'water active - -'],
    ['zigbee2mqtt', two, 'zigbee2mqtt/keypad', '{"action":"emergency"}', 'medical active - -'],
  ])(
    'is one alarm of the panel, and of its partition where that is known: %s %j %s',
    (profile, given, topic, payload, expected) => {
      const one = site({ profile, ...given });
      expect(one.says(topic, payload)).toEqual([expected]);
      if (profile !== 'qolsysgw') expect(one.hints().join()).toContain('unknown_key zone');
      // Told again while it lasts it is the same, unless it is a button.
      const isButton = topic.includes('keypad');
      expect(one.says(topic, payload)).toEqual(isButton ? [expected] : []);
    },
  );

  it('is not the alarm of a partition that dscalarm-mqtt tells by a topic of its own', () => {
    const one = site({ profile: 'dscalarm-mqtt' });
    one.says('dsc-alarm/partition/1/state', 'armed_away');
    expect(one.says('dsc-alarm/partition/1/alarm', 'on')).toEqual(['burglary active p1 -']);
    expect(one.says('dsc-alarm/partition/1/state', 'triggered')).toEqual([]);
    expect(one.says('dsc-alarm/partition/1/alarm', 'off')).toEqual([]);
    one.says('dsc-alarm/partition/1/state', 'disarmed');
    expect(one.house.word()).toBe('disarmed');
  });

  it('is another alarm after its end', () => {
    const one = site({ profile: 'dsc-keybus' });
    expect(one.says('dsc/Get/Fire1', '1')).toEqual(['fire active p1 -']);
    expect(one.house.state.partitions.p1).toMatchObject({ state: 'triggered', alarm: { kind: 'fire' } });
    one.says('dsc/Get/Fire1', '0');
    expect(one.says('dsc/Get/Fire1', '1')).toEqual(['fire active p1 -']);
    const qolsys = site({ profile: 'qolsysgw', partitions: { p1: '0' } });
    const fire = '{"event":"ALARM","alarm_type":"FIRE","partition_id":0}';
    expect(qolsys.says('qolsys/qolsys_panel/event', fire)).toEqual(['fire active p1 -']);
    qolsys.says('qolsys/qolsys_panel/event', '{"event":"ARMING","arming_type":"DISARM","partition_id":0}');
    expect(qolsys.says('qolsys/qolsys_panel/event', fire)).toEqual(['fire active p1 -']);
  });

  it('is told during a burglary alarm too', () => {
    const one = site({ profile: 'dsc-keybus' });
    one.says('dsc/Get/Partition1', 'armed_away');
    expect(one.says('dsc/Get/Partition1', 'triggered')).toEqual(['burglary active p1 -']);
    expect(one.says('dsc/Get/Fire1', '1')).toEqual(['fire active p1 -']);
  });

  it('that is retained is told late once the panel is there, and not again after a restart while its partition shows it', () => {
    const one = site({ profile: 'dsc-keybus' });
    one.runner.link('bridge', false, 'away');
    expect(one.says('dsc/Get/Fire1', '1', true)).toEqual([]);
    expect(one.later()).toEqual([]);
    one.runner.link('bridge', true);
    expect(one.later()).toEqual(['fire active p1 - late']);
    expect(one.later()).toEqual([]);
    one.house.ms += 3_600_000;
    const again = site({ profile: 'dsc-keybus' });
    again.house.state = one.house.state;
    again.house.ms = one.house.ms;
    again.says('dsc/Get/Fire1', '1', true);
    expect(again.later()).toEqual([]);
  });

  it('that is retained is another one after an end, in the same run and in the next', () => {
    const one = site({ profile: 'zigbee2mqtt', ...two });
    const burns = (here: typeof one) => {
      here.says('zigbee2mqtt/attic', '{"smoke":true}', true);
      return [here.later(), here.later()];
    };
    expect(burns(one)).toEqual([['fire active - - late'], []]);
    expect(burns(one)).toEqual([[], []]);
    one.says('zigbee2mqtt/attic', '{"smoke":false}');
    one.runner.brokerLost('gone');
    one.runner.brokerFound();
    one.says('zigbee2mqtt/bridge/state', '{"state":"online"}');
    expect(burns(one)).toEqual([['fire active - - late'], []]);
    one.says('zigbee2mqtt/attic', '{"smoke":false}');
    const again = site({ profile: 'zigbee2mqtt', ...two });
    again.house.state = one.house.state;
    expect(burns(again)).toEqual([['fire active - - late'], []]);
  });

  it('goes to the zone that stands for it, which is calm when the last of them is', () => {
    const zones = { '10': { type: 'fire', key: 'fire' } };
    const one = site({ profile: 'zigbee2mqtt', zones });
    expect(one.says('zigbee2mqtt/attic', '{"smoke":true}')).toEqual(['fire active p1 10']);
    expect(one.says('zigbee2mqtt/hall', '{"smoke":true}')).toEqual(['fire restored p1 10', 'fire active p1 10']);
    expect(one.says('zigbee2mqtt/hall', '{"smoke":false}')).toEqual([]);
    expect(one.says('zigbee2mqtt/attic', '{"smoke":false}')).toEqual(['fire restored p1 10']);
  });

  it('is another alarm of that zone after a restart during which nobody heard the end of the first', () => {
    const zones = { '10': { type: 'fire', key: 'fire' } };
    const one = site({ profile: 'zigbee2mqtt', zones });
    expect(one.says('zigbee2mqtt/attic', '{"smoke":true}')).toEqual(['fire active p1 10']);
    const again = site({ profile: 'zigbee2mqtt', zones });
    again.house.state = one.house.state;
    // What is retained may be the same fire.
    again.says('zigbee2mqtt/attic', '{"smoke":true}', true);
    expect(again.later()).toEqual([]);
    const third = site({ profile: 'zigbee2mqtt', zones });
    third.house.state = again.house.state;
    expect(third.says('zigbee2mqtt/attic', '{"smoke":false}')).toEqual([]);
    expect(third.says('zigbee2mqtt/attic', '{"smoke":true}')).toEqual(['fire restored p1 10', 'fire active p1 10']);
  });

  it.each([
    ['of the panel', {}, '-', []],
    ['of its zone', { '10': { type: 'fire', key: 'fire' } }, '10', ['fire restored p1 10']],
  ])('%s, is ended by no retained word, and what begins next is another one', (_, zones, number, restored) => {
    const one = site({ profile: 'zigbee2mqtt', zones });
    const said = (smoke: boolean, retain = false) => one.says('zigbee2mqtt/attic', JSON.stringify({ smoke }), retain);
    const begins = `fire active p1 ${number}`;
    expect(said(true)).toEqual([begins]);
    expect(said(false, true)).toEqual([]);
    expect(said(true).at(-1)).toBe(begins);
    expect(said(true)).toEqual([]);
    expect(said(false, true)).toEqual([]);
    expect(said(false)).toEqual(restored);
  });

  it('is an alarm of its own where its detector is a burglary zone, and none where the site wants none', () => {
    const as = (type: string) => {
      const one = site({ profile: 'zigbee2mqtt', zones: { '2': { type, key: 'attic' } } });
      const source = { kind: 'panel', id: 'main' } as const;
      one.house.signal({ kind: 'partition', source, partition: 'p1', state: 'disarmed', replay: false });
      return one.says('zigbee2mqtt/attic', '{"smoke":true}');
    };
    expect(as('perimeter')).toEqual(['fire active p1 -']);
    expect(as('no_alarm_response')).toEqual([]);
  });

  it('is one alarm with its zone, as before, where it has one', () => {
    const one = site({ profile: 'dsc-keybus', zones: { '10': { type: 'fire', key: 'fire1' } } });
    expect(one.says('dsc/Get/Fire1', '1')).toEqual(['fire active p1 10']);
  });
});

describe('the buttons of a keypad', () => {
  const buttons = (type: string) => {
    const zones = {
      '31': { type, key: 'keypad' },
      '10': { type: 'fire', key: 'fire' },
      '11': { type: 'medical', key: 'medical' },
      '12': { type: 'panic_audible', key: 'panic' },
    };
    const one = site({ profile: 'zigbee2mqtt', zones });
    return ['fire', 'emergency', 'panic', 'fire'].map(
      (action) => one.says('zigbee2mqtt/keypad', JSON.stringify({ action, action_code: '1234' }))[0],
    );
  };

  it.each(['perimeter', 'panic_audible', 'fire', 'medical'])('are three alarms, whatever its zone is: %s', (type) => {
    const own = (kind: string, zone: string) =>
      ({ panic_audible: 'panic', fire: 'fire', medical: 'medical' })[type] === kind ? '31' : zone;
    expect(buttons(type)).toEqual([
      `fire active p1 ${own('fire', '10')}`,
      `medical active p1 ${own('medical', '11')}`,
      `panic active p1 ${own('panic', '12')}`,
      `fire active p1 ${own('fire', '10')}`,
    ]);
  });
});

it.each(['panic', 'emergency'])('a button %s that is a silent hold-up stays one', (action) => {
  const one = site({ profile: 'zigbee2mqtt', zones: { '31': { type: 'panic_silent', key: 'keypad' } } });
  expect(one.says('zigbee2mqtt/keypad', JSON.stringify({ action }))).toEqual([
    'panic_silent active p1 31',
    'panic_silent restored p1 31',
  ]);
});

describe('a fire flag that stays on', () => {
  it.each([
    [
      'pai',
      'paradox/states/partitions/1/current_state',
      'paradox/states/partitions/1/pulse_fire_alarm',
      'True',
      'False',
    ],
    ['dsc-keybus', 'dsc/Get/Partition1', 'dsc/Get/Fire1', '1', '0'],
  ])('hides no disarming, and is no burglary of an open window: %s', (profile, state, fire, on, off) => {
    const one = site({ profile, zones: { '2': { type: 'perimeter', key: 'Front' } } });
    one.says(state, 'armed_away');
    expect(one.says(state, 'triggered')).toEqual(['burglary active p1 -']);
    expect(one.says(fire, on)).toEqual(['fire active p1 -']);
    one.says(state, 'disarmed');
    expect(one.house.word()).toBe('disarmed');
    one.says(fire, off);
    one.says(state, 'armed_away');
    one.says(fire, on);
    expect(one.house.word()).toBe('triggered');
  });
});

describe('a danger that a bridge has retained', () => {
  const partition = (said: { fire?: boolean; state?: 'armed_away' }, replay: boolean): Reading => ({
    ...said,
    kind: 'partition',
    key: '1',
    replay,
    context: false,
  });
  const told = (...messages: readonly Reading[]) => {
    const dangers = new Dangers({
      panel: { kind: 'panel', id: 'main' },
      zones: new Map(),
      partitions: new Map([['1', 'p1']]),
      keys: new Map([['p1', '1']]),
      zoneKeys: new Map(),
      aliases: new Map(),
    });
    for (const one of messages) dangers.take([one], !one.replay);
    return dangers.due();
  };
  const fire = partition({ fire: true }, true);

  it('is told in whatever order its state comes in another topic', () => {
    const alarm = { kind: 'alarm', alarm: 'fire', partition: 'p1', replay: true };
    expect(told(fire, partition({ state: 'armed_away' }, true))).toMatchObject([alarm]);
    expect(told(partition({ state: 'armed_away' }, true), fire)).toMatchObject([alarm]);
  });

  it('is over by a live word', () => {
    expect(told(fire, partition({ state: 'armed_away' }, false))).toEqual([]);
  });
});
