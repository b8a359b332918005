import { expect, it } from 'vitest';
import { deviceCreate, nvrCreate } from '#cloud/contract/index.ts';
import { type CameraStatus, registrationOf } from '#devices/onvif/index.ts';

const status: CameraStatus = {
  ...{ kind: 'nvr', id: 'rec', name: 'Recorder', host: '192.0.2.9' },
  identity: { model: '', serial: '0042', mac: '00:11:22:aa:bb:cc' },
  ...{ state: 'pulling', since: 1, reachable: true, flowing: 'yes', warnings: [], unknownTopics: [] },
  ...{ manufacturer: 'Example', model: '', firmware: '1', serial: '0042' },
  channels: [
    { id: 'door', name: 'Door', state: 'bound' },
    { id: 'yard', state: 'gone' },
  ],
};

it('a recorder and its channels are registered as the cloud takes them, without anything secret', () => {
  const { nvr, cameras } = registrationOf(status);
  expect(nvr).toEqual({
    ...{ external_nvr_id: 'rec', name: 'Recorder', manufacturer: 'Example', serial_number: '0042' },
    ...{ mac: '00:11:22:aa:bb:cc', ip_address: '192.0.2.9' },
  });
  expect(nvrCreate.parse(nvr)).toEqual(nvr);
  expect(cameras).toEqual([
    { external_device_id: 'door', device_type: 'camera', name: 'Door' },
    { external_device_id: 'yard', device_type: 'camera', name: 'yard' },
  ]);
  for (const camera of cameras) expect(deviceCreate.parse({ ...camera, zone_number: '1' })).toMatchObject(camera);
});

it.each([
  ['recorder.example', undefined],
  ['[2001:db8::9]', '2001:db8::9'],
])('the address %s is told as %s', (host, address) => {
  expect(registrationOf({ ...status, host }).nvr?.ip_address).toBe(address);
});

it('a camera alone is no recorder', () => {
  const { channels: _, ...rest } = status;
  expect(registrationOf({ ...rest, kind: 'camera', id: 'yard' })).toEqual({
    cameras: [
      {
        ...{ external_device_id: 'yard', device_type: 'camera', name: 'Recorder', manufacturer: 'Example' },
        ...{ serial_number: '0042', mac: '00:11:22:aa:bb:cc' },
      },
    ],
  });
});
