import { describe, expect, test } from 'vitest';
import {
  addition,
  type CameraWish,
  channelsOf,
  deviceUrl,
  freeZones,
  idFrom,
  noPlace,
  takenIds,
  takenZones,
} from '#lan/page/camera-entry.ts';
import { deviceId } from '#site/model/index.ts';

const config = {
  panels: [{ id: 'panel', zones: { '1': {}, '2': {} } }],
  cameras: [{ id: 'gate', zone: '3', inputs: { in1: { zone: '4' } } }],
  nvrs: [{ id: 'nvr', channels: [{ id: 'nvr-1', zone: '6' }, { id: 'nvr-2' }] }],
  speakers: [{ id: 'horn' }],
};
const wish: CameraWish = {
  ...{ ...noPlace, id: 'door', name: ' Door ', url: 'http://192.0.2.7/onvif' },
  ...{ username: 'siteward', password: 'a secret', fingerprint: '' },
};

describe('a suggested id', () => {
  test.each([
    ['Gate', 'gate-2'],
    ['Einfahrt Süd, Straße', 'einfahrt-sud-strasse'],
    ['  --  ', 'camera'],
    ['カメラ', 'camera'],
    ['x'.repeat(60), 'x'.repeat(32)],
  ])('of %s is %s', (name, id) => {
    expect(idFrom(name, takenIds(config, []))).toBe(id);
  });

  test('is one that the configuration takes, also the hundredth of a long name', () => {
    const taken = new Set<string>();
    for (let nth = 0; nth < 100; nth += 1) taken.add(idFrom(`${'Hof '.repeat(12)}${'!'.repeat(nth)}`, taken));
    expect(taken.size).toBe(100);
    for (const id of taken) expect(deviceId.safeParse(id).success).toBe(true);
  });
});

describe('zone numbers', () => {
  test('that are free are those of no panel, camera, input or channel, and of no change', () => {
    expect(freeZones(takenZones(config, []), 3)).toEqual(['5', '7', '8']);
    const changes = [
      { do: 'add', section: 'cameras', entry: { id: 'door', zone: '5' } },
      { do: 'change', section: 'nvrs', id: 'nvr', members: { channels: [{ id: 'nvr-2', zone: '7' }] } },
      { do: 'remove', section: 'cameras', id: 'gate' },
    ] as const;
    expect(freeZones(takenZones(config, changes), 3)).toEqual(['3', '4', '8']);
  });

  test('of a camera are not taken by itself', () => {
    expect(takenZones(config, [], 'gate').has('3')).toBe(false);
    expect(takenZones(config, [], 'nvr-1').has('6')).toBe(false);
    const own = [{ do: 'change', section: 'cameras', id: 'gate', members: { zone: '9' } }] as const;
    expect(takenZones(config, own, 'gate').has('9')).toBe(false);
    expect(takenZones(config, own).has('9')).toBe(true);
  });
});

test('a camera is added with what was typed alone; its password goes as a secret', () => {
  expect(addition(wish, undefined)).toEqual({
    do: 'add',
    section: 'cameras',
    entry: {
      ...{ id: 'door', name: 'Door', url: 'http://192.0.2.7/onvif' },
      ...{ username: 'siteward', password: { secret: 'a secret' } },
    },
  });
  const entry = {
    ...wish,
    zone: ' 5',
    zone_type: '',
    partition: 'p1',
    fingerprint: 'AA:BB',
    username: '',
    password: '',
  };
  expect(addition(entry, undefined)).toMatchObject({
    entry: { zone: '5', partition: 'p1', tls_fingerprint: 'AA:BB' },
  });
});

test('a recorder is added with the pictures that are watched', () => {
  const channels = channelsOf('nvr', { sources: [{ token: 'V1' }, { token: 'V2' }] }, takenIds(config, []));
  expect(channels.map(({ id, source }) => [id, source])).toEqual([
    ['nvr-1-2', 'V1'],
    ['nvr-2-2', 'V2'],
  ]);
  const watched = channels.slice(1).map((one) => ({ ...one, zone: '8' }));
  expect(addition({ ...wish, zone: '5' }, watched)).toEqual({
    do: 'add',
    section: 'nvrs',
    entry: {
      ...{ id: 'door', name: 'Door', url: 'http://192.0.2.7/onvif', username: 'siteward' },
      ...{ password: { secret: 'a secret' }, channels: [{ id: 'nvr-2-2', zone: '8', source: 'V2' }] },
    },
  });
});

test('an address may be typed short', () => {
  expect(deviceUrl(' 192.0.2.10 ')).toBe('http://192.0.2.10/onvif/device_service');
  expect(deviceUrl('https://camera.example:8443')).toBe('https://camera.example:8443/onvif/device_service');
  expect(deviceUrl('http://192.0.2.10/other')).toBe('http://192.0.2.10/other');
});
