import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  blanked,
  buildPanels,
  compileProfile,
  emptyMemory,
  interpret,
  profileIds,
  renderCommand,
} from '#devices/panels/index.ts';
import { SitewardError } from '#errors.ts';
import { Secret } from '#lib/secret.ts';
import { compilePreset, meaning, panel, preset, presets, readOne } from './helpers.ts';

type Json = Record<string, unknown>;

const rule = (topic: string, ...read: Json[]): Json => ({ topic, read });
const profile = (given: Json): Json => ({
  id: 'trial',
  title: 'Trial',
  version: 1,
  hardware: [],
  vars: { b: 'base' },
  identity: { partition: 'label', zone: 'label' },
  code: { mode: 'none' },
  caps: [],
  in: [rule('$b/{zone}', { for: 'zone', set: 'open' })],
  ...given,
});

/** A profile with the two commands of a zone, and what of them is wrong in each case. */
const zoneCommand = (payload: string, topic = '$b/set/{zone}'): Json => ({ topic, payload });
const canBypass: Json = {
  caps: ['bypass', 'unbypass'],
  in: [rule('$b/{zone}', { for: 'zone', set: 'bypassed', map: 'bool' })],
  out: { bypass: zoneCommand('bypass'), unbypass: zoneCommand('clear') },
};
const onlyBypass = (out: Json): Json => ({ caps: ['bypass'], out: { bypass: out } });
const bypasses: readonly [string, Json, string][] = [
  ['a bypass of no zone', onlyBypass(zoneCommand('bypass', '$b/set')), 'out.bypass: must hold {zone}'],
  [
    'a bypass of no zone where a code is given',
    { ...onlyBypass({ topic: '$b/set', payload: '{zone}', with_code: '{code}' }), code: { mode: 'in-payload' } },
    'out.bypass: must hold {zone}',
  ],
  [
    'a bypass that nothing confirms',
    { in: [rule('$b/{zone}', { for: 'zone', set: 'open' })] },
    'out.bypass: needs a read for zone that sets bypassed',
  ],
  [
    'a bypass that is turned round by the same command',
    { out: { bypass: zoneCommand('B'), unbypass: zoneCommand('B') } },
    'out.bypass: turns the bypass round',
  ],
  [
    'a bypass of a panel whose commands turn its state round',
    { guard: { toggle: true } },
    'out.bypass: turns the bypass round',
  ],
];

function problemOf(json: unknown, options?: Parameters<typeof compileProfile>[1]): string {
  try {
    compileProfile(json, options);
  } catch (error) {
    if (error instanceof SitewardError && error.code === 'profile_invalid') return error.message;
    throw error;
  }
  return 'valid';
}

describe('checking a profile', () => {
  it('accepts every preset of the repository', () => {
    expect(profileIds([presets])).toEqual(expect.arrayContaining(['dsc-keybus', 'pai', 'zigbee2mqtt']));
    for (const id of profileIds([presets])) expect(problemOf(preset(id)), id).toBe('valid');
  });

  it.each([
    ['a missing section', profile({ in: undefined }), 'in: '],
    [
      'an unknown key',
      profile({ in: [rule('$b/x', { for: 'zone', key: 'x', set: 'open', script: 'x' })] }),
      'in[0].read[0]: ',
    ],
    [
      'an unknown field',
      profile({ in: [rule('$b/{zone}', { for: 'zone', set: 'door' })] }),
      'in[0].read[0].set: zone has no field "door"',
    ],
    [
      'a value the field does not take',
      profile({ in: [rule('$b/{partition}', { for: 'partition', set: 'state', map: { A: 'armed' } })] }),
      'in[0].read[0].map.A: "armed" is no value of state',
    ],
    ['a wildcard', profile({ in: [rule('$b/+', { for: 'zone', key: 'x', set: 'open' })] }), 'in[0].topic: wildcards'],
    [
      'a topic of everything',
      profile({ in: [rule('{zone}/x', { for: 'zone', set: 'open' })] }),
      'in[0].topic: the first level',
    ],
    [
      'an unknown variable',
      profile({ in: [rule('$c/{zone}', { for: 'zone', set: 'open' })] }),
      'in[0].topic: $c is not among vars',
    ],
    [
      'an unknown placeholder',
      profile({ in: [rule('$b/{door}', { for: 'zone', set: 'open' })] }),
      'in[0].topic: {door} is not known',
    ],
    [
      'a key nothing catches',
      profile({ in: [rule('$b/x', { for: 'zone', set: 'open' })] }),
      'in[0].read[0].key: {zone}',
    ],
    [
      'a broken expression',
      profile({ in: [rule('$b/{zone}', { for: 'zone', set: 'open', match: '(' })] }),
      'in[0].read[0].match: ',
    ],
    ...[
      ...['(a+)+$', '(?:a|a)*b', '(ab){9}', '.*.*.*x', '^.*.*.*x'],
      // It begins anew at each character.
      ...['.*:.*(open)', '\\w+[ _]\\w+ is (on|off)', 'a*a*(b)', '(^a*|b)c*d', '^a*b|c*(d)', '^.*a{900}b{9,}'],
      ...[`^${'a?'.repeat(30)}${'a'.repeat(30)}`, `^${'(a|a)'.repeat(20)}b`, `^${'(?:a|(?:b|a))'.repeat(6)}`],
    ].map((match): [string, Json, string] => [
      `the expression ${match}, which may try for ever`,
      profile({ in: [rule('$b/{zone}', { for: 'zone', set: 'open', match })] }),
      'in[0].read[0].match: must not repeat a group',
    ]),
    [
      'a command outside caps',
      profile({ out: { disarm: { topic: '$b/set', payload: 'D' } } }),
      'out.disarm: is not listed in caps',
    ],
    [
      'a command in caps that nothing sends',
      profile({ caps: ['arm_home', 'zone_restore'] }),
      'caps: lists arm_home, which is not in out: add out.arm_home with its topic and payload, or take it away',
    ],
    [
      'a change of mode that it has and has not',
      profile({ caps: ['change_mode'], change_mode: false }),
      'caps: lists change_mode, and change_mode is false: take one of them away',
    ],
    ...bypasses.map(([what, given, words]): [string, Json, string] => [
      what,
      profile({ ...canBypass, ...given }),
      words,
    ]),
    [
      'a word on bypasses where it has none',
      profile({ bypass_armed: false }),
      'bypass_armed: belongs to a profile with out.bypass',
    ],
    [
      'a restore that it has and has not',
      profile({ caps: ['zone_restore'], zone_restore: false }),
      'caps: lists zone_restore, and zone_restore is false: take one of them away',
    ],
    [
      'a time for openings whose end is told',
      profile({ zone_open_s: 60 }),
      'zone_open_s: belongs to zone_restore: false',
    ],
    [
      'a word that no partition has',
      profile({ in: [rule('$b/{partition}', { for: 'partition', set: 'state', map: { on: 'armed' } })] }),
      '"armed" is no value of state; there are disarmed, arming, armed_home',
    ],
  ])('refuses %s and names the place', (_, json, words) => {
    expect(problemOf(json)).toContain(words);
  });

  it('accepts a bypass that its panel confirms, by a flag of its own or among others', () => {
    expect(problemOf(profile(canBypass))).toBe('valid');
    const word = rule('$b/{zone}', { for: 'zone', set: 'open', map: { O: true, B: { bypassed: true } } });
    expect(problemOf(profile({ ...canBypass, in: [word], bypass_armed: false }))).toBe('valid');
  });

  it.each([
    '^Zone (\\d+) is (?:open|closed|in alarm|tampered)$',
    'zone (\\d+)',
    '^(.*): ?(.*)$',
    '^\\d{2}:\\d{2}:\\d{2} (\\w+)$',
    '^user (\\w+)(?: |_)(?:armed|disarmed)$',
    '(?<who>\\w+) armed|disarmed',
    '"token": ?"([^"]+)"',
  ])('accepts the expression %s', (match) => {
    expect(problemOf(profile({ in: [rule('$b/{zone}', { for: 'zone', set: 'open', match, map: 'bool' })] }))).toBe(
      'valid',
    );
  });

  it('names several places at once', () => {
    const text = problemOf(
      profile({ in: [rule('$b/{zone}', { for: 'zone', set: 'door' }), rule('$b/a/+', { for: 'zone', set: 'open' })] }),
    );
    expect(text).toContain('in[0].read[0].set');
    expect(text).toContain('in[1].topic');
  });

  it('refuses two topics that could match one message', () => {
    const zone = (topic: string) => rule(topic, { for: 'zone', set: 'open' });
    expect(problemOf(profile({ in: [zone('$b/{zone}/open'), zone('$b/Zone{zone}/open')] }))).toContain(
      'in[1].topic: can match the same topic as in[0].topic: base/Zone{zone}/open and base/{zone}/open',
    );
    const partition = rule('$b/Partition{partition}', { for: 'partition', set: 'state' });
    expect(problemOf(profile({ in: [partition, zone('$b/Zone{zone}')] }))).toBe('valid');
    expect(problemOf(profile({ in: [zone('$b/{zone}/open'), zone('$b/front/{device}')] }))).toContain('in[1].topic');
  });

  it('takes a fixed level beside a placeholder: the narrower topic alone reads its messages, in whatever order', () => {
    const rules = [
      rule('$b/{zone}/state', { for: 'zone', set: 'open', map: { OPEN: true } }),
      rule('$b/alarm/state', { for: 'partition', key: '1', set: 'state', map: { OPEN: 'disarmed' } }),
    ];
    for (const given of [rules, rules.toReversed()]) {
      const compiled = compileProfile(profile({ in: given }));
      const read = (topic: string) =>
        interpret(compiled, emptyMemory(), { topic, payload: Buffer.from('OPEN'), retain: false }).readings;
      expect(read('base/alarm/state')).toMatchObject([{ kind: 'partition', state: 'disarmed' }]);
      expect(read('base/door/state')).toMatchObject([{ kind: 'zone', key: 'door', open: true }]);
    }
  });

  it('masks what the narrower topic masks', () => {
    const masked = {
      ...(rule('$b/alarm/state', { for: 'partition', key: '1', set: 'state', at: '/s' }) as object),
      mask: ['/name'],
    };
    const wide = rule('$b/{zone}/state', { for: 'zone', set: 'open', at: '/o' });
    const compiled = compileProfile(profile({ in: [wide, masked] }));
    expect(blanked(compiled, 'base/alarm/state', Buffer.from('{"name":"Anna"}'))).not.toContain('Anna');
  });

  it('refuses variables and overrides it does not know', () => {
    expect(problemOf(profile({}), { vars: { base: 'x' } })).toContain('vars.base');
    expect(problemOf(profile({}), { vars: { b: 'x/#' } })).toContain('vars.b');
    expect(problemOf(profile({}), { overrides: { door: { a: true } } })).toContain('overrides.door');
    expect(problemOf(profile({}), { overrides: { open: { ajar: 'yes' } } })).toContain('overrides.open.ajar');
  });

  it.each<[string, string | null]>([
    ['triggered', 'disarmed'],
    ['triggered', 'armed_away'],
    ['armed_away', 'disarmed'],
    ['armed_away', null],
    ['arming', 'disarmed'],
  ])('refuses an override that disarms or hides an alarm: %s to be %s', (raw, value) => {
    expect(problemOf(preset('pai'), { overrides: { state: { [raw]: value } } })).toContain(`overrides.state.${raw}`);
    const others = { armed_away: 'armed_home', disarmed: 'armed_away', nosuch: 'disarmed' };
    expect(() => compilePreset('pai', { overrides: { state: others } })).not.toThrow();
  });
});

describe('subscribing', () => {
  it('uses exact filters, each once, none covered by another', () => {
    expect(compilePreset('dsc-keybus', { vars: { b: 'house/dsc' } }).filters).toEqual([
      'house/dsc/Get/+',
      'house/dsc/Get/+/Message',
      'house/dsc/Status',
    ]);
  });

  it('anchors topics and takes their special characters as they are', () => {
    const compiled = compileProfile(profile({ in: [rule('$b/zone.{zone}', { for: 'zone', set: 'open' })] }), {
      vars: { b: 'a.b' },
    });
    expect(readOne(compiled, 'a.b/zone.7', '1').readings).toHaveLength(1);
    for (const topic of ['axb/zone.7', 'a.b/zoneX7', 'a.b/zone.7/more', 'x/a.b/zone.7', 'a.b/zone.']) {
      expect(readOne(compiled, topic, '1').notes).toEqual([{ kind: 'unmatched' }]);
    }
  });
});

describe('the language', () => {
  const read = (given: Json, payload: unknown, more: Json = {}, options?: Parameters<typeof compileProfile>[1]) => {
    const json = profile({ in: [{ ...rule('$b/{zone}', { for: 'zone', ...given }), ...more }] });
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
    const { readings, notes } = readOne(compileProfile(json, options), 'base/z', text);
    return notes.length > 0 ? notes : meaning(readings);
  };

  it('compares the string form: booleans, numbers and words', () => {
    for (const yes of [true, 1, 'True', 'ON', 'on', 'yes'])
      expect(read({ at: '/v', set: 'open' }, { v: yes })).toMatchObject({ open: true });
    for (const no of [false, 0, 'False', 'OFF', 'no'])
      expect(read({ at: '/v', set: 'open' }, { v: no })).toMatchObject({ open: false });
  });

  it('takes the exact case first and folds only where the profile says so', () => {
    const map = { Open: true, OPEN: false };
    expect(read({ set: 'open', map }, 'OPEN')).toMatchObject({ open: false });
    // With fold nobody could say what "open" means: the exact case first, then one meaning for all others.
    expect(() => read({ set: 'open', map, fold: true }, 'OPEN')).toThrow(
      'in[0].read[0].map.OPEN: means something else',
    );
    expect(read({ set: 'open', map: { Open: true, OPEN: true }, fold: true }, 'oPEN')).toMatchObject({ open: true });
    expect(read({ set: 'open', map: { Open: true }, fold: true }, 'oPEN')).toMatchObject({ open: true });
    expect(read({ set: 'open', map: { Open: true } }, 'open')).toEqual([
      { kind: 'unmapped', rule: 'base/{zone}', field: 'zone.open', value: 'open', zone: 'z' },
    ]);
  });

  it('turns polarity round', () => {
    expect(read({ set: 'open', map: 'bool', invert: true }, 'ON')).toMatchObject({ open: false });
  });

  it('follows pointers into objects and lists, and says nothing where nothing stands', () => {
    expect(read({ at: '/a/1/b', set: 'open' }, { a: [0, { b: 1 }] })).toMatchObject({ open: true });
    expect(read({ at: '/a/b', set: 'open' }, { a: {} })).toEqual({});
    expect(read({ at: '/a', set: 'open' }, { a: null })).toEqual({});
    expect(read({ at: '/constructor', set: 'open' }, {})).toEqual({});
    expect(read({ at: '/a', set: 'open' }, { a: {} })).toMatchObject([{ kind: 'unmapped' }]);
  });

  it('reads only when its condition holds', () => {
    const given = { at: '/v', set: 'open', when: { '/type': ['door', 'window'] } };
    expect(read(given, { v: 1, type: 'door' })).toMatchObject({ open: true });
    expect(read(given, { v: 1, type: 'light' })).toEqual({});
  });

  it('takes the first of ordered conditions', () => {
    const first = [
      { if: { '/fire': true }, value: { alarm: true, zone_type: 'fire' } },
      { if: { '/alarm': true, '/armed': 1 }, value: { alarm: true } },
    ];
    expect(read({ first }, { fire: true, alarm: true })).toMatchObject({ alarm: true, zone_type: 'fire' });
    expect(read({ first }, { alarm: true, armed: '1' })).toMatchObject({ alarm: true });
    expect(read({ first, other: { alarm: false } }, { alarm: true })).toMatchObject({ alarm: false });
    expect(read({ first }, { alarm: true })).toEqual({});
  });

  it('takes the value out of a text', () => {
    expect(read({ set: 'open', match: '^status=(\\w+);', map: { OP: true } }, 'status=OP; battery=3')).toMatchObject({
      open: true,
    });
    expect(read({ set: 'open', match: '^status=(\\w+);', map: { OP: true } }, 'hello')).toEqual({});
  });

  it('reads each member of an object', () => {
    const json = profile({
      in: [rule('$b/all', { for: 'zone', each: { at: '/zones', key: 'z(\\d\\d)' }, at: '/open', set: 'open' })],
    });
    const { readings } = readOne(
      compileProfile(json),
      'base/all',
      JSON.stringify({ zones: { z01: { open: 1 }, z02: { open: 0 }, other: { open: 1 } } }),
    );
    expect(readings).toMatchObject([
      { key: '01', open: true },
      { key: '02', open: false },
    ]);
  });

  it('reads each member of lists within lists, and takes the key out of the message', () => {
    const json = profile({
      in: [
        rule(
          '$b/all',
          { for: 'zone', each: { at: '/areas/*/zones' }, key_at: '/id', at: '/status', set: 'open', map: 'bool' },
          { for: 'partition', each: { at: '/areas' }, key_at: '/name', at: '/set', set: 'state' },
        ),
      ],
    });
    const areas = [
      { name: 'shop', set: 'disarmed', zones: [{ id: 4, status: 'on' }, { status: 'on' }] },
      { name: 'yard', set: 'armed_away', zones: [{ id: 9, status: 'off' }] },
    ];
    expect(readOne(compileProfile(json), 'base/all', JSON.stringify({ areas })).readings).toMatchObject([
      { key: '4', open: true },
      { key: '9', open: false },
      { key: 'shop', state: 'disarmed' },
      { key: 'yard', state: 'armed_away' },
    ]);
  });

  it('takes no key out of a message that no configuration could name', () => {
    const json = profile({ in: [rule('$b/event', { for: 'zone', key_at: '/id', at: '/open', set: 'open' })] });
    const compiled = compileProfile(json);
    for (const id of ['x'.repeat(65), 'a\u0007b', '', null, [1], { a: 1 }]) {
      expect(readOne(compiled, 'base/event', JSON.stringify({ id, open: true })).readings, String(id)).toEqual([]);
    }
    expect(readOne(compiled, 'base/event', '{"id":7,"open":true}').readings).toMatchObject([{ key: '7', open: true }]);
  });

  it('has conditions that hold where nothing stands', () => {
    const first = [{ if: { '/delay': [0, null] }, value: { alarm: true } }];
    const given = { first, other: { open: true } };
    expect(read(given, { delay: 0 })).toMatchObject({ alarm: true });
    expect(read(given, { delay: null })).toMatchObject({ alarm: true });
    expect(read(given, {})).toMatchObject({ alarm: true });
    expect(read(given, { delay: 30 })).toMatchObject({ open: true });
  });

  it('lets topics of one slot replace each other, and a partition have several words', () => {
    const state = { for: 'partition', set: 'state', slot: 'state' };
    const event = { ...rule('$b/event', { ...state, key_at: '/area', at: '/now' }), retained: 'context' };
    const compiled = compileProfile(profile({ in: [rule('$b/{partition}/state', state), event] }), {
      partitions: ['shop'],
      aliases: new Map([['0', 'shop']]),
    });
    let memory = emptyMemory();
    const say = (topic: string, payload: string) => {
      const result = interpret(compiled, memory, { topic, payload: new TextEncoder().encode(payload), retain: false });
      memory = result.memory;
      return meaning(result.readings);
    };
    expect(say('base/shop/state', 'armed_away')).toMatchObject({ partition: 'shop', state: 'armed_away' });
    expect(say('base/event', '{"area":0,"now":"triggered"}')).toMatchObject({ partition: 'shop', state: 'triggered' });
    expect(say('base/event', '{"area":0,"now":"disarmed"}')).toMatchObject({ partition: 'shop', state: 'disarmed' });
  });

  it('refuses a slot of two retained topics, whose order would decide', () => {
    const state = { for: 'partition', set: 'state', slot: 's' };
    expect(problemOf(profile({ in: [rule('$b/{partition}/a', state), rule('$b/{partition}/b', state)] }))).toContain(
      'shares the slot s with in[0]',
    );
  });

  it('never takes a record of the past for a state', () => {
    const json = profile({ in: [{ ...rule('$b/{partition}', { for: 'partition', set: 'state' }), record: true }] });
    const { readings, memory } = readOne(compileProfile(json), 'base/a', 'disarmed');
    expect(readings).toEqual([]);
    expect(memory.states.size).toBe(0);
  });

  it('takes a topic without reads as a sign of life', () => {
    const json = profile({ in: [{ topic: '$b/raw', read: [] }] });
    expect(readOne(compileProfile(json), 'base/raw', 'e7 08 11')).toMatchObject({ readings: [], notes: [] });
  });

  it('tells numbers from longer words in a topic', () => {
    const json = profile({
      in: [
        rule('$b/{zone:number}/status', { for: 'zone', set: 'open' }),
        rule('$b/{zone}-bypass/status', { for: 'zone', set: 'bypassed' }),
      ],
    });
    const compiled = compileProfile(json);
    expect(meaning(readOne(compiled, 'base/5/status', '1').readings)).toMatchObject({ zone: '5', open: true });
    expect(meaning(readOne(compiled, 'base/5-bypass/status', '1').readings)).toMatchObject({
      zone: '5',
      bypassed: true,
    });
    expect(readOne(compiled, 'base/five/status', '1').notes).toEqual([{ kind: 'unmatched' }]);
  });

  it('lets a site read a value otherwise', () => {
    const area = {
      topic: '$b/{partition}',
      read: [{ for: 'partition', set: 'state', map: { part_1: 'armed_home', off: 'disarmed' } }],
    };
    const options = { overrides: { state: { part_1: 'armed_night', part_2: 'armed_home' } } };
    const compiled = compileProfile(profile({ in: [area] }), options);
    expect(meaning(readOne(compiled, 'base/a', 'part_1').readings)).toMatchObject({ state: 'armed_night' });
    expect(meaning(readOne(compiled, 'base/a', 'part_2').readings)).toMatchObject({ state: 'armed_home' });
    expect(meaning(readOne(compiled, 'base/a', 'off').readings)).toMatchObject({ state: 'disarmed' });
  });

  it('keeps the state when a value is ephemeral, empty or unknown', () => {
    const json = profile({
      in: [
        rule('$b/{partition}', {
          for: 'partition',
          set: 'state',
          ephemeral: ['busy', 'None'],
          map: { on: 'armed_away', failed: { fault: 'arm_failed' } },
        }),
      ],
    });
    const compiled = compileProfile(json);
    let memory = emptyMemory();
    const say = (text: string) => {
      const result = interpret(compiled, memory, {
        topic: 'base/a',
        payload: new TextEncoder().encode(text),
        retain: false,
      });
      memory = result.memory;
      return result;
    };
    say('on');
    const kept = memory;
    for (const text of ['busy', 'None', '', 'nonsense']) expect(say(text).readings, text).toEqual([]);
    expect(say('failed').readings).toMatchObject([{ fault: 'arm_failed' }]);
    expect(memory).toBe(kept);
  });

  it('reads a pulse as on and off, and a retained pulse not at all', () => {
    const json = profile({ in: [rule('$b/{zone}', { for: 'zone', set: 'alarm', map: { press: true }, pulse: true })] });
    expect(readOne(compileProfile(json), 'base/b', 'press').readings).toMatchObject([
      { alarm: true },
      { alarm: false },
    ]);
    expect(readOne(compileProfile(json), 'base/b', 'press', true).readings).toEqual([]);
  });

  it('drops retained messages where they mean nothing, and marks records of the past', () => {
    const json = (retained: string) =>
      profile({ in: [{ ...rule('$b/{zone}', { for: 'zone', set: 'open' }), retained }] });
    expect(readOne(compileProfile(json('ignore')), 'base/z', '1', true).notes).toEqual([{ kind: 'ignored' }]);
    expect(readOne(compileProfile(json('ignore')), 'base/z', '1', false).readings).toHaveLength(1);
    expect(readOne(compileProfile(json('context')), 'base/z', '1', true).readings).toMatchObject([{ context: true }]);
    expect(readOne(compileProfile(json('state')), 'base/z', '1', true).readings).toMatchObject([
      { replay: true, context: false },
    ]);
  });
});

describe('commands', () => {
  const withOut = (payload: unknown, more: Json = {}, out: Json = {}) =>
    compileProfile(
      profile({ caps: ['disarm'], out: { disarm: { topic: '$b/{partition}/set', payload, ...out } }, ...more }),
    );
  const coded = { code: { mode: 'in-payload' } };

  it('builds JSON with the code and numbers in their places', () => {
    const compiled = withOut({ state: 'D', code: '{code}', partition: '{partition:number}' }, coded);
    const code = new Secret('48"27');
    expect(renderCommand(compiled, { action: 'disarm', partition: '2', code })).toEqual({
      topic: 'base/2/set',
      payload: '{"state":"D","code":"48\\"27","partition":2}',
    });
  });

  it('refuses a key that is no number where the bridge wants one', () => {
    const compiled = withOut({ state: 'D', partition: '{partition:number}' });
    for (const partition of ['Area_1', '', ' 2', '1e3'])
      expect(() => renderCommand(compiled, { action: 'disarm', partition })).toThrow(
        'wants a number for the partition',
      );
  });

  it('refuses what the profile cannot do, without the code in the message', () => {
    expect(() => renderCommand(withOut('D'), { action: 'arm_away', partition: '1' })).toThrow('has no such command');
    expect(() => renderCommand(withOut('{code}', coded), { action: 'disarm', partition: '1' })).toThrow('needs a code');
    const short = withOut('{code}', { code: { mode: 'keys', length: 4, digits_only: true } });
    for (const text of ['48271', '48a7']) {
      const tried = () => renderCommand(short, { action: 'disarm', partition: '1', code: new Secret(text) });
      expect(tried).toThrow(/the code must/);
      expect(tried).not.toThrow(text);
    }
  });

  it('takes another payload where the site has given a code, and leaves members out that say nothing', () => {
    const compiled = withOut({ cmd: 'off', area: '{partition}' }, coded, {
      with_code: { cmd: 'off', area: '{partition}', code: '{code}' },
      leave_out: { area: ['all'] },
    });
    const body = (given: Json) =>
      JSON.parse(renderCommand(compiled, { action: 'disarm', partition: 'all', ...given }).payload);
    expect(body({})).toEqual({ cmd: 'off' });
    expect(body({ partition: 'hall' })).toEqual({ cmd: 'off', area: 'hall' });
    expect(body({ code: new Secret('4827') })).toEqual({ cmd: 'off', code: '4827' });
  });

  it('are refused where the code and the mode of the profile do not fit', () => {
    const out = (payload: string) => ({ caps: ['disarm'], out: { disarm: { topic: '$b/set', payload } } });
    expect(problemOf(profile({ ...out('{code}'), code: { mode: 'in-bridge' } }))).toContain(
      'holds {code}, and code.mode in-bridge says that none is sent',
    );
    expect(problemOf(profile({ ...out('D'), code: { mode: 'in-payload' } }))).toContain('no command holds {code}');
    expect(problemOf(profile(out('{pin}')))).toContain('{pin} is nothing that can be filled in');
  });

  it('give back the token the bridge handed out, which is in nothing that can be printed', () => {
    const compiled = withOut(
      { do: 'off', token: '{session}' },
      {
        in: [
          rule('$b/config', { for: 'token', key: 'session', set: 'value', at: '/template', match: '"t": "([^"]+)"' }),
        ],
      },
    );
    expect(() => renderCommand(compiled, { action: 'disarm', partition: '1' })).toThrow('needs a session');
    const config = JSON.stringify({ template: '{"t": "k3y-9f"}' });
    const { memory, readings, notes } = readOne(compiled, 'base/config', config, true);
    expect([readings, notes]).toEqual([[], []]);
    expect(inspect(memory, { depth: 9 }) + JSON.stringify([...memory.tokens])).not.toContain('k3y');
    const { tokens } = memory;
    expect(renderCommand(compiled, { action: 'disarm', partition: '1', tokens }).payload).toContain('"k3y-9f"');
  });
});

describe('several panels', () => {
  it('refuses two that read the same topics, and keeps the first', () => {
    const { built, problems } = buildPanels(
      [panel({ id: 'one', profile: 'pai' }), panel({ id: 'two', profile: 'pai' })],
      [presets],
    );
    expect(built.map(({ options }) => options.id)).toEqual(['one']);
    const message = problems.get('two')?.message;
    expect(message).toContain('panel two: reads the same topics as panel one (paradox/interface/availability and');
  });

  it('takes two of one profile with different base topics', () => {
    const { built, problems } = buildPanels(
      [panel({ id: 'one', profile: 'pai' }), panel({ id: 'two', profile: 'pai', vars: { b: 'annex' } })],
      [presets],
    );
    expect(built).toHaveLength(2);
    expect(problems.size).toBe(0);
  });

  it('names the profiles there are when one is not', () => {
    const { problems } = buildPanels([panel({ id: 'one', profile: 'paradox' })], [presets]);
    const known = profileIds([presets]).join(', ');
    expect(problems.get('one')?.message).toContain(`there are ${known}`);
  });

  it('refuses two zones with one key', () => {
    const zones = { '1': { type: 'perimeter' }, '01': { type: 'perimeter' } };
    const { problems } = buildPanels([panel({ id: 'one', profile: 'dsc-keybus', zones })], [presets]);
    expect(problems.get('one')?.message).toContain('is already the key of zone');
  });
});

describe('docs/panels.md', () => {
  const text = readFileSync(new URL('../../../docs/panels.md', import.meta.url), 'utf8');
  const example: unknown = JSON.parse(/```json\n(.*?)```/s.exec(text)?.[1] ?? '');

  it('shows a profile that does what it says', () => {
    const compiled = compileProfile(example);
    expect(meaning(readOne(compiled, 'house/area/1', '{"mode":"part","alarm":0,"exit":1}').readings)).toMatchObject({
      state: 'arming',
    });
    expect(meaning(readOne(compiled, 'house/area/1/entry', 'on').readings)).toMatchObject({
      partition: '1',
      state: 'pending',
    });
    expect(meaning(readOne(compiled, 'house/door/7', 'Open').readings)).toMatchObject({ zone: '7', open: true });
    expect(meaning(readOne(compiled, 'house/alive', 'yes').readings)).toMatchObject({ bridge: 'online' });
    expect(renderCommand(compiled, { action: 'arm_away', partition: '1' }).payload).toBe('{"mode":"full","area":1}');
  });

  it('names every preset', () => {
    for (const id of profileIds([presets])) expect(text).toContain(`\`${id}\``);
  });
});
