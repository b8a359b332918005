import { describe, expect, test } from 'vitest';
import { refuseAtDoor } from '#lan/http/identify-network.ts';
import { addressOf, isPublic } from '#lan/http/network-address.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:10.0.0.1', '10.0.0.1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['2001:db8::1', '2001:db8::1'],
  [undefined, ''],
])('the address of a connection from %s is %s', (remoteAddress, address) => {
  expect(addressOf({ remoteAddress })).toBe(address);
});

const near = ['127.0.0.1', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.7.7', '100.64.0.1'];
const nearV6 = ['::1', 'fd00::1', 'fc12::1', 'fe80::1'];
const far = [
  '8.8.8.8',
  '172.32.0.1',
  '100.128.0.1',
  '192.169.0.1',
  '2001:4860::8888',
  '::2',
  'ff02::1',
  '',
  'nonsense',
];

test.each([...near, ...nearV6])('%s is of the own network', (address) => expect(isPublic(address)).toBe(false));
test.each(far)('"%s" is not', (address) => expect(isPublic(address)).toBe(true));

describe('while nobody has claimed the bridge', () => {
  const door = (address: string, state: 'unclaimed' | 'claimed' | 'unusable', url = '/healthz') =>
    refuseAtDoor(
      { headers: { host: '192.0.2.1:8443' }, headersDistinct: {}, url, socket: { remoteAddress: address } as never },
      fakeLanPort(0, { access: () => ({ shown: () => state }) as never }),
      new Set(),
    );

  test.each(far)('whoever comes over the Internet (%s) is told to claim it first, on every path', (address) => {
    for (const url of ['/healthz', '/.well-known/siteward', '/ca.crt', '/api/v1/status', '/nothing'])
      expect(door(address, 'unclaimed', url)).toMatchObject({ status: 403, body: { code: 'unclaimed' } });
  });

  test.each([...near, ...nearV6])('whoever is of the own network (%s) goes on', (address) =>
    expect(door(address, 'unclaimed')).toBeUndefined(),
  );

  test('afterwards, and while nobody can be let in anyway, both do', () => {
    for (const state of ['claimed', 'unusable'] as const) expect(door('8.8.8.8', state)).toBeUndefined();
    const stopped = fakeLanPort(0);
    const socket = { remoteAddress: '8.8.8.8' } as never;
    const head = { headers: { host: 'localhost' }, headersDistinct: {}, url: '/', socket };
    expect(refuseAtDoor(head, stopped, new Set())).toBeUndefined();
  });
});
