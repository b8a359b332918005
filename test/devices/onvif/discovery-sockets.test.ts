import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { discover } from '../../../src/devices/onvif/discovery/discover.ts';
import { outlets } from '../../../src/devices/onvif/discovery/outlets.ts';
import type { Target } from '../../../src/devices/onvif/discovery/targets.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { certificate } from '../../harness/certificate.ts';
import { type Heard, probeMatches, refusedProbe, startResponder } from './responder.ts';
import { type CameraModel, cameraModel, fault, type Reply, type Seen, soap, startCamera } from './scripted-camera.ts';

const opened: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

const loopback = [{ name: 'lo', family: 'IPv4', address: '127.0.0.1' }] as const;

async function responder(script: (question: Heard) => readonly (string | Uint8Array)[]) {
  const made = await startResponder(script);
  opened.push(() => made.close());
  return made;
}

async function camera(
  before?: (request: Seen) => Reply | undefined,
  where: { host?: string; tls?: { cert: string; key: string } } = {},
) {
  const model: Partial<CameraModel> = before === undefined ? {} : { before };
  const made = await startCamera(cameraModel(model).script, 0, where.tls, where.host);
  opened.push(() => made.close());
  return made;
}

/** A camera that answers to nobody without a password. */
const closed = (request: Seen): Reply | undefined =>
  request.operation === 'GetSystemDateAndTime' ? undefined : fault('NotAuthorized', 'Sender not authorized');

const sources = (count: number) => (request: Seen) =>
  request.operation === 'GetVideoSources'
    ? {
        body: soap(
          `<trt:GetVideoSourcesResponse>${Array.from({ length: count }, (_, at) => `<trt:VideoSources token="v${at}"/>`).join('')}</trt:GetVideoSourcesResponse>`,
        ),
      }
    : undefined;

function search(options: { port?: number; targets?: readonly Target[]; forMs?: number; signal?: AbortSignal }) {
  return discover({
    targets: [],
    outlets: loopback,
    forMs: 800,
    clock: systemClock(),
    signal: new AbortController().signal,
    ...options,
  });
}

describe('asking everybody', () => {
  it('puts every question twice, and merges what one device answers', async () => {
    const { url } = await camera(sources(1));
    const device = await responder(({ messageId }) => [
      probeMatches(messageId, [
        {
          endpoint: 'urn:uuid:E-1',
          xaddrs: `http://169.254.1.2/a ${url}`,
          scopes: ['onvif://www.onvif.org/name/Front%20door'],
        },
      ]),
    ]);
    const found = await search({ port: device.port });
    expect(found).toMatchObject({ notes: [], left: 0, complete: true });
    expect(found.devices).toEqual([
      {
        url,
        addresses: ['127.0.0.1'],
        vendor: 'Example',
        model: '007',
        name: 'Front door',
        firmware: '5.50',
        serial: '00012345678901234567890',
        endpoint: 'e-1',
        passwordNeeded: false,
        videoSources: 1,
        recorder: false,
        answers: true,
      },
    ]);
    const asked = new Map<string, number>();
    for (const { messageId } of device.heard) asked.set(messageId, (asked.get(messageId) ?? 0) + 1);
    expect([...asked.values()]).toEqual([2, 2, 2, 2, 2, 2]);
  });

  it('hears who knows only one form of the message id and only one type', async () => {
    const { url } = await camera(closed);
    const picky = await responder(({ messageId, types }) =>
      messageId.startsWith('uuid:') && types === 'Device'
        ? [probeMatches(messageId, [{ endpoint: 'uuid:1', xaddrs: url }])]
        : [refusedProbe(messageId)],
    );
    const { devices } = await search({ port: picky.port });
    expect(devices).toMatchObject([{ url, endpoint: '1', passwordNeeded: true, answers: true }]);
    expect(devices[0]).not.toHaveProperty('recorder');
  });

  it('takes several devices of one message, and none of printers, of other questions, or of nonsense', async () => {
    const [one, two] = [await camera(closed), await camera(sources(8))];
    const device = await responder(({ messageId }) => [
      probeMatches(messageId, [
        { endpoint: 'uuid:one', xaddrs: one.url },
        { endpoint: 'uuid:two', xaddrs: two.url },
        { endpoint: 'uuid:printer', types: 'wsdp:Device', xaddrs: 'http://127.0.0.1:5357/x' },
      ]),
      probeMatches('urn:uuid:99999999-0000-0000-0000-000000000000', [
        { endpoint: 'uuid:stray', xaddrs: 'http://10.0.0.9/x' },
      ]),
      probeMatches(messageId, []),
      '<not xml',
      Buffer.from([0xff, 0xfe, 0x00]),
    ]);
    const { devices } = await search({ port: device.port });
    expect(devices.map(({ endpoint, recorder }) => [endpoint, recorder]).sort()).toEqual([
      ['one', undefined],
      ['two', true],
    ]);
  });

  it('lists a device of which only a refusal was heard', async () => {
    const device = await responder(({ messageId }) => [refusedProbe(messageId)]);
    const { devices } = await search({ port: device.port });
    expect(devices).toEqual([
      { url: 'http://127.0.0.1/onvif/device_service', addresses: ['127.0.0.1'], answers: false },
    ]);
  });

  it('bears a flood of answers, and counts what it did not look at', async () => {
    const { url } = await camera(closed);
    // Short ones, of which the system drops none: more than one sender may send.
    const flood = await responder(({ messageId }) => [
      probeMatches(messageId, [{ endpoint: 'uuid:1', xaddrs: url }]),
      ...Array.from({ length: 99 }, () => '<x/>'),
    ]);
    const { devices, left } = await search({ port: flood.port });
    expect(devices).toMatchObject([{ url }]);
    expect(left).toBeGreaterThan(0);
  });

  it('ends when it is told to, with what was found until then', async () => {
    const { url } = await camera();
    const stop = new AbortController();
    const device = await responder(({ messageId }) => {
      setTimeout(() => stop.abort(new Error('Ctrl-C')), 50);
      return [probeMatches(messageId, [{ endpoint: 'uuid:1', xaddrs: url }])];
    });
    const found = await search({ port: device.port, forMs: 60_000, signal: stop.signal });
    expect(found).toMatchObject({ complete: false, devices: [{ url, answers: false }] });
  });

  it('goes on where an interface cannot be used, and says so', async () => {
    const { url } = await camera();
    const device = await responder(({ messageId }) => [probeMatches(messageId, [{ xaddrs: url }])]);
    const found = await discover({
      targets: [],
      outlets: [{ name: 'gone0', family: 'IPv4', address: '203.0.113.7' }, ...loopback],
      forMs: 800,
      clock: systemClock(),
      signal: new AbortController().signal,
      port: device.port,
    });
    expect(found.devices).toMatchObject([{ url }]);
    expect(found.notes).toEqual([expect.stringContaining('gone0 (IPv4): nobody can be asked there')]);
  });
});

describe('asking addresses', () => {
  it('asks by UDP, and takes the port that the device tells', async () => {
    const { url } = await camera(closed);
    const device = await responder(({ messageId }) => [probeMatches(messageId, [{ endpoint: 'uuid:1', xaddrs: url }])]);
    const found = await search({ port: device.port, targets: [{ host: '127.0.0.1' }] });
    expect(found.devices).toMatchObject([{ url, endpoint: '1', passwordNeeded: true }]);
  });

  it('tries HTTP where nobody answers by UDP, at a port or an address that is named', async () => {
    const [one, two] = [await camera(closed), await camera()];
    const web = await camera(() => ({ headers: { 'content-type': 'text/html' }, body: '<html>a web page</html>' }));
    const { devices, notes } = await search({
      forMs: 100,
      port: 9,
      targets: [
        { host: '127.0.0.1', port: one.port },
        { host: '127.0.0.1', url: two.url },
        { host: '127.0.0.1', port: web.port },
        { host: 'no-such-host.invalid' },
      ],
    });
    expect(devices.map(({ url, passwordNeeded }) => [url, passwordNeeded]).sort()).toEqual(
      [
        [one.url, true],
        [two.url, false],
      ].sort(),
    );
    expect(notes).toEqual([expect.stringContaining('no-such-host.invalid: ')]);
  });

  it('asks IPv6 addresses as well', async () => {
    const six = outlets('lo').some(({ family }) => family === 'IPv6');
    // A machine without IPv6 has nobody to ask there, and says so.
    if (!six) {
      expect((await search({ forMs: 100, targets: [{ host: '::1' }] })).devices).toEqual([]);
      return;
    }
    const { url, port } = await camera(closed, { host: '::1' });
    const device = await startResponder(
      ({ messageId }) => [
        probeMatches(messageId, [{ endpoint: 'uuid:6', xaddrs: `http://[::1]:${port}/onvif/device_service` }]),
      ],
      { family: 'udp6', groups: [] },
    );
    opened.push(() => device.close());
    const found = await search({ port: device.port, targets: [{ host: '::1' }] });
    expect(found.devices).toMatchObject([{ url: url.replace('::1:', '[::1]:'), addresses: ['::1'], answers: true }]);
  });

  it('finds one that speaks https with a certificate of its own, and tells its fingerprint', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-tls-'));
    opened.push(() => rmSync(folder, { recursive: true }));
    const made = certificate(folder);
    const { url, port } = await camera(closed, { tls: made });
    const { devices } = await search({ forMs: 100, targets: [{ host: '127.0.0.1', port }] });
    expect(devices).toMatchObject([
      { url, passwordNeeded: true, fingerprint: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/) },
    ]);
  });

  it('never sends credentials, and asks a locked device only once', async () => {
    const { seen, port } = await camera(closed);
    await search({ forMs: 100, port: 9, targets: [{ host: '127.0.0.1', port }] });
    expect(seen.map(({ operation }) => operation)).toEqual(['GetSystemDateAndTime', 'GetDeviceInformation']);
    for (const { headers, body } of seen) {
      expect(headers.authorization).toBeUndefined();
      expect(body).not.toMatch(/UsernameToken/);
    }
  });

  it('ends at one that takes the connection and never answers', async () => {
    const { port } = await camera(() => ({ hang: true }));
    const { devices, complete } = await search({ forMs: 100, targets: [{ host: '127.0.0.1', port }] });
    expect({ devices, complete }).toEqual({ devices: [], complete: true });
  });
});
