import { X509Certificate } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Access } from '#lan/access/index.ts';
import { fakeCommands, fakeOutbox } from '#lan/http/port.fake.ts';
import { by, claim } from '../access/box.ts';
import { ask, expectDressed, type Listener, parsed, startListener } from './listener-rig.ts';

const json = { 'content-type': 'application/json' };
const ownPage = (bridge: Listener) => ({ origin: `https://127.0.0.1:${bridge.port()}` });

/** The owner's cookie. */
async function login(access: Access): Promise<{ cookie: string }> {
  const { token } = await claim(access, 'olga', 'owner');
  return { cookie: `__Host-sw=${token.reveal()}` };
}

describe('who is told what', () => {
  test('the authority is to be had by everybody, and what the bridge shows is signed by it', async () => {
    const bridge = await startListener();
    const unverified = await ask({ port: bridge.port() }, '/ca.crt');
    expect(unverified.status).toBe(200);
    expect(unverified.headers['content-type']).toBe('application/x-x509-ca-cert');
    expect(new X509Certificate(unverified.text).ca).toBe(true);
    expect((await ask({ port: bridge.port(), ca: unverified.text }, '/healthz')).json()).toEqual({ status: 'ok' });
    expect(unverified.text).not.toContain('PRIVATE');
  });

  test('its model, its version and whether it is claimed are open, and nothing that tells it from others', async () => {
    const bridge = await startListener();
    const shown = async () => (await bridge.ask('/.well-known/siteward')).json();
    const known = ['api_versions', 'claimed', 'model', 'version'];
    expect(Object.keys(await shown()).sort()).toEqual(known);
    expect(await shown()).toMatchObject({ model: 'siteward', claimed: 'no', api_versions: ['v1'] });
    await claim(bridge.access, 'olga', 'owner');
    expect(await shown()).toMatchObject({ claimed: 'yes' });
  });

  test('health, readiness and identity answer while nobody can be let in', async () => {
    const stopped = () => {
      throw new Error('access control is not running');
    };
    const bridge = await startListener({ port: { access: stopped as never } });
    expect((await bridge.ask('/healthz')).status).toBe(200);
    expect((await bridge.ask('/readyz')).status).toBe(200);
    expect((await bridge.ask('/.well-known/siteward')).json()).toMatchObject({ claimed: 'unusable' });
    expect((await bridge.ask('/api/v1/status')).status).toBe(500);
  });

  test('without account or key it takes one, and says which', async () => {
    const bridge = await startListener();
    const answer = await bridge.ask('/api/v1/status');
    expect([answer.status, answer.headers['www-authenticate'], answer.json().code]).toEqual([
      401,
      'Bearer',
      'access_needed',
    ]);
    for (const authorization of ['Bearer wrong', 'Basic b2xnYTp4', `Bearer ${'x'.repeat(4000)}`])
      expect((await bridge.ask('/api/v1/status', { headers: { authorization } })).status).toBe(401);
  });

  test('by a session, and by a key within its scope', async () => {
    const bridge = await startListener();
    const owner = await claim(bridge.access, 'olga', 'owner');
    const cookie = `__Host-sw=${owner.token.reveal()}`;
    expect((await bridge.ask('/api/v1/status', { headers: { cookie } })).status).toBe(200);
    const { token } = await bridge.access.addKey(by(owner), { name: 'app', scopes: ['state'] } as never);
    const headers = { authorization: `Bearer ${token.reveal()}` };
    expect((await bridge.ask('/api/v1/status', { headers })).status).toBe(200);
    expect((await bridge.ask('/api/v1/events', { headers })).status).toBe(403);
    // A key that does not count is not made up for by a cookie that does.
    const mixed = { authorization: 'Bearer wrong', cookie };
    expect((await bridge.ask('/api/v1/status', { headers: mixed })).status).toBe(401);
  });

  test('what only the box may do stays there, whoever asks', async () => {
    const bridge = await startListener();
    const headers = { ...(await login(bridge.access)), ...json, ...ownPage(bridge) };
    expect((await bridge.ask('/api/v1/inputs', { headers })).status).toBe(403);
  });

  test('who asks is known by the address of the connection, whatever a header says', async () => {
    const seen: unknown[] = [];
    const drop = async (change: { by: unknown }) => seen.push(change.by);
    const bridge = await startListener({ port: { outbox: fakeOutbox(3, { drop: drop as never }) } });
    const forwarded = { 'x-forwarded-for': '192.0.2.77', forwarded: 'for=192.0.2.77', 'x-real-ip': '192.0.2.77' };
    const headers = { ...(await login(bridge.access)), ...json, ...ownPage(bridge), ...forwarded };
    await bridge.ask('/api/v1/outbox/parked/drop', { method: 'POST', headers, body: '{"seqs":[1]}' });
    expect(seen).toEqual([{ source: 'lan', client: 'account:olga', address: '127.0.0.1' }]);
  });
});

test('on a socket of both families an IPv4 address is one', async () => {
  const seen: unknown[] = [];
  const drop = async (change: { by: unknown }) => seen.push(change.by);
  const port = { outbox: fakeOutbox(3, { drop: drop as never }) };
  const bridge = await startListener({ port, more: { listen: { host: '::', port: 0 } } });
  expect(bridge.part.health().facts?.listen).toBe(`[::]:${bridge.port()}`);
  const headers = { ...(await login(bridge.access)), ...json, ...ownPage(bridge) };
  await bridge.ask('/api/v1/outbox/parked/drop', { method: 'POST', headers, body: '{"seqs":[1]}' });
  expect(seen).toEqual([{ source: 'lan', client: 'account:olga', address: '127.0.0.1' }]);
});

describe('what is not for this bridge', () => {
  const places: [method: string, path: string][] = [
    ['GET', '/api/v1/status'],
    ['GET', '/healthz'],
    ['GET', '/nothing'],
    ['DELETE', '/api/v1/status'],
    ['POST', '/api/v1/commands'],
  ];
  test.each(places)('%s %s under another name is misdirected', async (method, path) => {
    const bridge = await startListener();
    for (const host of ['evil.test', 'evil.test:8443', 'bridge.example.net.evil.test', '2130706433']) {
      const answer = await bridge.ask(path, { method, headers: { host } });
      expect([answer.status, answer.json().code]).toEqual([421, 'host_refused']);
      expect(answer.text).not.toContain('evil');
      expectDressed(answer);
    }
    for (const host of ['bridge.example.net', 'sw-1.local', 'localhost', '[::1]:1'])
      expect((await bridge.ask(path, { method, headers: { host } })).status).not.toBe(421);
  });

  test('a request without a host, or with one that is no name, is refused', async () => {
    const bridge = await startListener();
    const without = parsed(await bridge.raw('GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'));
    expect(without.status).toBe(421);
    for (const host of ['a b', 'user@127.0.0.1', '127.0.0.1/x', '127.0.0.1, evil.test', '']) {
      const answer = parsed(await bridge.raw(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`));
      expect(answer.status, host).toBe(421);
      expectDressed(answer);
    }
  });

  test.each(['/', '/healthz', '/nothing'])('one with two hosts is refused (%s)', async (path) => {
    const bridge = await startListener();
    const hosts = 'Host: 127.0.0.1\r\nHost: evil.test\r\nConnection: close';
    const answer = parsed(await bridge.raw(`GET ${path} HTTP/1.1\r\n${hosts}\r\n\r\n`));
    expect(answer.status).toBe(400);
    expectDressed(answer);
  });

  test('a key in an address is refused behind a second question mark, too', async () => {
    const bridge = await startListener();
    expect((await bridge.ask(`/nothing?a=1?b=sw_abcdefgh_${'x'.repeat(43)}`)).status).toBe(400);
  });

  test.each(['http://evil.test/healthz', 'https://127.0.0.1/healthz', '*', 'evil.test:443'])(
    'whoever takes it for a proxy (%s) is told no',
    async (target) => {
      const bridge = await startListener();
      const answer = parsed(
        await bridge.raw(`OPTIONS ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`),
      );
      expect(answer.status).toBe(400);
      expectDressed(answer);
      expect(await bridge.raw('CONNECT evil.test:443 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')).toBe('');
    },
  );

  test('another page may not, even in the browser of somebody who is logged in', async () => {
    const give: unknown[] = [];
    const commands = fakeCommands({ give: (async (command: unknown) => give.push(command)) as never });
    const bridge = await startListener({ port: { commands } });
    const session = { ...(await login(bridge.access)), ...json };
    const body = '{}';
    const tries: Record<string, string>[] = [
      { origin: 'https://evil.test' },
      { origin: 'null' },
      { origin: `http://127.0.0.1:${bridge.port()}` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', ...ownPage(bridge) },
      {},
    ];
    for (const headers of tries) {
      const answer = await bridge.ask('/api/v1/commands', {
        method: 'POST',
        headers: { ...session, ...headers },
        body,
      });
      expect([answer.status, answer.json().code], JSON.stringify(headers)).toEqual([403, 'origin_refused']);
    }
    // The bridge's own page comes as far as the body.
    const own = { ...session, ...ownPage(bridge) };
    expect((await bridge.ask('/api/v1/commands', { method: 'POST', headers: own, body })).status).toBe(400);
    expect(give).toEqual([]);
  });

  test('secrets in an address are refused on every path, and are not said again', async () => {
    const bridge = await startListener();
    const key = `sw_abcdefgh_${'k'.repeat(43)}`;
    for (const path of [`/api/v1/status?token=hunter2`, `/healthz?x=${key}`, '/nothing?password=hunter2']) {
      const answer = await bridge.ask(path);
      expect([answer.status, answer.json().code]).toEqual([400, 'token_in_query']);
      expect(answer.text).not.toMatch(/hunter2|kkk/);
    }
    expect(bridge.lines.join('')).not.toMatch(/hunter2|kkk/);
  });

  test.each([
    '/../../etc/passwd',
    '/api/v1/../../../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/..%2f..%2f..%2fetc%2fpasswd',
    '/%252e%252e/etc/passwd',
    '//etc/passwd',
    '/..\\..\\etc\\passwd',
    '/ca.crt/../../ca.key',
    '/ca.key',
    '/%00',
    '/api/v1/media/..%2f..%2fetc%2fpasswd',
  ])('no file is reached by %s', async (path) => {
    const bridge = await startListener();
    const answer = parsed(await bridge.raw(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`));
    expect([400, 401, 404]).toContain(answer.status);
    expect(answer.text).not.toMatch(/root:|PRIVATE/);
    expectDressed(answer);
  });
});

describe('bodies', () => {
  const post = async (bridge: Listener, body: string | Buffer, more: Record<string, string> = {}) => {
    const headers = { ...json, authorization: `Bearer ${await keyOf(bridge)}`, ...more };
    return bridge.ask('/api/v1/commands', { method: 'POST', headers, body });
  };
  async function keyOf({ access }: Listener): Promise<string> {
    const owner = await claim(access, 'olga', 'owner');
    const { token } = await access.addKey(by(owner), { name: 'app', scopes: ['commands'] } as never);
    return token.reveal();
  }

  test.each<[string, string | Buffer, number]>([
    ['no JSON', '{"id":', 400],
    ['no text', Buffer.from([0xff, 0xfe, 0x00]), 400],
    ['too deep', `${'['.repeat(5000)}${']'.repeat(5000)}`, 400],
    ['nothing', '', 400],
    ['another shape', '{"verb":"open the safe"}', 400],
    ['too large', JSON.stringify({ id: 'x'.repeat(70_000) }), 413],
    ['much too large', Buffer.alloc(4 * 1024 * 1024, 0x20), 413],
  ])('%s', async (_name, body, status) => {
    const bridge = await startListener();
    const answer = await post(bridge, body);
    expect([answer.status, answer.headers['content-type']]).toEqual([status, 'application/problem+json']);
    expectDressed(answer);
    expect((await bridge.ask('/healthz')).status).toBe(200);
  });

  test('of another type is refused', async () => {
    const bridge = await startListener();
    const answer = await post(bridge, 'a=b', { 'content-type': 'text/plain' });
    expect([answer.status, answer.json().code]).toEqual([415, 'media_refused']);
  });

  test('one that never ends is cut off', async () => {
    const bridge = await startListener();
    const socket = await bridge.open();
    const key = await keyOf(bridge);
    const head = `POST /api/v1/commands HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n`;
    socket.write(`${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes;
    });
    const pour = () => {
      while (socket.writable && socket.write(`4000\r\n${' '.repeat(0x4000)}\r\n`));
    };
    socket.on('drain', pour);
    pour();
    await closed;
    expect(text).toContain('413');
  });
});

describe('every answer', () => {
  test('has the same headers, from the parser up', async () => {
    const bridge = await startListener({ port: { status: () => Promise.reject(new Error('inner')) } });
    const session = await login(bridge.access);
    const answers = [
      await bridge.ask('/healthz'),
      await bridge.ask('/healthz', { method: 'HEAD' }),
      await bridge.ask('/ca.crt'),
      await bridge.ask('/nothing'),
      await bridge.ask('/healthz', { method: 'DELETE' }),
      await bridge.ask('/healthz', { method: 'OPTIONS' }),
      await bridge.ask('/api/v1/events'),
      await bridge.ask('/api/v1/status', { headers: session }),
      await bridge.ask('/healthz', { headers: { 'x-big': 'x'.repeat(20_000) } }),
      await bridge.ask('/healthz', { headers: { expect: 'a miracle' } }),
      parsed(await bridge.raw('this is no HTTP\r\n\r\n')),
      parsed(
        await bridge.raw('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'),
      ),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404, 405, 405, 401, 500, 431, 417, 400, 400]);
    for (const answer of answers) expectDressed(answer);
    expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(answers.length);
    for (const answer of answers.filter(({ status, text }) => status >= 400 && text !== ''))
      expect(answer.json()).toMatchObject({ status: answer.status, request_id: answer.headers['x-request-id'] });
  });

  test('to an expectation comes behind what was asked before on the connection, and ends it', async () => {
    const status = () => sleep(50).then(() => Promise.reject(new Error('inner')));
    const bridge = await startListener({ port: { status } });
    const { cookie } = await login(bridge.access);
    const first = `GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: ${cookie}\r\n\r\n`;
    const text = await bridge.raw(`${first}GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: a miracle\r\n\r\n`);
    expect(text.match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual(['500', '417']);
  });

  test('of a mistake says nothing but the id under which the log tells of it', async () => {
    const bridge = await startListener({ port: { status: () => Promise.reject(new Error('inner')) } });
    const answer = await bridge.ask('/api/v1/status', { headers: await login(bridge.access) });
    expect(answer.text).not.toContain('inner');
    const line = bridge.lines.map((text) => JSON.parse(text)).find(({ err }) => err !== undefined);
    expect(line).toMatchObject({ request_id: answer.headers['x-request-id'], operation: 'getStatus' });
    expect(JSON.stringify(line)).toContain('inner');
  });
});

test('requests are counted by status', async () => {
  const bridge = await startListener();
  await bridge.ask('/healthz');
  await bridge.ask('/nothing');
  await bridge.ask('/nothing', { headers: { host: 'evil.test' } });
  await bridge.raw('this is no HTTP\r\n\r\n');
  expect(await bridge.counted('siteward_http_requests_total')).toEqual(
    expect.arrayContaining(
      ['200', '404', '421', '400'].map((status) => `siteward_http_requests_total{status="${status}"} 1`),
    ),
  );
  expect(await bridge.counted('siteward_http_request_seconds_count')).toEqual([
    'siteward_http_request_seconds_count 3',
  ]);
});
