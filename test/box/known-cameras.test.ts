import { describe, expect, it, test } from 'vitest';
import { movedFrom } from '#box/known-cameras.ts';
import { neighboursIn, readNeighbours } from '#box/neighbours.ts';
import type { FoundDevice } from '#devices/onvif/index.ts';
import type { CameraEntry } from '#lan/http/index.ts';

const known = (id: string, identity: CameraEntry['identity'], more: Partial<CameraEntry> = {}): CameraEntry => ({
  ...{ id, kind: 'camera', name: id, url: `http://192.0.2.10/${id}`, partitions: [], troubles: [], unknown_topics: 0 },
  ...{ reachable: false, authenticated: null, events: false, ...(identity && { identity }) },
  ...more,
});
const found = (more: Partial<FoundDevice>): FoundDevice => ({
  ...{ url: 'http://192.0.2.77/onvif/device_service', addresses: ['192.0.2.77'], answers: true },
  ...more,
});
const mac = 'ac:cc:8e:00:11:22';
const cameras = [
  known('gate', undefined),
  known('hall', { model: 'M1', serial: 'H-0001' }),
  known('yard', { model: 'M1', serial: 'Y-0001', mac }),
];

describe('a camera under another address', () => {
  it.each<[string, Partial<FoundDevice>]>([
    ['the MAC in its scopes', { mac }],
    ['the MAC in its endpoint', { endpoint: '2419d68a-2dd2-21b2-a205-accc8e001122' }],
    ['its address, whose MAC this machine knows', { addresses: ['fe80::1%eth0', '192.0.2.78'] }],
    ['model and serial number', { model: 'M1', serial: 'Y-0001' }],
  ])('is recognised by %s', (_, device) => {
    const neighbours = new Map([['192.0.2.78', mac]]);
    expect(movedFrom(cameras, neighbours)(found(device))).toEqual({ id: 'yard', isMissing: true });
  });

  it.each<[string, Partial<FoundDevice>]>([
    ['another MAC', { mac: 'ac:cc:8e:00:11:23' }],
    ['the serial number of another model', { model: 'M2', serial: 'Y-0001' }],
    ['an endpoint that is no UUID', { endpoint: 'accc8e001122' }],
    ['nothing', {}],
  ])('is none that has %s', (_, device) => {
    expect(movedFrom(cameras, new Map())(found(device))).toBeUndefined();
  });

  it('is not told by a serial number that stands in all of a make', () => {
    const cheap = [known('yard', { model: 'M1', serial: '000000' })];
    expect(movedFrom(cheap, new Map())(found({ model: 'M1', serial: '000000' }))).toBeUndefined();
  });

  it.each<[string, Partial<CameraEntry>, boolean]>([
    ['answers at its own address too', { reachable: true, serial: 'Y-0001' }, false],
    ['has another device at its own', { reachable: true, serial: 'H-0001' }, true],
  ])('that %s is told apart', (_, more, isMissing) => {
    const one = known('yard', { model: 'M1', serial: 'Y-0001', mac }, more);
    expect(movedFrom([one], new Map())(found({ mac }))).toEqual({ id: 'yard', isMissing });
  });
});

test('the neighbours of this machine are those that answered', async () => {
  const table = `IP address       HW type     Flags       HW address            Mask     Device
192.0.2.78       0x1         0x2         AC:CC:8E:00:11:22     *        eth0
192.0.2.79       0x1         0x0         00:00:00:00:00:00     *        eth0
`;
  expect([...neighboursIn(table)]).toEqual([['192.0.2.78', mac]]);
  expect([...(await readNeighbours('/nowhere'))]).toEqual([]);
});
