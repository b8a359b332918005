import { existsSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { announcement, readDiscovery, toldOf, union } from '../../../src/lan/mqtt/home-assistant-announced.ts';
import { createHaAudio } from '../../../src/lan/mqtt/home-assistant-audio.ts';
import {
  type HaAbout,
  type HaDevice,
  haDevices,
  isDeviceOf,
  zonesPerDevice,
} from '../../../src/lan/mqtt/home-assistant-devices.ts';
import { fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import {
  type AudioMessageShown,
  armModes,
  type CameraPlan,
  type SitePlan,
  type ZonePlan,
  zoneTypes,
} from '../../../src/site/model/index.ts';

const file = new URL('../../../../shared/data/ha_device_discovery.schema.json', import.meta.url);
const present = existsSync(file);
const schema = present ? JSON.parse(readFileSync(file, 'utf8')) : true;
const validate = new Ajv2020({ strict: false, allErrors: true }).compile(schema);

const about: HaAbout = {
  ...{ root: 'siteward/1/hq', slug: 'hq', version: '0.1.0', siteName: 'Head office', serial: 'sw-1' },
  messages: ['(none)', 'Please leave'],
};
const base = fakeSite().view().plan;
const [partition] = base.partitions;
const [zone] = base.zones;
if (partition === undefined || zone === undefined) throw new Error('the fake site has both');
const zoneOf = (number: string, change: Partial<ZonePlan> = {}): ZonePlan => ({ ...zone, number, ...change });

const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 64 });
const zones = (ids: readonly string[]) =>
  fc.uniqueArray(
    fc.record({
      number: fc.stringMatching(/^[A-Za-z0-9_-]{1,16}$/),
      name,
      type: fc.constantFrom(...zoneTypes),
      partitions: fc.subarray([...ids]),
    }),
    { selector: ({ number }) => number, maxLength: 400 },
  );
const cameras = fc.uniqueArray(fc.record({ id: fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,31}$/), name }), {
  selector: ({ id }) => id,
  maxLength: 64,
});
const plans: fc.Arbitrary<SitePlan> = fc
  .uniqueArray(fc.integer({ min: 1, max: 999 }), { minLength: 1, maxLength: 32 })
  .chain((numbers) => {
    const ids = numbers.map((number) => `p${number}`);
    return fc
      .record({
        names: fc.array(name, { minLength: 32, maxLength: 32 }),
        zones: zones(ids),
        cameras,
        code: fc.boolean(),
        speakers: fc.subarray(['gate', 'hall']),
        modes: fc.subarray([...armModes]),
      })
      .map(({ names, zones: drawn, cameras: seen, code, speakers, modes }) => ({
        ...base,
        disarmNeedsCode: code,
        speakers,
        partitions: ids.map((id, index) => ({ ...partition, id, modes, name: names[index] ?? id })),
        zones: drawn.map(({ number, ...change }) => zoneOf(number, change)),
        cameras: seen.map((camera): CameraPlan => ({ ...camera, partitions: [], pictures: 'alarm' })),
      }));
  });

const components = (devices: readonly HaDevice[]) =>
  devices.flatMap(({ config }) => Object.entries(config.components).map(([key, component]) => ({ key, component })));

describe('the discovery of any site', () => {
  it('has each thing once under an id of its own, nothing silent, and no config of 64 KiB', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const devices = haDevices(plan, about);
        const all = components(devices);
        const ids = all.map(({ component }) => component.unique_id);
        expect(new Set(ids).size).toBe(ids.length);
        expect(new Set(devices.map(({ id }) => id)).size).toBe(devices.length);
        const shown = plan.zones.filter(({ type }) => type !== 'panic_silent');
        expect(all.filter(({ component }) => String(component.unique_id).startsWith('siteward_hq_z')).length).toBe(
          shown.length,
        );
        for (const { number, type } of plan.zones)
          if (type === 'panic_silent') expect(ids).not.toContain(`siteward_hq_z${number}`);
        for (const { id, config } of devices) {
          expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
          expect(isDeviceOf('hq', id)).toBe(true);
          expect(Buffer.byteLength(JSON.stringify(config))).toBeLessThan(64 * 1024);
          if (id !== 'siteward_hq') expect(config.device.via_device).toBe('siteward_hq');
        }
      }),
      { numRuns: 30 },
    );
  });

  it('says once of everything that is no more that it is gone, and of what moves that it moves', () => {
    fc.assert(
      fc.property(plans, plans, (before, after) => {
        const [was, is] = [haDevices(before, about), haDevices(after, about)];
        const { once, gone } = announcement(toldOf(was), is);
        expect(heardBy(toldOf(was), once, is, gone)).toEqual(toldOf(is));
        for (const { id, payload } of once) {
          expect(isDeviceOf('hq', id)).toBe(true);
          expect(Buffer.byteLength(payload)).toBeLessThan(64 * 1024);
        }
        // Whoever knows it already hears nothing more of it.
        expect(announcement(toldOf(is), is)).toEqual({ once: [], gone: [] });
      }),
      { numRuns: 20 },
    );
  });
});

describe.skipIf(!present)('the discovery of any site, against the strict schema (needs ../shared)', () => {
  const checked = (config: unknown) => {
    validate(config);
    return validate.errors ?? [];
  };

  it('is valid', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        for (const { config } of haDevices(plan, about)) expect(checked(config)).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it('is valid where something is taken back', () => {
    fc.assert(
      fc.property(plans, plans, (before, after) => {
        const { once } = announcement(toldOf(haDevices(before, about)), haDevices(after, about));
        for (const { payload } of once) {
          if (payload !== '{"migrate_discovery":true}') expect(checked(JSON.parse(payload))).toEqual([]);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('would be refused with a key Home Assistant does not know, or a zone without a topic', () => {
    const [device] = haDevices(base, about);
    if (device === undefined) throw new Error('no device');
    const { z1, ...rest } = device.config.components;
    expect(checked({ ...device.config, components: { ...rest, z1: { ...z1, colour: 'red' } } })).not.toEqual([]);
    const { state_topic: _, ...headless } = z1 ?? { platform: '' };
    expect(checked({ ...device.config, components: { ...rest, z1: headless } })).not.toEqual([]);
  });
});

/** What Home Assistant knows after it has heard all of it: a component goes by its platform alone, or with its topic. */
function heardBy(
  told: ReturnType<typeof toldOf>,
  once: readonly { id: string; payload: string }[],
  devices: readonly HaDevice[],
  gone: readonly string[],
) {
  const known = new Map(Object.entries(told).map(([id, keys]) => [id, new Map(Object.entries(keys))]));
  const hear = (id: string, config: { components?: Record<string, { platform: string; unique_id?: unknown }> }) => {
    if (config.components === undefined) return known.delete(id);
    const own = known.get(id) ?? new Map<string, string>();
    for (const [key, { platform, unique_id: unique }] of Object.entries(config.components)) {
      if (unique === undefined) own.delete(key);
      else own.set(key, platform);
    }
    return known.set(id, own);
  };
  for (const { id, payload } of once) hear(id, JSON.parse(payload));
  for (const { id, config } of devices) hear(id, config as never);
  for (const id of gone) known.delete(id);
  return Object.fromEntries([...known].map(([id, keys]) => [id, Object.fromEntries(keys)]));
}

describe('the devices of a site', () => {
  const many = (count: number, change: (index: number) => Partial<ZonePlan> = () => ({})): SitePlan => ({
    ...base,
    zones: Array.from({ length: count }, (_, index) => zoneOf(String(index + 1), change(index))),
  });

  it('are one while its zones fit, and one for each partition beyond', () => {
    expect(haDevices(many(zonesPerDevice), { ...about, slug: 'x' }).map(({ id }) => id)).toEqual(['siteward_x']);
    const devices = haDevices(
      many(zonesPerDevice + 1, (index) => ({ partitions: index % 2 === 0 ? ['p1'] : ['p2', 'p1'] })),
      about,
    );
    expect(devices.map(({ id }) => id)).toEqual(['siteward_hq', 'siteward_hq_p1', 'siteward_hq_p2']);
    expect(Object.keys(devices[2]?.config.components ?? {}).slice(0, 3)).toEqual(['p2', 'z2', 'z4']);
    expect(devices[0]?.config.components).toHaveProperty('problem');
  });

  it('hand over what moves from one to another', () => {
    const [was, is] = [haDevices(many(200), about), haDevices(many(201), about)];
    const { once, gone } = announcement(toldOf(was), is);
    expect(once).toEqual([{ id: 'siteward_hq', payload: '{"migrate_discovery":true}' }]);
    expect(gone).toEqual([]);
    expect(announcement(toldOf(is), was).gone).toEqual(['siteward_hq_p1', 'siteward_hq_p1_2', 'siteward_hq_p2']);
  });

  it('take codes as Home Assistant asks for them, and only calls for help where siteward only watches', () => {
    const [device] = haDevices({ ...base, disarmNeedsCode: false }, about);
    expect(device?.config.components.p1).toMatchObject({
      code: 'REMOTE_CODE',
      code_disarm_required: false,
      code_arm_required: false,
      retain: false,
    });
    const watched = base.partitions.map((one) => ({ ...one, authority: 'external' as const }));
    const [other] = haDevices({ ...base, partitions: watched }, about);
    expect(other?.config.components.p1).toMatchObject({ supported_features: ['trigger'], code_disarm_required: true });
  });

  it('name the modes that a panel has, and all where siteward itself arms', () => {
    const [one, two] = base.partitions;
    if (one === undefined || two === undefined) throw new Error('the fake site has both');
    const [device] = haDevices({ ...base, partitions: [{ ...one, modes: ['away', 'night'] }, two] }, about);
    expect(device?.config.components.p1?.supported_features).toEqual(['arm_away', 'arm_night', 'trigger']);
    expect(device?.config.components.p2?.supported_features).toHaveLength(6);
    const [mute] = haDevices({ ...base, partitions: [{ ...one, modes: [] }] }, about);
    expect(mute?.config.components.p1?.supported_features).toEqual(['trigger']);
  });

  it('have an audio group only where there are speakers, and keep 64 KiB with any number of messages', () => {
    const audio = (plan: SitePlan, messages = about.messages) =>
      components(haDevices(plan, { ...about, messages })).filter(({ key }) => key.startsWith('audio_'));
    expect([audio(base), audio({ ...base, speakers: [] })]).toEqual([[], []]);
    const there = audio({ ...base, speakers: ['gate'] });
    expect(there.map(({ key, component }) => [key, component.platform])).toEqual([
      ...[
        ['audio_msg', 'select'],
        ['audio_vol', 'number'],
        ['audio_play', 'button'],
        ['audio_stop', 'button'],
      ],
      ['audio_state', 'sensor'],
    ]);
    expect(there[0]?.component.options).toEqual(['(none)', 'Please leave']);
    const sound = createHaAudio();
    sound.know(Array.from({ length: 2_000 }, (_, n) => messageOf(`m${n}`, '☃'.repeat(60) + n)));
    expect(sound.names.length).toBeGreaterThan(100);
    for (const { config } of haDevices({ ...many(200), speakers: ['gate'] }, { ...about, messages: sound.names }))
      expect(Buffer.byteLength(JSON.stringify(config))).toBeLessThan(64 * 1024);
  });

  it('have no panel for the whole site', () => {
    const panels = components(haDevices(base, about)).filter(({ component }) => component.platform.startsWith('alarm'));
    expect(panels.map(({ key }) => key)).toEqual(['p1', 'p2']);
  });
});

const messageOf = (key: string, name: string): AudioMessageShown => ({
  ...{ audio_message_id: key, key, name, description: '', duration_seconds: 1, language: 'zxx' },
  ...{ category: 'custom', source: 'imported' },
});

describe('the messages as Home Assistant lists them', () => {
  it('have names of their own: of two alike, neither takes the place of the other', () => {
    const audio = createHaAudio();
    audio.know([messageOf('b', 'Gate')]);
    expect(audio.select('Gate')).toBeUndefined();
    expect(audio.know([messageOf('b', 'Gate')])).toBe(false);
    expect(audio.know([messageOf('a', 'Gate'), messageOf('b', 'Gate'), messageOf('c', '(none)')])).toBe(true);
    expect(audio.names).toEqual(['(none)', 'Gate (a)', 'Gate (b)', '(none) (c)']);
    expect(audio.select('Gate')).toBe('UNKNOWN_TARGET');
    // What was chosen is the same message still, under its other name.
    expect([audio.topics()[0], audio.wish()]).toEqual([
      ['audio/selected', 'Gate (b)'],
      { audio_message_id: 'b', volume: 70 },
    ]);
    audio.know([messageOf('a', 'Gate')]);
    expect([audio.topics()[0], audio.wish()]).toEqual([['audio/selected', '(none)'], undefined]);
  });

  it('are played as loud as was set, in whole percent', () => {
    const audio = createHaAudio();
    for (const text of ['-1', '101', '3.5', '', ' 7', '1e1', 'loud']) expect(audio.setVolume(text)).toBe('SCHEMA');
    expect(audio.topics()[1]).toEqual(['audio/volume', '70']);
    expect(audio.setVolume('40.0')).toBeUndefined();
    expect(audio.topics()[1]).toEqual(['audio/volume', '40']);
  });
});

describe('what a broker has kept of an earlier run', () => {
  it('is known again if it is of this site, and of no other', () => {
    const [device] = haDevices(base, about);
    const payload = Buffer.from(JSON.stringify(device?.config));
    expect(readDiscovery('hq', 'siteward_hq', payload)).toEqual(toldOf(haDevices(base, about)));
    expect(readDiscovery('hq', 'siteward_hq_p7', Buffer.from('no JSON'))).toEqual({ siteward_hq_p7: {} });
    for (const id of ['siteward_hq-2', 'siteward_h', 'zigbee2mqtt']) {
      expect(readDiscovery('hq', id, payload)).toBeUndefined();
    }
    expect(union({ a: { x: '1' } }, { a: { y: '2' }, b: {} })).toEqual({ a: { x: '1', y: '2' }, b: {} });
  });
});
