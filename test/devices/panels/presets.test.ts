import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Compiled, createMapping, emptyMemory, interpret, mapReading } from '#devices/panels/index.ts';
import type { ArmingWord } from '#site/model/index.ts';
import { compilePreset, meaning, panel, readOne } from './helpers.ts';

/** Traffic as the bridges send it, written for these tests, with the meaning beside it. */
const traffic: readonly (readonly [string, string, string, object])[] = [
  ['pai', 'paradox/interface/availability', 'online', { bridge: 'online' }],
  ['pai', 'paradox/interface/pai_status', 'error', { bridge: 'error' }],
  [
    'pai',
    'paradox/states/partitions/Office/current_state',
    'armed_night',
    { partition: 'Office', state: 'armed_night' },
  ],
  ['pai', 'paradox/states/partitions/Office/entry_delay', '1', { partition: 'Office', state: 'pending' }],
  ['pai', 'paradox/states/partitions/Office/target_state', 'disarmed', { partition: 'Office', target: 'disarmed' }],
  [
    'pai',
    'paradox/states/partitions/Office/pulse_fire_alarm',
    'True',
    { partition: 'Office', state: 'triggered', fire: true },
  ],
  ['pai', 'paradox/states/zones/Back_window/open', '0', { zone: 'Back_window', open: false }],
  ['pai', 'paradox/states/zones/Back_window/alarm', 'True', { zone: 'Back_window', alarm: true }],
  ['pai', 'paradox/states/zones/Back_window/rf_supervision_trouble', 'True', { zone: 'Back_window', online: false }],
  ['pai', 'paradox/states/system/troubles/battery_failure_trouble', 'True', { trouble: 'battery_low' }],
  ['dsc-keybus', 'dsc/Status', 'offline', { bridge: 'offline' }],
  ['dsc-keybus', 'dsc/Get/Partition2', 'pending', { partition: '2', state: 'arming' }],
  ['dsc-keybus', 'dsc/Get/Partition2/Message', 'Entry delay in progress', { partition: '2', state: 'pending' }],
  ['dsc-keybus', 'dsc/Get/Partition2/Message', 'Invalid access code', { partition: '2', fault: 'wrong_code' }],
  ['dsc-keybus', 'dsc/Get/Zone24', '1', { zone: '24', open: true }],
  ['dsc-keybus', 'dsc/Get/Fire2', '1', { partition: '2', state: 'triggered', kind: 'fire' }],
  ['zigbee2mqtt', 'zigbee2mqtt/bridge/state', '{"state":"offline"}', { bridge: 'offline' }],
  ['zigbee2mqtt', 'zigbee2mqtt/cellar/availability', 'online', { zone: 'cellar', online: true }],
  ['zigbee2mqtt', 'zigbee2mqtt/cellar/availability', '{"state":"offline"}', { zone: 'cellar', online: false }],
  [
    'zigbee2mqtt',
    'zigbee2mqtt/cellar',
    '{"contact":false,"battery_low":true}',
    { zone: 'cellar', open: true, low_battery: true },
  ],
  ['zigbee2mqtt', 'zigbee2mqtt/boiler', '{"water_leak":true}', { zone: 'boiler', alarm: true, zone_type: 'water' }],
  ['zigbee2mqtt', 'zigbee2mqtt/garage', '{"carbon_monoxide":true}', { zone: 'garage', alarm: true, zone_type: 'co' }],
  ['zigbee2mqtt', 'zigbee2mqtt/stove', '{"gas":false}', { zone: 'stove', alarm: false }],
  ['zigbee2mqtt', 'zigbee2mqtt/lobby', '{"action":"disarm","action_code":"9731"}', { keypad: 'disarm' }],
];

describe('presets', () => {
  it.each(traffic)('%s reads %s %s', (id, topic, payload, means) => {
    const { readings, notes } = readOne(compilePreset(id), topic, payload);
    expect(meaning(readings)).toMatchObject(means);
    expect(notes).toEqual([]);
  });

  it.each(traffic)(
    '%s reads %s %s also with a byte order mark, a line end and as JSON text',
    (id, topic, payload, means) => {
      const compiled = compilePreset(id);
      const forms = [`\uFEFF${payload}`, `${payload}\r\n`];
      if (!payload.startsWith('{') && !/^\d$/.test(payload)) forms.push(JSON.stringify(payload));
      for (const form of forms) expect(meaning(readOne(compiled, topic, form).readings), form).toMatchObject(means);
    },
  );

  it('never read pending from a DSC partition as an entry delay', () => {
    expect(meaning(readOne(compilePreset('dsc-keybus'), 'dsc/Get/Partition1', 'pending').readings)).toMatchObject({
      state: 'arming',
    });
  });

  it('take only a burglary of sia2mqtt for an alarm of the partition: a silent hold-up shows nowhere', () => {
    const compiled = compilePreset('ajax-sia2mqtt');
    const states = (code: string) =>
      run(compiled, [
        ['home/alarm/ajax/state', '{"state":"armed","code":"CL"}'],
        ['home/alarm/ajax/state', JSON.stringify({ state: 'alarm', code })],
      ]);
    for (const code of ['BA', 'BV']) expect(states(code), code).toEqual(['armed_away', 'triggered']);
    for (const code of ['HA', 'PA', 'FA', 'TA', 'MA', 'GA', 'WA', 'KA'])
      expect(states(code), code).toEqual(['armed_away', undefined]);
    const report = readOne(compiled, 'home/alarm/ajax/state', '{"state":"alarm","code":"HA"}').readings;
    expect(report).toMatchObject([{ kind: 'report', sia: 'HA' }]);
  });

  it.each([
    ['panic', 'panic'],
    ['fire', 'fire'],
    ['aux', 'medical'],
  ])('take the %s key of a DSC keypad for an alarm of the zone %s', (payload, key) => {
    const { readings, notes } = readOne(compilePreset('dscalarm-mqtt'), 'dsc-alarm/keypad/alarm', payload);
    expect(readings).toMatchObject([
      { kind: 'zone', key, alarm: true },
      { kind: 'zone', key, alarm: false },
    ]);
    expect(notes).toEqual([]);
  });

  it.each<[string, string, string, object, object]>([
    [
      'texecom2mqtt',
      'texecom2mqtt/area/house',
      'texecom2mqtt/area/house',
      { status: 'triggered', last_active_zone: { number: 1 } },
      { status: 'disarmed' },
    ],
    [
      'alarmo',
      'alarmo/garden/event',
      'alarmo/garden/state',
      { event: 'TRIGGER', sensors: [{ entity_id: '1' }], delay: 0 },
      {},
    ],
  ])(
    '%s names the zone before the alarm, once however often it is told, until the partition is calm',
    (id, topic, state, alarm, calm) => {
      const compiled = compilePreset(id);
      let memory = emptyMemory();
      const say = (to: string, payload: string, retain = false) => {
        const result = interpret(compiled, memory, { topic: to, payload: new TextEncoder().encode(payload), retain });
        memory = result.memory;
        return result.readings.flatMap((one) =>
          one.kind === 'zone' ? [`${one.key} ${one.alarm}`] : one.kind === 'partition' ? [one.state] : [],
        );
      };
      const end = id === 'alarmo' ? 'disarmed' : JSON.stringify(calm);
      expect(say(topic, JSON.stringify(alarm))).toEqual(['1 false', '1 true', 'triggered']);
      expect(say(topic, JSON.stringify(alarm))).toEqual(['1 true', 'triggered']);
      expect(say(state, end)).toEqual(['disarmed', '1 false']);
      expect(say(state, end)).toEqual(['disarmed']);
      expect(say(topic, JSON.stringify(alarm))).toEqual(['1 false', '1 true', 'triggered']);
    },
  );

  it('let the entry delay end with any other message of the panel', () => {
    const words = run(compilePreset('dsc-keybus'), [
      ['dsc/Get/Partition1', 'armed_away'],
      ['dsc/Get/Partition1/Message', 'Entry delay in progress'],
      ['dsc/Get/Partition1', 'disarmed'],
      ['dsc/Get/Partition1/Message', 'Partition ready'],
    ]);
    // A lost message would leave it pending through every later state. The one after says nothing more.
    expect(words).toEqual(['armed_away', 'pending', 'disarmed', undefined]);
  });

  it('keep a trouble while one of its causes stays', () => {
    const compiled = compilePreset('pai');
    let memory = emptyMemory();
    const say = (name: string, on: string) => {
      const result = interpret(compiled, memory, {
        topic: `paradox/states/system/troubles/${name}`,
        payload: new TextEncoder().encode(on),
        retain: false,
      });
      memory = result.memory;
      return result.readings;
    };
    say('tamper_trouble', 'True');
    say('zone_tamper_trouble', 'True');
    expect(say('tamper_trouble', 'False')).toMatchObject([{ trouble: 'tamper', active: true }]);
    expect(say('zone_tamper_trouble', 'False')).toMatchObject([{ trouble: 'tamper', active: false }]);
  });

  it('see a zigbee device that is open in one of its ways as open', () => {
    const compiled = compilePreset('zigbee2mqtt');
    for (const text of ['{"contact":false,"vibration":false}', '{"contact":true,"vibration":true}']) {
      expect(readOne(compiled, 'zigbee2mqtt/door', text).readings).toMatchObject([{ kind: 'zone', open: true }]);
    }
    const both = readOne(compiled, 'zigbee2mqtt/kitchen', '{"gas":false,"carbon_monoxide":true}').readings;
    expect(both).toMatchObject([{ alarm: true, zoneType: 'co' }]);
    expect(both).toHaveLength(1);
  });

  it('turn a panic key into a pulse, and say nothing about other buttons', () => {
    const compiled = compilePreset('zigbee2mqtt');
    const zones = readOne(compiled, 'zigbee2mqtt/desk', '{"action":"panic"}').readings.filter(
      ({ kind }) => kind === 'zone',
    );
    expect(zones).toMatchObject([{ alarm: true }, { alarm: false }]);
    expect(readOne(compiled, 'zigbee2mqtt/desk', '{"action":"single"}').readings).toMatchObject([
      { kind: 'keypad', action: 'other' },
    ]);
  });

  it('hold no code of a keypad in readings or notes, whatever else the message holds', () => {
    const compiled = compilePreset('zigbee2mqtt');
    const payloads = [
      { action: 'arm_all_zones', action_code: '4827' },
      { action: '4827', action_code: 4827 },
      { contact: '4827', action_code: { nested: '4827' } },
      { contact: { action_code: '4827' }, tamper: 4827 },
    ];
    for (const payload of payloads) {
      expect(JSON.stringify(readOne(compiled, 'zigbee2mqtt/keypad', JSON.stringify(payload)))).not.toContain('4827');
    }
  });
});

/** The states a row of messages gives, in order. */
function run(
  compiled: Compiled,
  messages: readonly (readonly [string, string])[],
  retain = false,
): (ArmingWord | undefined)[] {
  let memory = emptyMemory();
  return messages.map(([topic, payload]) => {
    const result = interpret(compiled, memory, { topic, payload: new TextEncoder().encode(payload), retain });
    memory = result.memory;
    const states = result.readings.flatMap((reading) =>
      reading.kind === 'partition' && reading.state ? [reading.state] : [],
    );
    return states.at(-1);
  });
}

describe('any traffic', () => {
  const base = { pai: 'paradox/states/partitions/A', 'dsc-keybus': 'dsc/Get/Partition1' } as const;
  const words = fc.constantFrom(
    'disarmed',
    'arming',
    'armed_home',
    'armed_night',
    'armed_away',
    'triggered',
    'pending',
  );

  it('gives the same final state for retained messages in any order', () => {
    const world = fc.record({
      id: fc.constantFrom('pai', 'dsc-keybus'),
      state: words,
      entry: fc.boolean(),
      fire: fc.boolean(),
      message: fc.constantFrom(
        'Entry delay in progress',
        'Disarmed: Alarm memory',
        'Partition ready',
        'Zones open',
        'Failed to arm',
        'Bell',
      ),
    });
    const ordered = world.chain((given) => {
      const id = given.id as keyof typeof base;
      const messages: [string, string][] =
        id === 'pai'
          ? [
              [`${base.pai}/current_state`, given.state],
              [`${base.pai}/entry_delay`, given.entry ? 'True' : 'False'],
              [`${base.pai}/pulse_fire_alarm`, given.fire ? '1' : '0'],
            ]
          : [
              [base['dsc-keybus'], given.state],
              [`${base['dsc-keybus']}/Message`, given.message],
              ['dsc/Get/Fire1', given.fire ? '1' : '0'],
            ];
      const order = fc.shuffledSubarray(messages, { minLength: messages.length });
      return fc.record({ id: fc.constant(id), one: order, other: order });
    });
    fc.assert(
      fc.property(ordered, ({ id, one, other }) => {
        const compiled = compilePreset(id);
        expect(finalState(compiled, one)).toEqual(finalState(compiled, other));
      }),
      { numRuns: 300 },
    );
  });

  function finalState(compiled: Compiled, messages: readonly (readonly [string, string])[]) {
    let memory = emptyMemory();
    for (const [topic, payload] of messages) {
      memory = interpret(compiled, memory, { topic, payload: new TextEncoder().encode(payload), retain: true }).memory;
    }
    // What the partition is, told by a message that changes nothing.
    const probe = compiled.profile.id === 'pai' ? `${base.pai}/pulse_fire_alarm` : 'dsc/Get/Fire1';
    const fire = messages.find(([topic]) => topic === probe)?.[1] ?? '0';
    return interpret(compiled, memory, { topic: probe, payload: new TextEncoder().encode(fire), retain: true })
      .readings;
  }

  it('never throws, and never turns what it cannot read into a state', () => {
    const topics = fc.constantFrom(
      'paradox/states/partitions/A/current_state',
      'paradox/states/partitions/__proto__/current_state',
      'paradox/states/zones/constructor/open',
      'paradox/states/system/troubles/toString',
    );
    const payload = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      fc.json().map((text) => new TextEncoder().encode(text)),
    );
    const compiled = compilePreset('pai');
    fc.assert(
      fc.property(topics, payload, fc.boolean(), (topic, bytes, retain) => {
        const { readings } = interpret(compiled, emptyMemory(), { topic, payload: bytes, retain });
        for (const reading of readings) {
          const text = new TextDecoder().decode(bytes).trim();
          expect(/disarmed|arming|armed_|triggered|true|false|1|0|on|off|yes|no/i.test(text)).toBe(true);
          expect(reading.kind).not.toBe('link');
        }
      }),
      { numRuns: 500 },
    );
    const zigbee = compilePreset('zigbee2mqtt');
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.boolean(), (json, retain) => {
        interpret(zigbee, emptyMemory(), { topic: 'zigbee2mqtt/x', payload: new TextEncoder().encode(json), retain });
      }),
    );
  });

  it('changes no memory it was given', () => {
    const compiled = compilePreset('pai');
    const message = {
      topic: `${base.pai}/current_state`,
      payload: new TextEncoder().encode('armed_away'),
      retain: false,
    };
    const first = interpret(compiled, emptyMemory(), message);
    const before = structuredClone(first.memory);
    interpret(compiled, first.memory, { ...message, payload: new TextEncoder().encode('disarmed') });
    expect(first.memory).toEqual(before);
  });
});

describe('the site’s numbers', () => {
  const given = panel({
    id: 'main',
    profile: 'dsc-keybus',
    partitions: { p2: '1' },
    zones: { '007': { type: 'perimeter' }, F1: { type: 'fire', key: 'fire1' } },
  });
  const mapping = createMapping(given, { partition: 'number', zone: 'number' });
  const signalsOf = (topic: string, payload: string, retain = false) =>
    readOne(compilePreset('dsc-keybus'), topic, payload, retain).readings.flatMap(
      (reading) => mapReading(mapping, reading).signals,
    );
  const source = { kind: 'panel', id: 'main' };

  it('name zones and partitions, leading zeros apart', () => {
    expect(signalsOf('dsc/Get/Zone7', '1')).toEqual([{ kind: 'zone', source, zone: '007', open: true, replay: false }]);
    expect(signalsOf('dsc/Get/Partition1', 'armed_away', true)).toEqual([
      { kind: 'partition', source, partition: 'p2', state: 'armed_away', replay: true },
    ]);
  });

  it('give fire of a partition as its zone first, so that it is a fire and no burglary', () => {
    expect(signalsOf('dsc/Get/Fire1', '1')).toEqual([
      { kind: 'zone', source, zone: 'F1', alarm: true, replay: false },
      { kind: 'partition', source, partition: 'p2', state: 'triggered', told: 'fire', replay: false },
    ]);
  });

  it('make a live refusal a signal and a retained one not', () => {
    expect(signalsOf('dsc/Get/Partition1/Message', 'Failed to arm')).toEqual([
      { kind: 'refusal', source, partition: 'p2', reason: 'not_ready' },
    ]);
    expect(signalsOf('dsc/Get/Partition1/Message', 'Failed to arm', true)).toEqual([]);
  });

  it('never make a zone out of a key nobody configured', () => {
    const { readings } = readOne(compilePreset('dsc-keybus'), 'dsc/Get/Zone9', '1');
    expect(readings.map((reading) => mapReading(mapping, reading))).toEqual([
      { signals: [], hints: [{ kind: 'unknown_key', what: 'zone', key: '9' }] },
    ]);
  });
});
