import { EventEmitter, once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createHttpListener, type ShownCertificate } from '#lan/http/index.ts';
import { createDoor, maxConnections, maxOfAddress } from '#lan/http/listener-door.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import { everything, expectDressed, type Listener, parsed, selfSigned, startListener } from './listener-rig.ts';

const impatient = { times: { headersTimeout: 1000, requestTimeout: 1500, connectionsCheckingInterval: 50 } };

test('a connection that never finishes its head, or its body, is ended; others are served meanwhile', async () => {
  const bridge = await startListener({ more: impatient });
  const silent = await bridge.open();
  const slow = await bridge.open();
  slow.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n');
  let at = 0;
  const drip = setInterval(() => slow.write(`x-${at++}: y\r\n`), 20);
  onTestFinished(() => clearInterval(drip));
  const session = `Cookie: __Host-sw=${(await owner(bridge)).token}\r\nOrigin: https://127.0.0.1`;
  const media = 'Content-Type: application/json\r\nContent-Length: 10';
  const body = await bridge.open();
  body.write(`POST /api/v1/commands HTTP/1.1\r\nHost: 127.0.0.1\r\n${session}\r\n${media}\r\n\r\n{`);
  const ends = Promise.all([silent, slow, body].map(everything));
  expect((await bridge.ask('/healthz')).status).toBe(200);
  const [ofSilent = '', ofSlow = '', ofBody = ''] = await ends;
  for (const text of [ofSilent, ofSlow, ofBody]) {
    expect(parsed(text).status).toBe(408);
    expectDressed(parsed(text));
  }
  await vi.waitUntil(async () => (await bridge.counted('siteward_http_connections'))[0]?.endsWith(' 0'), 20_000);
  expect((await bridge.counted('siteward_http_requests_total')).sort()).toEqual([
    'siteward_http_requests_total{status="200"} 1',
    'siteward_http_requests_total{status="408"} 3',
  ]);
});

test('whoever opens connections without end is let in up to a bound, and the rest work on', async () => {
  const bridge = await startListener();
  const all = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const socket = connect(bridge.port(), '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    }),
  );
  await vi.waitUntil(() => all.filter(({ closed }) => closed).length >= 200 - maxConnections, { timeout: 10_000 });
  expect(all.filter(({ closed }) => closed)).toHaveLength(200 - maxConnections);
  expect(await bridge.counted('siteward_http_refused_total{reason="too_many"}')).toEqual([
    `siteward_http_refused_total{reason="too_many"} ${200 - maxConnections}`,
  ]);
  expect(await bridge.counted('siteward_http_connections')).toEqual([`siteward_http_connections ${maxConnections}`]);
  for (const socket of all) socket.destroy();
  await vi.waitUntil(async () => (await bridge.counted('siteward_http_connections'))[0]?.endsWith(' 0'), 20_000);
  expect((await bridge.ask('/healthz')).status).toBe(200);
});

test('connections that say nothing shut nobody out, and who is being answered stays', async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<never>();
  const status = () => {
    asked.resolve();
    return answer.promise;
  };
  const bridge = await startListener({ port: { status } });
  const headers = { cookie: `__Host-sw=${(await owner(bridge)).token}` };
  const first = bridge.ask('/api/v1/status', { headers });
  await asked.promise;
  for (let n = 0; n < maxConnections + 20; n += 1) {
    const socket = connect(bridge.port(), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined);
    await once(socket, 'connect');
  }
  expect((await bridge.ask('/healthz')).status).toBe(200);
  answer.reject(new Error('inner'));
  expect((await first).status).toBe(500);
});

let nextPort = 1024;
/** A connection from there, as far as the door looks. */
function from(remoteAddress: string): Socket & { destroyed: boolean } {
  const socket = Object.assign(new EventEmitter(), { remoteAddress, remotePort: nextPort++, destroyed: false });
  return Object.assign(socket, { destroy: () => Object.assign(socket, { destroyed: true }) }) as never;
}

test('one address has its share of the places, under either spelling; the loopback is not one client', () => {
  const refused: string[] = [];
  const door = createDoor((reason) => refused.push(reason));
  const server = new Server();
  door.watch(server);
  const take = (address: string) => {
    const socket = from(address);
    server.emit('connection', socket);
    return socket.destroyed;
  };
  for (let n = 0; n < maxOfAddress; n += 1) expect(take(n % 2 === 0 ? '192.0.2.9' : '::ffff:192.0.2.9')).toBe(false);
  expect([take('192.0.2.9'), take('::ffff:192.0.2.9'), take('192.0.2.10')]).toEqual([true, true, false]);
  for (let n = 0; n < 2 * maxOfAddress; n += 1) expect(take('127.0.0.1')).toBe(false);
  expect(refused).toEqual(['too_many_of_address', 'too_many_of_address']);
  expect(door.size()).toBe(maxOfAddress + 1 + 2 * maxOfAddress);
});

test('handshakes that are never finished are ended, and TLS older than 1.2 is not spoken', async () => {
  const bridge = await startListener({ more: { times: { handshakeTimeout: 200 } } });
  const mute = connect(bridge.port(), '127.0.0.1');
  const half = connect(bridge.port(), '127.0.0.1');
  // The head of a TLS record that announces more than comes.
  half.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
  for (const socket of [mute, half]) {
    socket.on('error', () => undefined);
    socket.resume();
  }
  await Promise.all([once(mute, 'close'), once(half, 'close')]);
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
  const tls = connectTls({ host: '127.0.0.1', port: bridge.port(), rejectUnauthorized: false, ...old });
  expect((await once(tls, 'error'))[0]).toBeInstanceOf(Error);
  expect(Number((await bridge.counted('siteward_http_refused_total{reason="handshake"}'))[0]?.split(' ')[1])).toBe(3);
  expect((await bridge.ask('/healthz')).status).toBe(200);
});

test('whoever speaks HTTP without TLS gets nothing', async () => {
  const bridge = await startListener();
  const socket = connect(bridge.port(), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  let got = '';
  socket.on('data', (bytes) => {
    got += bytes.toString('latin1');
  });
  await once(socket, 'close');
  expect(got).not.toContain('HTTP/');
  expect((await bridge.ask('/healthz')).status).toBe(200);
});

test('a client that asks and never reads holds up nobody, and is ended with the listener', async () => {
  const metrics = async () => 'siteward_up 1\n'.repeat(2_000_000);
  const bridge = await startListener({ port: { metrics } });
  const { token } = await owner(bridge);
  const socket = await bridge.open();
  socket.pause();
  socket.write(`GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: __Host-sw=${token}\r\n\r\n`);
  expect((await bridge.ask('/healthz')).status).toBe(200);
  const closed = once(socket, 'close');
  await bridge.part.stop();
  socket.resume();
  await closed;
});

async function owner({ access }: Listener): Promise<{ token: string }> {
  const code = access.claimCode()?.reveal() ?? '';
  const who = { id: 'olga', name: 'Olga', role: 'owner', password: 'zahnrad-tulpe-42', address: '127.0.0.1' } as const;
  const { token } = await access.claim({ code, ...who }, new AbortController().signal);
  return { token: token.reveal() };
}

test('a stop lets an answer under way come to its end, and cuts what would go on', async () => {
  const asked = Promise.withResolvers<void>();
  const may = Promise.withResolvers<void>();
  const ready = () => ({ ready: true, reasons: [] });
  let calls = 0;
  const authority = async () => {
    calls += 1;
    if (calls === 1) {
      asked.resolve();
      await may.promise;
      return 'the authority';
    }
    return new Promise<string>(() => undefined);
  };
  const bridge = await startListener({ port: { ready, authority } });
  const request = 'GET /ca.crt HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
  const [idle, under, endless] = [await bridge.open(), await bridge.open(), await bridge.open()];
  const half = connect(bridge.port(), '127.0.0.1');
  half.on('error', () => undefined);
  await once(half, 'connect');
  const texts = Promise.all([idle, under, endless].map(everything));
  under.write(request);
  await asked.promise;
  endless.write(request);
  await vi.waitUntil(() => calls === 2, 20_000);
  const stopped = bridge.part.stop();
  may.resolve();
  const [, ofUnder, ofEndless] = await texts;
  await stopped;
  expect(ofUnder).toContain('the authority');
  expect(ofEndless).toBe('');
  expect(bridge.part.health()).toEqual({ state: 'down', reason: 'stopped' });
  await expect(bridge.ask('/healthz')).rejects.toThrow();
  if (!half.closed) await once(half, 'close');
});

test('a stop ends streams in order, and how long they were followed counts in no time of an answer', async () => {
  const live = () => ({
    async open() {
      const told = new ReadableStream({
        start: (control) => control.enqueue(new TextEncoder().encode('event: hello\n\n')),
      });
      return { stream: told, cut: new AbortController().signal, end: () => undefined };
    },
  });
  const bridge = await startListener({ port: { live: live as never } });
  const { token } = await owner(bridge);
  const socket = await bridge.open();
  const text = everything(socket);
  socket.write(`GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: __Host-sw=${token}\r\n\r\n`);
  await once(socket, 'data');
  await bridge.part.stop();
  // The last chunk: a client knows that nothing is missing.
  expect(await text).toMatch(/event: hello[\s\S]*0\r\n\r\n$/);
  await vi.waitUntil(async () => (await bridge.counted('siteward_http_requests_total')).length > 0, 20_000);
  expect(await bridge.counted('siteward_http_requests_total')).toEqual([
    'siteward_http_requests_total{status="200"} 1',
  ]);
  expect(await bridge.counted('siteward_http_request_seconds_count')).toEqual([
    'siteward_http_request_seconds_count 0',
  ]);
});

function pair(): ShownCertificate {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-pair-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const { cert, key } = selfSigned(dir, 'any');
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
}

function listener(port: number, certificate: () => Promise<ShownCertificate>) {
  const part = createHttpListener({
    listen: { host: '127.0.0.1', port },
    names: new Set(),
    certificate,
    page: async () => [],
    port: fakeLanPort(),
    log: pino({ level: 'silent' }),
    metrics: new Registry(),
  });
  onTestFinished(() => part.stop());
  return part;
}

test('a port that another program has makes the part down with advice, and it listens once the port is free', async () => {
  const shown = pair();
  const other = createServer();
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  const part = listener(port, async () => shown);
  await part.start(new AbortController().signal);
  await vi.waitUntil(() => part.health().reason?.includes('Another program has the port'), { timeout: 10_000 });
  expect(part.health().state).toBe('down');
  other.close();
  await vi.waitUntil(() => part.health().state === 'ok', { timeout: 20_000 });
  expect(part.health().facts).toMatchObject({
    listen: `127.0.0.1:${port}`,
    fingerprint: expect.stringMatching(/^[0-9A-F:]{95}$/),
  });
});

test('a certificate that cannot be had makes the part down, holds up no start and no stop, and is asked for again', async () => {
  const shown = pair();
  let tries = 0;
  const part = listener(0, async () => {
    tries += 1;
    if (tries === 1) throw new Error('the clock is not set');
    return shown;
  });
  await part.start(new AbortController().signal);
  await vi.waitUntil(() => part.health().reason?.includes('the clock is not set'), 20_000);
  await vi.waitUntil(() => part.health().state === 'ok', { timeout: 10_000 });
  const hanging = listener(0, () => new Promise(() => undefined));
  await hanging.start(new AbortController().signal);
  expect(hanging.health().state).toBe('down');
});
