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

function site(profile: string, type: Parameters<typeof zone>[1] = 'fire') {
  const zones = { '8': { type }, '2': { type: 'perimeter' } };
  const { built, problems } = buildPanels(
    [panel({ id: 'main', profile, partitions: { p1: '1' }, zones })],
    [dir, presets],
  );
  expect([...problems]).toEqual([]);
  const [one] = built;
  if (one === undefined) throw new Error('the panel was not built');
  const runner = new Runner(one, { clock: manualClock(), log: pino({ level: 'silent' }) });
  runner.brokerFound();
  const house = world(
    panelHouse({
      partitions: [partition('p1', { authority: 'panel', panel: 'main' })],
      zones: [zone('8', type), zone('2', 'perimeter')],
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
    area: (word: string) => says('acme/state/1', word),
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
    ['water', 'water'],
    ['medical', 'medical'],
    ['panic_audible', 'panic'],
    ['panic_silent', 'panic_silent'],
    ['24h_burglary', 'burglary_24h'],
  ])('may be one of type %s', (type, kind) => {
    const { area, zone: is } = site('acme', type);
    area('disarmed');
    is('shut');
    expect(is('open')).toEqual([`${kind} active 8`]);
  });

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
    const always = site('acme', '24h_burglary');
    always.area('disarmed');
    always.zone('shut');
    expect([...always.area('triggered'), ...always.zone('open')]).toEqual([
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

  it('is one alarm with the fire its panel tells of the partition', () => {
    const { house, says } = site('qolsysgw');
    const fire = '{"event":"ALARM","alarm_type":"FIRE","partition_id":1}';
    says('homeassistant/alarm_control_panel/qolsys_panel/1/state', 'disarmed');
    says('homeassistant/binary_sensor/8/state', 'Closed');
    expect([
      ...says('homeassistant/binary_sensor/8/state', 'Open'),
      ...says('qolsys/qolsys_panel/event', fire),
    ]).toEqual(['fire active 8']);
    expect(house.state.partitions.p1?.alarm).toMatchObject({ kind: 'fire', zone: '8' });
  });
});
