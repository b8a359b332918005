import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import { buildPanels } from '#devices/panels/load.ts';
import { Runner } from '#devices/panels/runner.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { panelHouse, partition, world, zone } from '../../site/core/world.ts';
import { panel, presets } from './helpers.ts';

const dir = mkdtempSync(join(tmpdir(), 'siteward-opens-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** As `siteward panel new` writes it. */
const acme = (zoneRead: Record<string, unknown>) => ({
  id: 'acme',
  title: 'Acme',
  version: 1,
  hardware: [],
  vars: { b: 'acme' },
  identity: { partition: 'label', zone: 'label' },
  code: { mode: 'none' },
  caps: [],
  in: [
    { topic: '$b/state/{partition}', read: [{ for: 'partition', set: 'state' }] },
    { topic: '$b/{zone}', read: [{ for: 'zone', ...zoneRead }] },
  ],
});
writeFileSync(join(dir, 'acme.json'), JSON.stringify(acme({ set: 'open', map: { open: true, shut: false } })));
writeFileSync(
  join(dir, 'flags.json'),
  JSON.stringify({
    ...acme({
      map: { open: { open: true }, shut: { open: false, alarm: false }, alarm: { open: true, alarm: true } },
    }),
    id: 'flags',
  }),
);

function site(profile: string, type: Parameters<typeof zone>[1] = 'fire', more: Record<string, { type: 'fire' }> = {}) {
  const zones = { '8': { type }, '2': { type: 'perimeter' }, '1': { type: 'entry_exit_1' }, ...more };
  const { built, problems } = buildPanels(
    [panel({ id: 'main', profile, partitions: { p1: '1', p2: '2' }, zones })],
    [dir, presets],
  );
  expect([...problems]).toEqual([]);
  const [one] = built;
  if (one === undefined) throw new Error('the panel was not built');
  const runner = new Runner(one, { clock: manualClock(), log: pino({ level: 'silent' }) });
  runner.brokerFound();
  const house = world(
    panelHouse({
      partitions: ['p1', 'p2'].map((id) => partition(id, { authority: 'panel', panel: 'main' })),
      zones: [
        zone('8', type, { partitions: ['p1', 'p2'] }),
        zone('2', 'perimeter'),
        zone('1', 'entry_exit_1'),
        ...Object.keys(more).map((number) => zone(number, 'fire')),
      ],
    }),
  );
  house.signal({ kind: 'link', source: { kind: 'panel', id: 'main' }, layer: 'bridge', up: true });
  const says = (topic: string, payload: string, retain = false) =>
    (runner.take({ topic, payload: Buffer.from(payload), retain })?.signals ?? [])
      .flatMap((signal) => house.events(house.signal(signal)))
      .filter(({ class: is, kind }) => is === 'alarm' || kind === 'further_zone')
      .map(({ kind, status, zone: at, late }) => [kind, status, at ?? '-', ...(late ? ['late'] : [])].join(' '));
  return {
    house,
    zone: (word: string, retain?: boolean, key = '8') => says(`acme/${key}`, word, retain),
    area: (word: string, key = '1') => says(`acme/state/${key}`, word),
    says,
  };
}

describe('a detector of which its panel tells only that it opens', () => {
  it.each(['disarmed', 'armed_away', 'arming'])(
    'is told at once while its partition is %s, and its end too',
    (word) => {
      const { area, zone: is } = site('acme');
      area(word);
      is('shut');
      expect(is('open')).toEqual(['fire active 8']);
      expect(is('open')).toEqual([]);
      expect(is('shut')).toEqual(['fire restored 8']);
      expect(is('open')).toEqual(['fire active 8']);
    },
  );

  it.each<[Parameters<typeof zone>[1], string]>([
    ['co', 'co'],
    ['gas', 'gas'],
    ['medical', 'medical'],
    ['panic_audible', 'panic'],
    ['panic_silent', 'panic_silent'],
  ])('may be one of type %s', (type, kind) => {
    const { area, zone: is } = site('acme', type);
    area('disarmed');
    is('shut');
    expect(is('open')).toEqual([`${kind} active 8`]);
  });

  it.each<Parameters<typeof zone>[1]>(['water', '24h_burglary', 'tamper_24h', 'perimeter'])(
    'is none of type %s, which the panel itself tells',
    (type) => {
      const { area, zone: is } = site('acme', type);
      area('disarmed');
      is('shut');
      expect(is('open')).toEqual([]);
    },
  );

  it('is one alarm with what its panel tells of it', () => {
    const { area, zone: is } = site('acme');
    area('disarmed');
    is('shut');
    expect([...is('open'), ...area('triggered')]).toEqual(['fire active 8']);
  });

  it('is a fire also within a burglary, and a 24-hour burglary the further zone of one without a zone', () => {
    const fire = site('acme');
    fire.area('armed_away');
    fire.zone('shut');
    expect([...fire.area('triggered'), ...fire.zone('open')]).toEqual(['burglary active -', 'fire active 8']);
    const always = site('flags', '24h_burglary');
    always.area('disarmed');
    always.zone('shut');
    expect([...always.area('triggered'), ...always.zone('alarm')]).toEqual([
      'burglary active -',
      'further_zone active 8',
    ]);
  });

  it('is told late where it was retained, and a retained end is none', () => {
    const { area, zone: is } = site('acme');
    area('disarmed');
    expect(is('open', true)).toEqual(['fire active 8 late']);
    expect(is('shut', true)).toEqual([]);
    expect(is('open')).toEqual(['fire active 8']);
  });

  it('waits for the flag where its panel has one', () => {
    const { area, zone: is } = site('flags');
    area('disarmed');
    is('shut');
    expect(is('open')).toEqual([]);
    expect(is('alarm')).toEqual(['fire active 8']);
  });

  it('is no alarm as a burglary zone of a disarmed partition', () => {
    const { area, zone: is } = site('acme');
    area('disarmed');
    is('shut', false, '2');
    expect(is('open', false, '2')).toEqual([]);
  });

  it.each(['fire first', 'detector first'])("is one alarm, the panel's own, where that tells its fire: %s", (order) => {
    const fire = '{"event":"ALARM","alarm_type":"FIRE","partition_id":1}';
    const story = [
      ['qolsys/qolsys_panel/event', fire],
      ['homeassistant/binary_sensor/8/state', 'Open'],
    ] as const;
    const told = (more: Record<string, { type: 'fire' }>) => {
      const { says } = site('qolsysgw', 'fire', more);
      says('homeassistant/alarm_control_panel/qolsys_panel/1/state', 'disarmed');
      says('homeassistant/binary_sensor/8/state', 'Closed');
      const steps = order === 'fire first' ? story : story.toReversed();
      return steps.flatMap(([topic, payload]) => says(topic, payload));
    };
    expect(told({})).toEqual(['fire active -']);
    expect(told({ fire: { type: 'fire' } })).toEqual(['fire active fire']);
  });

  it('is an alarm for what such a panel does not tell', () => {
    const { says } = site('qolsysgw', 'co');
    says('homeassistant/alarm_control_panel/qolsys_panel/1/state', 'disarmed');
    says('homeassistant/binary_sensor/8/state', 'Closed');
    expect(says('homeassistant/binary_sensor/8/state', 'Open')).toEqual(['co active 8']);
  });

  it('is none while its panel leaves it out', () => {
    const { says } = site('risco-mqtt-local');
    says('riscopanel/alarm/partition/1/status', 'disarmed');
    const bypass = (word: string) => says('riscopanel/alarm/zone/8-bypass/status', word);
    const is = (word: string) => says('riscopanel/alarm/zone/8/status', word);
    bypass('1');
    is('0');
    expect(is('1')).toEqual([]);
    is('0');
    bypass('0');
    expect(is('1')).toEqual(['fire active 8']);
    // An alarm that runs stays, and ends by its own end.
    expect(bypass('1')).toEqual([]);
    expect(is('0')).toEqual(['fire restored 8']);
  });

  it.each(['open first', 'bypass first'])('is none where both were retained before the link was up: %s', (order) => {
    const { house, says } = site('risco-mqtt-local');
    const at = { source: { kind: 'panel', id: 'main' }, layer: 'bridge' } as const;
    house.signal({ kind: 'link', ...at, up: false });
    const story = [
      ['riscopanel/alarm/zone/8/status', '1'],
      ['riscopanel/alarm/zone/8-bypass/status', '1'],
    ] as const;
    for (const [topic, payload] of order === 'open first' ? story : story.toReversed()) says(topic, payload, true);
    expect(
      house.events(house.signal({ kind: 'link', ...at, up: true })).filter((one) => one.class === 'alarm'),
    ).toEqual([]);
    expect(house.state.zones['8']).toMatchObject({ open: true, bypassed: true, alarm: false });
  });

  it('is one again where its panel tells the end of a bypass by what it tells then', () => {
    const { says } = site('elk-readonly');
    says('elk/area/1/status', 'Disarmed');
    const is = (word: string) => says('elk/zone/8/status', word);
    is('Normal');
    is('Bypassed');
    expect(is('Violated')).toEqual(['fire active 8']);
  });
});

describe('a burglary while such a detector stands open', () => {
  const later = 3 * 3_600_000;

  it.each<Parameters<typeof zone>[1]>(['fire', 'panic_audible', '24h_burglary'])('is told: type %s', (type) => {
    const window = site('acme', type);
    window.area('armed_away');
    window.zone('shut');
    window.zone('open');
    window.house.pass(later);
    window.zone('shut', false, '2');
    window.zone('open', false, '2');
    const from = window.house.log.length;
    expect(window.area('triggered')).toEqual([
      type === '24h_burglary' ? 'burglary_24h active 8' : 'burglary_perimeter active 2',
    ]);
    const signalled = window.house.events(window.house.log.slice(from)).filter((one) => one.signalToStation);
    expect(signalled).toHaveLength(1);
  });

  it('is told beside one whose flag its panel holds', () => {
    const { area, house, zone: is } = site('flags', '24h_burglary');
    area('armed_away');
    expect(is('alarm')).toEqual(['burglary_24h active 8']);
    house.pass(later);
    is('shut', false, '2');
    is('open', false, '2');
    expect(area('triggered')).toEqual(['burglary_perimeter active 2']);
  });

  it.each<Parameters<typeof zone>[1]>(['fire', 'panic_audible'])('by an entry is told: type %s', (type) => {
    const { area, house, zone: is } = site('acme', type);
    area('armed_away');
    is('shut');
    is('open');
    house.pass(later);
    is('shut', false, '1');
    is('open', false, '1');
    area('pending');
    house.pass(30_000);
    expect(area('triggered')).toEqual(['burglary_entry_exit active 1']);
  });

  it.each<[Parameters<typeof zone>[1], string]>([
    ['panic_audible', 'panic active 8'],
    ['24h_burglary', 'burglary_24h active 8'],
  ])('in a disarmed partition is told: type %s', (type, told) => {
    const { area, house, zone: is } = site('acme', type);
    area('disarmed');
    is('shut');
    is('open');
    house.pass(later);
    expect(area('triggered')).toEqual([told]);
  });

  it('within a minute of a fire is told where a watched zone has just opened, or an entry was under way', () => {
    const window = site('acme');
    window.area('armed_away');
    window.zone('shut');
    window.zone('shut', false, '2');
    expect(window.zone('open')).toEqual(['fire active 8']);
    window.house.pass(20_000);
    window.zone('open', false, '2');
    expect(window.area('triggered')).toEqual(['burglary_perimeter active 2']);
    const entry = site('acme');
    entry.area('armed_away');
    entry.zone('shut');
    entry.zone('shut', false, '1');
    entry.zone('open', false, '1');
    entry.area('pending');
    entry.zone('shut', false, '1');
    expect(entry.zone('open')).toEqual(['fire active 8']);
    expect(entry.area('triggered')).toEqual(['burglary active -']);
  });

  it('within a minute of a fire is none by what has stood open for long, nor is the same fire in another partition', () => {
    const { area, house, zone: is } = site('acme');
    is('open', false, '2');
    area('armed_away');
    area('armed_away', '2');
    is('shut');
    house.pass(later);
    expect([...is('open'), ...area('triggered'), ...area('triggered', '2')]).toEqual(['fire active 8']);
  });

  it('later than that is told, without a zone where none has opened', () => {
    const { area, house, zone: is } = site('acme');
    area('armed_away');
    is('shut');
    is('open');
    house.pass(90_000);
    expect(area('triggered')).toEqual(['burglary active -']);
  });
});
