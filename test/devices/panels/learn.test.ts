import { existsSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  bridgesOf,
  type CatalogueEntry,
  catalogue,
  createTraffic,
  type Fit,
  type Heard,
  rankProfiles,
  suggestPanel,
  suggestSite,
} from '#devices/panels/index.ts';
import { presets, readSamples, samplesMissing } from './helpers.ts';

const entries = catalogue(['/nowhere', presets]);
const say = (topic: string, payload: string, retain = false) => ({ topic, payload: Buffer.from(payload), retain });

function heard(messages: readonly (readonly [topic: string, payload: string])[]): readonly Heard[] {
  const traffic = createTraffic();
  for (const [topic, payload] of messages) traffic.add(say(topic, payload));
  return traffic.list();
}

/** Which profile a recording is of. A preset that does not exist yet is skipped. */
const recordings: readonly (readonly [file: string, id: string, only?: string])[] = [
  ['ajax_sia2mqtt', 'ajax-sia2mqtt'],
  ['alarmdecoder_ad2iot', 'ad2iot'],
  ['alarmdecoder_admqtt', 'alarmdecoder-mqtt'],
  ['alarmo', 'alarmo'],
  ['dsc_keybus', 'dsc-keybus'],
  ['dsc_keybus_openhab', 'dsc-keybus-openhab'],
  ['dscalarm_mqtt', 'dscalarm-mqtt'],
  ['envisalink_open_zone', 'envisalink-open-zone'],
  ['esphome_konnected', 'esphome-alarm'],
  ['ha_mqtt_alarm_panel', 'ha-alarm-panel'],
  ['jablotron2mqtt', 'jablotron2mqtt'],
  ['pai', 'pai'],
  ['qolsys_qolsysgw', 'qolsysgw'],
  ['ring_mqtt', 'ring-mqtt'],
  ['shelly', 'shelly-gen1', 'shellies/'],
  ['shelly', 'shelly-gen2', 'shellyplus'],
  ['tasmota', 'tasmota-switch'],
  ['texecom2mqtt', 'texecom2mqtt'],
  ['zigbee2mqtt', 'zigbee2mqtt'],
];

describe('ranking profiles', () => {
  for (const [file, id, only = ''] of recordings) {
    const there = existsSync(`${presets}/${id}.json`);
    const why = samplesMissing ? ' (skipped: ../shared is not there)' : there ? '' : ' (skipped: no such preset yet)';
    describe.skipIf(samplesMissing || !there)(`for the recording of ${id}${why}`, () => {
      const rows = readSamples(file)
        .filter(({ topic }) => topic.startsWith(only))
        .map(({ topic, payload, retain }) => say(topic, payload, retain));

      it('puts it first, whatever the order and however often a message comes', () => {
        const times = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: rows.length, maxLength: rows.length });
        fc.assert(
          fc.property(fc.shuffledSubarray(rows, { minLength: rows.length }), times, (order, repeats) => {
            const traffic = createTraffic();
            for (const [i, row] of order.entries()) for (let n = repeats[i] ?? 1; n > 0; n -= 1) traffic.add(row);
            expect(rankProfiles(entries, traffic.list())[0]?.id).toBe(id);
          }),
          { numRuns: 5 },
        );
      });

      it('puts it first among the traffic of a house', () => {
        const traffic = createTraffic();
        for (const noise of house) traffic.add(noise);
        for (const row of rows) traffic.add(row);
        expect(rankProfiles(entries, traffic.list())[0]?.id).toBe(id);
      });
    });
  }

  const house = [
    say('weather/roof', '{"temperature":21.4,"wind":3}'),
    say('meter/power', '412'),
    say('lamps/hall/state', 'ON', true),
    say('siteward/1/hq/partition/p1/state', 'disarmed', true),
    say('homeassistant/sensor/x/config', '{"state_topic":"meter/power"}', true),
  ];

  const paradoxAt = (base: string): (readonly [string, string])[] => [
    [`${base}/interface/availability`, 'online'],
    [`${base}/states/partitions/Shop/current_state`, 'disarmed'],
    [`${base}/states/partitions/Shop/entry_delay`, 'False'],
    [`${base}/states/zones/Back_door/open`, 'False'],
    [`${base}/states/zones/Window_2/open`, 'True'],
    [`${base}/states/zones/Window_2/tamper`, 'False'],
  ];

  it('finds a base topic that differs from the profile’s own, also a deeper one', () => {
    for (const base of ['px', 'house/alarm', 'a/b/c']) {
      const [first] = rankProfiles(entries, heard(paradoxAt(base)));
      expect(first).toMatchObject({ id: 'pai', changed: { b: base }, share: 1, weak: false, notUnderstood: 0 });
    }
  });

  it('prefers the profile’s own base topic to the same bridge under another', () => {
    const [first] = rankProfiles(entries, heard([...paradoxAt('copy'), ...paradoxAt('paradox')]));
    expect(first).toMatchObject({ id: 'pai', changed: {} });
  });

  it('finds a panel in the form of Home Assistant by its words, and where its commands go', () => {
    const words = ['disarmed', 'arming', 'armed_away', 'pending', 'triggered'];
    const [first] = rankProfiles(
      entries,
      heard([...words.map((word) => ['lodge/keep', word] as const), ['lamp', 'on']]),
    );
    expect(first).toMatchObject({
      id: 'ha-alarm-panel',
      changed: { state: 'lodge/keep', command: 'lodge/keep/set', availability: 'lodge/keep/availability' },
      weak: false,
    });
  });

  it('calls one word under a guessed base a weak guess, and nothing about doors no fit', () => {
    const fits = rankProfiles(entries, heard([['x/y/availability', 'online']]));
    expect(fits.length).toBeGreaterThan(0);
    expect(fits.every(({ weak }) => weak)).toBe(true);
    expect(rankProfiles(entries, heard([['meter/power', '412']]))).toEqual([]);
  });

  it('names values of the best profile that it does not know', () => {
    const [first] = rankProfiles(
      entries,
      heard([...paradoxAt('paradox'), ['paradox/states/partitions/Shop/current_state', 'napping']]),
    );
    expect(first?.unknown).toMatchObject([{ field: 'partition.state', value: 'napping' }]);
    expect(first?.share).toBeLessThan(1);
  });

  it('suggests a panel with the partitions and zones that were heard', () => {
    const [first] = rankProfiles(entries, heard(paradoxAt('px')));
    expect(suggestPanel({ id: 'main', profile: 'pai', changed: { b: 'px' }, readings: first?.readings ?? [] })).toEqual(
      {
        id: 'main',
        profile: 'pai',
        vars: { b: 'px' },
        partitions: { p1: 'Shop' },
        zones: {
          '1': { type: 'perimeter', name: 'Back door', key: 'Back_door' },
          '2': { type: 'perimeter', name: 'Window 2', key: 'Window_2' },
        },
      },
    );
  });
});

describe('several bridges on one broker', () => {
  it('are told apart from profiles that read the same topics less well', () => {
    const given = (fit: Fit | undefined) => ({
      profile: fit?.id ?? '',
      changed: fit?.changed ?? {},
      readings: fit?.readings ?? [],
    });
    const panel: (readonly [string, string])[] = [
      ['dsc/Status', 'online'],
      ['dsc/Get/Partition1', 'disarmed'],
      ['dsc/Get/Zone1', '0'],
      ['dsc/Get/Zone2', '1'],
    ];
    const sensors: (readonly [string, string])[] = [
      ['zigbee2mqtt/bridge/state', '{"state":"online"}'],
      ['zigbee2mqtt/front', '{"contact":true,"battery":90}'],
      ['zigbee2mqtt/back', '{"contact":false}'],
    ];
    const both = bridgesOf(rankProfiles(entries, heard([...panel, ...sensors])));
    expect(both.map(({ id }) => id)).toEqual(['dsc-keybus', 'zigbee2mqtt']);
    const first = suggestPanel({ ...given(both[0]), id: 'main' });
    const second = suggestPanel({ ...given(both[1]), id: 'sensors', before: [first] });
    expect(Object.keys(first.zones ?? {})).toEqual(['1', '2']);
    expect(Object.keys(second.zones ?? {}), 'numbers are unique on a site').toEqual(['3', '4']);
    expect(bridgesOf(rankProfiles(entries, heard(panel))).map(({ id }) => id)).toEqual(['dsc-keybus']);
    expect(bridgesOf([])).toEqual([]);
  });
});

describe('lines for a site that has panels already', () => {
  const texecom: (readonly [string, string])[] = [
    ['texecom2mqtt/status', 'online'],
    ...['1', '2', '3'].map((n): [string, string] => [
      `texecom2mqtt/zone/door-${n}`,
      `{"name":"Door","number":${n},"status":0,"areas":["A"]}`,
    ]),
    ['texecom2mqtt/area/house', '{"id":"A","name":"House","number":1,"status":"disarmed"}'],
    ['texecom2mqtt/log', '{"type":"UserCode","parameter":3,"areas":["A"],"description":"User 3"}'],
  ];
  const sensors: (readonly [string, string])[] = [
    ['zigbee2mqtt/bridge/state', '{"state":"online"}'],
    ['zigbee2mqtt/front', '{"contact":true,"battery":90}'],
  ];
  const bridges = (...more: (readonly [string, string])[]) =>
    bridgesOf(rankProfiles(entries, heard([...texecom, ...more])));

  it('give the one area of texecom2mqtt one partition, with the letter of its log as second word', () => {
    const site = suggestSite(bridges(), { partitions: ['p1'], used: new Set(), zones: [], panels: [] });
    expect(site).toMatchObject({ partitions: [], panels: [{ id: 'main', partitions: { p1: ['house', 'A'] } }] });
    expect(Object.keys(site.panels[0]?.zones ?? {})).toEqual(['1', '2', '3']);
  });

  it('leave out a word that may be that of either area', () => {
    const garage = ['texecom2mqtt/area/garage', '{"id":"B","name":"Garage","number":2,"status":"disarmed"}'] as const;
    const site = suggestSite(bridges(garage), { partitions: [], used: new Set(), zones: [], panels: [] });
    expect(site.panels[0]?.partitions).toEqual({ p1: 'garage', p2: 'house' });
    expect(site.partitions).toEqual([
      { id: 'p1', name: 'garage' },
      { id: 'p2', name: 'house' },
    ]);
  });

  it('take free numbers and partitions, say where each zone belongs, and offer no panel twice', () => {
    const zb = { id: 'main', profile: 'zigbee2mqtt' };
    const site = suggestSite(bridges(...sensors), {
      ...{ partitions: ['p1'], used: new Set(['p1']), zones: ['1', '2'], panels: [zb] },
    });
    expect(site.known).toEqual([{ profile: 'zigbee2mqtt', panel: 'main' }]);
    expect(site.partitions).toEqual([{ id: 'p2', name: 'house' }]);
    expect(site.panels).toMatchObject([{ id: 'texecom2mqtt', partitions: { p2: ['house', 'A'] } }]);
    expect(Object.keys(site.panels[0]?.zones ?? {})).toEqual(['3', '4', '5']);
    for (const zone of Object.values(site.panels[0]?.zones ?? {})) expect(zone.partition).toBe('p2');
  });
});

describe('a loud broker', () => {
  let many: CatalogueEntry[];
  beforeAll(() => {
    many = [...entries];
  });

  it('is heard within bounds, and one client with many topics does not crowd out a panel', () => {
    const traffic = createTraffic();
    for (let i = 0; i < 30_000; i += 1) traffic.add(say(`noise/${i}`, String(i)));
    for (let i = 0; i < 10_000; i += 1) traffic.add(say('storm', `value ${i}`));
    traffic.add(say('big', 'x'.repeat(100_000)));
    traffic.add(say('dsc/Status', 'online'));
    traffic.add(say('dsc/Get/Partition1', 'disarmed'));
    traffic.add(say('dsc/Get/Zone1', '1'));
    expect(traffic.list().length).toBeLessThan(2000);
    expect(traffic.left).toBeGreaterThan(35_000);
    expect(rankProfiles(many, traffic.list())[0]).toMatchObject({ id: 'dsc-keybus', changed: {}, weak: false });
  });
});
