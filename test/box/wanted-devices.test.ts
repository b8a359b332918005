import { expect, test } from 'vitest';
import { wantedDevices } from '#box/wanted-devices.ts';
import { deviceCreate, nvrCreate } from '#cloud/contract/index.ts';
import type { CameraStatus } from '#devices/onvif/index.ts';
import { minimal, settings } from '../config/fixture.ts';

const site = `${minimal}panels:
  - id: main
    profile: pai
    zones: { "10": { type: perimeter }, "2": { type: entry_exit_1 }, "9": { type: panic_silent } }
  - id: annex
    profile: pai
    zones: { "07": { type: fire } }
cameras:
  - { id: yard, url: "http://192.0.2.1/", name: Yard, zone: "21", inputs: { "1": { zone: "23", zone_type: perimeter }, "2": { zone: "22", zone_type: panic_silent } } }
  - { id: hall, url: "http://192.0.2.2/" }
  - { id: desk, url: "http://192.0.2.3/" }
nvrs:
  - { id: rec, url: "http://192.0.2.9/", name: Recorder, channels: [ { id: door, name: Door, position: 1, zone: "41" } ], inputs: { "1": { zone: "5", zone_type: perimeter } } }
`;
const quiet = { state: 'pulling', since: 1, reachable: true, flowing: 'yes', warnings: [], unknownTopics: [] } as const;
const yard: CameraStatus = {
  ...{ ...quiet, kind: 'camera', id: 'yard', name: 'Yard', host: '192.0.2.1' },
  ...{ manufacturer: 'Example', model: 'Eye', serial: '0042' },
  identity: { model: 'Eye', serial: '0042', mac: '00:11:22:aa:bb:cc' },
};
const device = (wanted: ReturnType<typeof wantedDevices>, id: string) =>
  wanted.devices.find((one) => one.external_device_id === id);

test('this bridge has the zones of its panels and recorders, in the order of their numbers', () => {
  const wanted = wantedDevices(settings(site), []);
  expect(wanted.devices[0]).toEqual({
    ...{ external_device_id: 'sw-1', device_type: 'bridge', name: 'sw-1' },
    ...{ zone: '2', furtherZones: ['5', '07', '10'] },
  });
  const named = settings(site.replace('external_id: hq', 'external_id: hq, name: Head office'));
  expect(wantedDevices(named, []).devices[0]?.name).toBe('Head office');
});

test('a bridge without a panel takes any zone number', () => {
  const [bridge] = wantedDevices(settings(minimal), []).devices;
  expect(bridge).toEqual({ external_device_id: 'sw-1', device_type: 'bridge', name: 'sw-1', furtherZones: [] });
});

test('every camera and channel of the configuration is wanted, with its zone and those of contacts wired to it', () => {
  const wanted = wantedDevices(settings(site), []);
  expect(wanted.devices.slice(1)).toEqual([
    { external_device_id: 'yard', device_type: 'camera', name: 'Yard', zone: '21', furtherZones: ['23'] },
    { external_device_id: 'hall', device_type: 'camera', name: 'hall', furtherZones: [] },
    { external_device_id: 'desk', device_type: 'camera', name: 'desk', furtherZones: [] },
    { external_device_id: 'door', device_type: 'camera', name: 'Door', zone: '41', furtherZones: [] },
  ]);
  expect(wanted.nvrs).toEqual([
    { external_nvr_id: 'rec', name: 'Recorder', ip_address: '192.0.2.9', devices: ['door'] },
  ]);
  const stated = settings(site.replace('{ id: rec,', '{ id: rec, cloud_nvr_id: "501",'));
  expect(wantedDevices(stated, []).nvrs).toMatchObject([{ external_nvr_id: 'rec', cloud_nvr_id: '501' }]);
});

test('safety 4: numbers of zones for silent calls are told to nobody, and kept free', () => {
  const wanted = wantedDevices(settings(site), []);
  expect(wanted.reserved).toEqual(['9', '22']);
  const told = wanted.devices.flatMap(({ zone, furtherZones }) => [zone, ...furtherZones]);
  for (const number of wanted.reserved ?? []) expect(told).not.toContain(number);
});

test('what a camera has told of itself is told, and what another one in its place tells is not', () => {
  const facts = { manufacturer: 'Example', model: 'Eye', serial_number: '0042', mac: '00:11:22:aa:bb:cc' };
  expect(device(wantedDevices(settings(site), [yard]), 'yard')).toMatchObject(facts);
  const warnings = [{ code: 'other_device', text: 'another device answers here' }] as const;
  const other = device(wantedDevices(settings(site), [{ ...yard, warnings }]), 'yard');
  expect(other).toEqual(device(wantedDevices(settings(site), []), 'yard'));
  expect(device(wantedDevices(settings(site), [{ ...yard, kind: 'nvr' }]), 'yard')).toEqual(other);
});

test('a camera that has not told yet what it is, and may still, is marked', () => {
  const wanted = wantedDevices(settings(site), [], new Set(['hall']));
  const marked = wanted.devices.filter(({ isSettling }) => isSettling === true);
  expect(marked.map((one) => one.external_device_id)).toEqual(['hall']);
});

test('all of it is as the interface takes it', () => {
  const { devices, nvrs } = wantedDevices(settings(site), [yard]);
  for (const { zone = '1', furtherZones: _, isSettling: __, ...one } of devices)
    expect(deviceCreate.parse({ ...one, zone_number: zone })).toMatchObject(one);
  for (const { devices: _, ...one } of nvrs) expect(nvrCreate.parse(one)).toEqual(one);
});
