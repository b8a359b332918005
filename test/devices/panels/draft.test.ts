import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compileProfile,
  createObservations,
  type Draft,
  draftProfile,
  emptyMemory,
  interpret,
  type Phase,
  type Reading,
} from '#devices/panels/index.ts';

type Said = readonly (readonly [topic: string, payload: string])[];
type Script = Readonly<Partial<Record<Phase, Said>>>;

const say = (topic: string, payload: string) => ({ topic, payload: Buffer.from(payload), retain: false });

function draft(script: Script, id = 'mine'): Draft {
  const observations = createObservations();
  for (const phase of ['before', 'opened', 'closed', 'armed', 'disarmed'] as const) {
    observations.begin(phase);
    for (const [topic, payload] of script[phase] ?? []) observations.take(say(topic, payload));
  }
  return draftProfile({ id, title: 'Mine', watched: observations.list() });
}

/** What the drafted profile reads of one message. */
function read({ profile }: Draft, topic: string, payload: string): readonly Reading[] {
  return interpret(compileProfile(profile), emptyMemory(), say(topic, payload)).readings;
}

/** Traffic that has nothing to do with the panel, in every phase. */
const noise = (n: number): Said => [
  ['weather/roof', `{"temperature":${20 + n},"wind":${n % 3}}`],
  ['lamp/hall/state', n % 2 === 0 ? 'ON' : 'OFF'],
  ['house/time', `2026-12-01T10:0${n}:00Z`],
];

describe('a profile drafted from what changed', () => {
  it.each([
    ['de', 'offen', 'geschlossen', 'unscharf', 'Ausgangsverzögerung', 'scharf'],
    ['fr', 'ouverte', 'fermée', 'désarmé', 'délai de sortie', 'armé'],
    ['es', 'abierta', 'cerrada', 'desconectado', 'retardo de salida', 'conectado'],
    ['it', 'aperta', 'chiusa', 'disinserito', 'ritardo di uscita', 'inserito'],
    ['nl', 'open', 'dicht', 'uitgeschakeld', 'uitlooptijd', 'ingeschakeld'],
  ])('finds door and partition in the words of %s', (_, open, closed, disarmed, leaving, armed) => {
    const script: Script = {
      before: [
        ['huis/a/9', disarmed],
        ['huis/d/7', closed],
      ],
      opened: [['huis/d/7', open]],
      closed: [['huis/d/7', closed]],
      armed: [
        ['huis/a/9', leaving],
        ['huis/a/9', armed],
      ],
      disarmed: [['huis/a/9', disarmed]],
    };
    const made = draft(script);
    expect(read(made, 'huis/d/7', open)).toMatchObject([{ kind: 'zone', open: true }]);
    expect(read(made, 'huis/a/9', armed)).toMatchObject([{ kind: 'partition', state: 'armed_away' }]);
    expect(read(made, 'huis/a/9', leaving)).toMatchObject([{ kind: 'partition', state: 'arming' }]);
    // When the exit delay is not over yet, its word is not taken for the one of an armed partition.
    const early = draft({ ...script, armed: [['huis/a/9', leaving]] });
    expect(early.missing.join()).toContain('the exit delay was not over');
  });

  it.each<[string, Script, string, string]>([
    [
      'words nobody knows',
      {
        before: [
          ['vakt/a9/sone/2', '{"st":"lukket"}'],
          ['vakt/a9/gruppe/1', '{"modus":"frakoblet"}'],
        ],
        opened: [['vakt/a9/sone/2', '{"st":"åpen"}']],
        closed: [['vakt/a9/sone/2', '{"st":"lukket"}']],
        armed: [
          ['vakt/a9/gruppe/1', '{"modus":"utgang"}'],
          ['vakt/a9/gruppe/1', '{"modus":"tilkoblet"}'],
        ],
        disarmed: [['vakt/a9/gruppe/1', '{"modus":"frakoblet"}']],
      },
      '{"st":"åpen"}',
      '{"modus":"tilkoblet"}',
    ],
    [
      'lists and letters',
      {
        before: [['zentrale/all', '{"zones":[{"o":0}],"parts":[{"s":"D"}]}']],
        opened: [['zentrale/all', '{"zones":[{"o":1}],"parts":[{"s":"D"}]}']],
        closed: [['zentrale/all', '{"zones":[{"o":0}],"parts":[{"s":"D"}]}']],
        armed: [
          ['zentrale/all', '{"zones":[{"o":0}],"parts":[{"s":"X"}]}'],
          ['zentrale/all', '{"zones":[{"o":0}],"parts":[{"s":"A"}]}'],
        ],
        disarmed: [['zentrale/all', '{"zones":[{"o":0}],"parts":[{"s":"D"}]}']],
      },
      '{"zones":[{"o":1}],"parts":[{"s":"D"}]}',
      '{"zones":[{"o":0}],"parts":[{"s":"A"}]}',
    ],
    [
      'numbers',
      {
        before: [
          ['hub/z/7', '0'],
          ['hub/m', '3'],
        ],
        opened: [['hub/z/7', '1']],
        closed: [['hub/z/7', '0']],
        armed: [
          ['hub/m', '5'],
          ['hub/m', '6'],
        ],
        disarmed: [['hub/m', '3']],
      },
      '1',
      '6',
    ],
  ])('takes the value that went along exactly, in %s, and says that it is a guess', (_, script, open, armed) => {
    const made = draft(script);
    const [doorTopic] = script.opened?.[0] ?? [];
    const [areaTopic] = script.armed?.[0] ?? [];
    expect(read(made, doorTopic ?? '', open)).toContainEqual(expect.objectContaining({ kind: 'zone', open: true }));
    expect(read(made, areaTopic ?? '', armed)).toContainEqual(
      expect.objectContaining({ kind: 'partition', state: 'armed_away' }),
    );
    expect(made.found.join()).toContain('Nothing but its timing speaks for it');
  });

  it('reads every door where the partition is told in a topic of the same form', () => {
    const at = (name: string) => `my house/${name}/state`;
    const [front, back, alarm] = [at('Zone 01 Front'), at('Zone 02 Back'), at('alarm')];
    const made = draft({
      before: [
        [front, 'CLOSED'],
        [back, 'CLOSED'],
        [alarm, 'disarmed'],
      ],
      opened: [[front, 'OPEN']],
      closed: [[front, 'CLOSED']],
      armed: [
        [alarm, 'arming'],
        [alarm, 'armed_away'],
      ],
      disarmed: [[alarm, 'disarmed']],
    });
    for (const topic of [front, back]) expect(read(made, topic, 'OPEN')).toMatchObject([{ kind: 'zone', open: true }]);
    expect(read(made, alarm, 'armed_away')).toMatchObject([{ kind: 'partition', state: 'armed_away' }]);
  });

  it('says that it reads one door only, where its topic tells of the partition too', () => {
    const said = (open: boolean, mode: string) => JSON.stringify({ open, mode });
    const other: Said[number] = ['hub/6', said(false, 'disarmed')];
    const made = draft({
      before: [['hub/5', said(false, 'disarmed')], other],
      opened: [['hub/5', said(true, 'disarmed')]],
      closed: [['hub/5', said(false, 'disarmed')]],
      armed: [['hub/5', said(false, 'armed_away')]],
      disarmed: [['hub/5', said(false, 'disarmed')]],
    });
    const readings = read(made, 'hub/5', said(true, 'armed_away'));
    expect(readings).toContainEqual(expect.objectContaining({ kind: 'zone', open: true }));
    expect(readings).toContainEqual(expect.objectContaining({ kind: 'partition', state: 'armed_away' }));
    expect(made.missing.join()).toContain('Only this one door is read');
  });

  it('takes no digit of the name of the bridge for a partition, and says what of the same form it does not read', () => {
    const ward = (mood: string) => `{"wards":{"A":{"mood":"${mood}"},"B":{"mood":"disarmed"}}}`;
    const [mode, gate] = ['keep/castle7/watchmode', 'keep/castle7/gate/3'] as const;
    const made = draft({
      before: [
        [mode, ward('disarmed')],
        [gate, 'closed'],
      ],
      opened: [[gate, 'open']],
      closed: [[gate, 'closed']],
      armed: [
        [mode, ward('arming')],
        [mode, ward('armed_away')],
      ],
      disarmed: [[mode, ward('disarmed')]],
    });
    expect(read(made, mode, ward('armed_away'))).toMatchObject([{ kind: 'partition', key: '1', state: 'armed_away' }]);
    expect(read(made, gate, 'open')).toMatchObject([{ kind: 'zone', key: '3', open: true }]);
    expect(JSON.stringify(made.profile)).not.toContain('castle{');
    expect(made.missing.join('\n')).toContain('/wards/B/mood');
  });

  it('reads numbered doors and areas in topics of their own, and the life of the bridge', () => {
    const made = draft({
      before: [
        ...noise(1),
        ['house/alive', 'yes'],
        ['house/area/1', 'rest'],
        ['house/door/7', 'CLOSED'],
        ['house/door/8', 'CLOSED'],
      ],
      opened: [...noise(2), ['house/door/7', 'OPEN']],
      closed: [...noise(3), ['house/door/7', 'CLOSED']],
      armed: [
        ['house/area/1', 'leaving'],
        ['house/area/1', 'full'],
      ],
      disarmed: [['house/area/1', 'rest']],
    });
    expect(made.profile).toMatchObject({ vars: { b: 'house' }, identity: { partition: 'number', zone: 'number' } });
    expect(made.profile?.in.map(({ topic }) => topic).toSorted()).toEqual([
      '$b/alive',
      '$b/area/{partition}',
      '$b/door/{zone}',
    ]);
    expect(read(made, 'house/door/8', 'OPEN')).toMatchObject([{ kind: 'zone', key: '8', open: true }]);
    expect(read(made, 'house/area/2', 'leaving')).toMatchObject([{ kind: 'partition', key: '2', state: 'arming' }]);
    expect(read(made, 'house/area/1', 'full')).toMatchObject([{ state: 'armed_away' }]);
    expect(read(made, 'house/area/1', 'rest')).toMatchObject([{ state: 'disarmed' }]);
    expect(read(made, 'house/alive', 'no')).toMatchObject([{ kind: 'link', layer: 'bridge', up: false }]);
    expect(made.missing.join(' ')).toContain('an alarm of the panel will not be seen');
    expect(made.profile?.notes?.join(' ')).toContain('an alarm of the panel will not be seen');
  });

  it('reads doors by name, JSON members, and words that are siteward’s own', () => {
    const door = (contact: boolean) => `{"contact":${contact},"battery":97,"linkquality":${contact ? 120 : 118}}`;
    const made = draft({
      before: [
        ['keep/front/state', door(true)],
        ['keep/back/state', door(true)],
        ['keep/panel', '{"mode":"disarmed","ready":true}'],
      ],
      opened: [
        ['keep/front/state', door(false)],
        ['keep/panel', '{"mode":"disarmed","ready":false}'],
      ],
      closed: [
        ['keep/front/state', door(true)],
        ['keep/panel', '{"mode":"disarmed","ready":true}'],
      ],
      armed: [['keep/panel', '{"mode":"armed_away","ready":true}']],
      disarmed: [['keep/panel', '{"mode":"disarmed","ready":true}']],
    });
    expect(read(made, 'keep/back/state', door(false))).toMatchObject([{ kind: 'zone', key: 'back', open: true }]);
    expect(read(made, 'keep/panel', '{"mode":"triggered"}')).toMatchObject([{ kind: 'partition', state: 'triggered' }]);
    expect(made.missing.join(' ')).toContain('taken to mean what they say');
  });

  it('reads one JSON object that holds all there is', () => {
    const all = (z3: number, state: string) => `{"state":"${state}","zones":{"z3":${z3},"z4":0},"at":"10:00"}`;
    const made = draft({
      before: [['box/status', all(0, 'off')]],
      opened: [['box/status', all(1, 'off')]],
      closed: [['box/status', all(0, 'off')]],
      armed: [['box/status', all(0, 'away')]],
      disarmed: [['box/status', all(0, 'off')]],
    });
    expect(read(made, 'box/status', '{"state":"away","zones":{"z3":0,"z4":1}}')).toEqual([
      expect.objectContaining({ kind: 'partition', key: '1', state: 'armed_away' }),
      expect.objectContaining({ kind: 'zone', key: '3', open: false }),
      expect.objectContaining({ kind: 'zone', key: '4', open: true }),
    ]);
  });

  it('reads a bridge that keeps nothing and speaks only when something happens', () => {
    const made = draft({
      opened: [['x/zone_5/value', '1']],
      closed: [['x/zone_5/value', '0']],
      armed: [['x/mode', 'stay-away']],
      disarmed: [['x/mode', 'idle']],
    });
    expect(read(made, 'x/zone_9/value', '1')).toMatchObject([{ key: '9', open: true }]);
    expect(read(made, 'x/mode', 'idle')).toMatchObject([{ state: 'disarmed' }]);
  });

  it('keeps topics as they were heard where templates would meet', () => {
    const made = draft({
      before: [
        ['y/front', 'closed'],
        ['y/back', 'closed'],
        ['y/main', 'disarmed'],
      ],
      opened: [['y/front', 'open']],
      closed: [['y/front', 'closed']],
      armed: [['y/main', 'armed']],
      disarmed: [['y/main', 'disarmed']],
    });
    expect(made.profile?.in).toHaveLength(2);
    expect(read(made, 'y/front', 'open')).toMatchObject([{ kind: 'zone', key: 'front', open: true }]);
    expect(read(made, 'y/main', 'armed')).toMatchObject([{ kind: 'partition', state: 'armed_away' }]);
  });

  it('says what was not found, and makes nothing of nothing', () => {
    const nothing = draft({
      before: noise(1),
      opened: noise(2),
      closed: noise(3),
      armed: noise(4),
      disarmed: noise(5),
    });
    expect(nothing.profile).toBeUndefined();
    expect(nothing.missing.slice(0, 2).join(' ')).toMatch(/went along with the door.*went along with arming/);
    const early = draft({
      before: [['a/area/1', 'disarmed']],
      armed: [['a/area/1', 'exit_delay']],
      disarmed: [['a/area/1', 'disarmed']],
    });
    expect(early.profile, 'the exit delay is no armed state').toBeUndefined();
  });

  it('takes no word of a request for a state, and no code into the profile', () => {
    const made = draft({
      before: [['p/area/1', 'off']],
      armed: [
        ['p/area/1/set', 'arm 4827'],
        ['p/keys', '4827'],
        ['p/area/1', 'on'],
      ],
      disarmed: [
        ['p/area/1/set', 'disarm 4827'],
        ['p/keys', '48270'],
        ['p/area/1', 'off'],
      ],
    });
    expect(made.profile?.in).toHaveLength(1);
    expect(JSON.stringify(made)).not.toContain('4827');
  });

  it('never throws and always gives a valid profile or none, whatever is heard', () => {
    const topic = fc.constantFrom('a/1', 'a/2', 'a/b/c', 'a', 'b/door', 'a/set', '$b/x', 'x/{zone}', 'a/__proto__');
    const payload = fc.oneof(
      fc.constantFrom('on', 'off', 'open', 'closed', 'armed', 'disarmed', '1', '0', ''),
      fc.json({ maxDepth: 3 }),
      fc.string(),
    );
    const said = fc.array(fc.tuple(topic, payload), { maxLength: 8 });
    const script = fc.record({ before: said, opened: said, closed: said, armed: said, disarmed: said });
    fc.assert(
      fc.property(script, (given) => {
        const { profile } = draft(given);
        if (profile !== undefined) expect(() => compileProfile(JSON.parse(JSON.stringify(profile)))).not.toThrow();
      }),
      { numRuns: 300 },
    );
  });

  it('follows only so many values', () => {
    const observations = createObservations();
    for (let i = 0; i < 10_000; i += 1) observations.take(say(`flood/${i}`, 'on'));
    for (let i = 0; i < 100; i += 1) observations.take(say('flood/1', `v${i}`));
    expect(observations.list().length).toBeLessThanOrEqual(6000);
    expect(observations.list().find(({ topic }) => topic === 'flood/1')).toMatchObject({ restless: true });
  });
});
