import type { NetworkInterfaceInfo } from 'node:os';
import { expect, it } from 'vitest';
import type { Settings } from '#config/index.ts';
import { never } from '#lib/wait.ts';
import { mustBeNear } from '../../src/daemon/lan-only.ts';

const settings = {
  http: { listen: '0.0.0.0:8443' },
  mqtt: { broker: 'embedded', listen: '127.0.0.1:1883' },
  dc09: { listen: '[::]:5010' },
} as unknown as Settings;

const at = (address: string, cidr: string): NetworkInterfaceInfo =>
  ({ address, cidr, internal: false, mac: '', netmask: '', family: 'IPv4' }) as NetworkInterfaceInfo;
const interfaces = { eth0: [at('192.168.7.2', '192.168.7.2/24'), at('203.0.113.2', '203.0.113.2/28')] };

const ask = (host: string, port?: number) =>
  mustBeNear({ host, port }, { settings, field: 'url', signal: never(), interfaces });

it.each([
  ['10.1.2.3', 80],
  ['192.168.7.2', 8080],
  ['192.168.7.3', 8443],
  ['203.0.113.9', 80],
  ['fe80::1%eth0', 80],
  ['fd00::9', undefined],
  ['127.0.0.1', 8080],
  ['localhost', 8080],
])('a device at %s, port %s, may be asked', async (host, port) => {
  await expect(ask(host, port)).resolves.not.toEqual([]);
});

it.each([
  ['198.51.100.7', 80],
  ['203.0.113.17', 80],
  ['2001:db8::1', 80],
  ['0.0.0.0', 80],
  ['::', 80],
])('%s, port %s, is in no network of this box', async (host, port) => {
  await expect(ask(host, port)).rejects.toMatchObject({
    ...{ code: 'request_invalid', facts: { field: 'url' } },
    message: expect.stringContaining('networks of this box'),
  });
});

it.each([
  ['127.0.0.1', 8443],
  ['127.8.8.8', 1883],
  ['192.168.7.2', 5010],
  ['::1', 8443],
  ['::ffff:7f00:1', 8443],
  ['localhost', 8443],
])('%s, port %s, is siteward itself', async (host, port) => {
  await expect(ask(host, port)).rejects.toMatchObject({
    ...{ code: 'request_invalid', facts: { field: 'url' } },
    message: expect.stringContaining('siteward itself'),
  });
});

it.each(['169.254.169.254', '::ffff:a9fe:a9fe', 'fd00:ec2::254'])(
  'where clouds keep keys is not asked: %s',
  async (host) => {
    await expect(ask(host, 80)).rejects.toMatchObject({ code: 'request_invalid', facts: { field: 'url' } });
  },
);

it('the addresses of a name are told, to be asked as they were looked at', async () => {
  expect(await ask('localhost', 8080)).toContain('127.0.0.1');
});

it('a name that nobody knows cannot be asked', async () => {
  await expect(ask('no-such-name.invalid', 80)).rejects.toMatchObject({ code: 'camera_unreachable' });
});
