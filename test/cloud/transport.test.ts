import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { cloudOptions, createHttp, type Http, retryAfterMs } from '#cloud/client/index.ts';
import { cloudOperations } from '#cloud/contract/index.ts';
import { systemClock } from '#lib/clock.ts';
import { bindClient } from '#lib/contract/client.ts';
import { isLoopback } from '#lib/host.ts';
import { json, scripted } from './support.ts';

const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function httpTo(url: string, more: Partial<Parameters<typeof createHttp>[0]> = {}): Http {
  const http = createHttp({ clock: systemClock(), bases: { base: { url, key: 'cloud.base_url' } }, ...more });
  closing.push(() => http.close());
  return http;
}
async function server(...args: Parameters<typeof scripted>) {
  const made = await scripted(...args);
  closing.push(made.close);
  return made;
}
/** A TCP server that does with a connection whatever the test wants. */
async function tcp(handle: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const made = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    handle(socket);
  });
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => made.close(resolve));
  });
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`;
}
/** Listens, takes nothing, and fills its own queue. */
const fullBacklog = `
import socket, time
server = socket.socket()
server.bind(('127.0.0.1', 0))
server.listen(0)
held = []
for _ in range(4):
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex(server.getsockname())
    held.append(client)
time.sleep(0.1)
print(server.getsockname()[1], flush=True)
time.sleep(60)
`;
const get = (http: Http, url: string, more = {}) =>
  http.raw({
    url,
    method: 'GET',
    headers: {},
    signal: new AbortController().signal,
    deadlineMs: 5_000,
    repeatable: true,
    ...more,
  });

describe('the transport', () => {
  it('puts the path of an operation behind the base address, with or without a slash at its end', async () => {
    const { url, seen } = await server((_, response) => json(response, 200, {}));
    for (const base of [url, `${url}/`, `${url}/prefix`]) {
      const api = bindClient(cloudOperations, httpTo(base).transport);
      await api.postEvent({ encoded: '{}', signal: new AbortController().signal });
    }
    expect(seen.map(({ path }) => path)).toEqual([
      '/partner/v1/events',
      '/partner/v1/events',
      '/prefix/partner/v1/events',
    ]);
  });

  it('never follows a redirect', async () => {
    const { url, seen } = await server((_, response) => {
      response.writeHead(302, { location: '/elsewhere' });
      response.end();
    });
    expect(await get(httpTo(url), `${url}/x`)).toMatchObject({ kind: 'answer', status: 302 });
    expect(seen.map(({ path }) => path)).toEqual(['/x']);
  });

  it('ends an answer that is larger than the cap', async () => {
    const { url } = await server((_, response) => json(response, 200, 'x'.repeat(5_000)));
    expect(await get(httpTo(url, { answerCap: 1_000 }), url)).toMatchObject({ failure: 'too_large' });
  });

  it('settles at its own deadline when the server hangs, and later requests work', async () => {
    let hang = true;
    const { url } = await server((_, response) => {
      if (!hang) json(response, 200, {});
    });
    const http = httpTo(url);
    expect(await get(http, url, { deadlineMs: 150 })).toMatchObject({ failure: 'timeout' });
    hang = false;
    expect(await get(http, url)).toMatchObject({ status: 200 });
  });

  it('settles at its own deadline when nothing answers the connection', async () => {
    // The server never completes the TLS handshake: connecting itself hangs, which undici's abort does not cover.
    const url = (await tcp(() => {})).replace('http:', 'https:');
    const http = httpTo(url, { connectTimeoutMs: 600_000 });
    expect(await get(http, url, { deadlineMs: 200 })).toMatchObject({ failure: 'timeout' });
  });

  it('settles at its own deadline when the server is stopped in its tracks, and works when it goes on', async () => {
    const child = spawn(process.execPath, [
      '-e',
      `const server = require('node:http').createServer((q, r) => r.end('{}'));
       server.listen(0, '127.0.0.1', () => console.log(server.address().port));`,
    ]);
    closing.push(() => child.kill('SIGKILL'));
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    const url = `http://127.0.0.1:${String(port).trim()}`;
    const http = httpTo(url);
    expect(await get(http, url)).toMatchObject({ status: 200 });
    child.kill('SIGSTOP');
    // First on the kept connection, then on a new one that only the kernel has taken.
    expect(await get(http, url, { deadlineMs: 300 })).toMatchObject({ failure: 'timeout' });
    expect(await get(http, url, { deadlineMs: 300 })).toMatchObject({ failure: 'timeout' });
    child.kill('SIGCONT');
    expect(await get(http, url)).toMatchObject({ status: 200 });
  });

  it('settles at its own deadline when the queue of connections is full', async () => {
    const child = spawn('python3', ['-c', fullBacklog]);
    closing.push(() => child.kill('SIGKILL'));
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    const url = `http://127.0.0.1:${String(port).trim()}`;
    const began = performance.now();
    expect(await get(httpTo(url), url, { deadlineMs: 300 })).toMatchObject({ failure: 'timeout' });
    // Far below the time undici gives a connection.
    expect(performance.now() - began).toBeLessThan(4_000);
  });

  it('tells a refused connection, an unknown name, a cut line and garbage apart', async () => {
    const closed = await scripted(() => {});
    await closed.close();
    const http = httpTo(closed.url);
    expect(await get(http, closed.url)).toMatchObject({ failure: 'refused' });
    expect(await get(http, 'https://no-such-name.invalid')).toMatchObject({ failure: 'dns' });
    const cut = await tcp((socket) => socket.once('data', () => socket.resetAndDestroy()));
    expect(await get(http, cut)).toMatchObject({ failure: 'reset' });
    const garbage = await tcp((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n\r\n')));
    expect(await get(http, garbage)).toMatchObject({ failure: 'garbled' });
  });

  it('sends a repeatable request again at once when the kept connection is dead, others not', async () => {
    let connections = 0;
    const url = await tcp((socket) => {
      connections += 1;
      if (connections % 2 === 1) socket.once('data', () => socket.resetAndDestroy());
      else socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'));
    });
    const http = httpTo(url);
    expect(await get(http, url)).toMatchObject({ status: 200 });
    expect(await get(http, url, { repeatable: false })).toMatchObject({ failure: 'reset' });
  });

  it('ends with the reason of the caller when the caller gives up', async () => {
    const { url } = await server(() => {});
    const own = new AbortController();
    const waiting = get(httpTo(url), url, { signal: own.signal });
    own.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  it('tells the difference to the server clock from the Date header', async () => {
    const { url } = await server((_, response) => {
      response.writeHead(200, { date: new Date(Date.now() + 3_600_000).toUTCString() });
      response.end();
    });
    const samples: number[] = [];
    await get(httpTo(url, { onDate: ({ offsetMs }) => samples.push(offsetMs) }), url);
    expect(samples[0]).toBeGreaterThan(3_590_000);
    expect(samples[0]).toBeLessThan(3_610_000);
  });

  it('sends POSTs of events side by side', async () => {
    let open = 0;
    let most = 0;
    const waiting: (() => void)[] = [];
    const { url } = await server((_, response) => {
      open += 1;
      most = Math.max(most, open);
      waiting.push(() => json(response, 200, {}));
      if (open === 4) for (const answer of waiting) answer();
    });
    const api = bindClient(cloudOperations, httpTo(url).transport);
    const { signal } = new AbortController();
    await Promise.all([1, 2, 3, 4].map(() => api.postEvent({ encoded: '{}', signal })));
    expect(most).toBe(4);
  });
});

describe('TLS', () => {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-tls-'));
  /** A self-signed certificate; `days` may be negative. */
  function make(name: string, altName: string, days: number) {
    const [key, csr, cert, ext] = ['key', 'csr', 'crt', 'ext'].map((kind) => join(dir, `${name}.${kind}`)) as [
      string,
      string,
      string,
      string,
    ];
    const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
    writeFileSync(ext, `subjectAltName=${altName}\n`);
    openssl('req', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${name}`, '-keyout', key, '-out', csr);
    openssl('x509', '-req', '-in', csr, '-signkey', key, '-days', String(days), '-extfile', ext, '-out', cert);
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  }
  async function tls(pair: { key: string; cert: string }): Promise<string> {
    const made = createTlsServer(pair, (_, response) => response.end());
    await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
    closing.push(
      () =>
        new Promise((resolve) => {
          made.closeAllConnections();
          made.close(resolve);
        }),
    );
    return `https://127.0.0.1:${(made.address() as AddressInfo).port}`;
  }

  it('tells an untrusted signer, another name and wrong dates apart, and takes a known authority', async () => {
    const good = make('good', 'IP:127.0.0.1', 2);
    const other = make('other', 'DNS:other.example', 2);
    const past = make('past', 'IP:127.0.0.1', -1);
    rmSync(dir, { recursive: true, force: true });
    const trusting = { ca: [good.cert, other.cert, past.cert] };
    const url = await tls(good);
    expect(await get(httpTo(url), url)).toMatchObject({ failure: 'tls_untrusted' });
    expect(await get(httpTo(url, trusting), url)).toMatchObject({ status: 200 });
    const named = await tls(other);
    expect(await get(httpTo(named, trusting), named)).toMatchObject({ failure: 'tls_name' });
    const old = await tls(past);
    expect(await get(httpTo(old, trusting), old)).toMatchObject({ failure: 'tls_time' });
    const plain = (await tcp((socket) => socket.end('hello'))).replace('http:', 'https:');
    expect(await get(httpTo(plain, trusting), plain)).toMatchObject({ failure: 'tls' });
  });
});

describe('cloud addresses', () => {
  it.each([
    ['http://api.example.net', /cloud.base_url: must start with https/],
    ['http://127.0.0.1.example.net', /must start with https/],
    ['http://10.0.0.1', /must start with https/],
    ['ftp://127.0.0.1', /must start with https/],
    ['https://user:secret@api.example.net', /user name/],
    ['api.example.net', /must be an address/],
  ])('refuse %s and name the key', (url, message) => {
    expect(() => createHttp({ clock: systemClock(), bases: { base: { url, key: 'cloud.base_url' } } })).toThrow(
      message,
    );
  });

  it.each(['localhost', '127.0.0.1', '127.9.8.7', '[::1]'])('take plain http for %s', (host) => {
    expect(isLoopback(host)).toBe(true);
    const event = { client_id: 'b', private_key: { credential: 'event-key' } };
    expect(
      cloudOptions.safeParse({ base_url: `http://${host}:1`, auth_url: `http://${host}:1`, events: event }).success,
    ).toBe(true);
  });

  it('are errors of the configuration, with their place', () => {
    const bad = cloudOptions.safeParse({
      base_url: 'http://api.example.net',
      auth_url: 'x',
      events: { client_id: 'b', private_key: 'MIIE' },
    });
    expect(bad.error?.issues.map((issue) => issue.path.join('.'))).toEqual([
      'base_url',
      'auth_url',
      'events.private_key',
    ]);
  });
});

describe('Retry-After', () => {
  it.each([
    [{ 'retry-after': '3' }, 3_000],
    [{ 'retry-after': 'Fri, 27 Nov 2026 20:00:30 GMT', date: 'Fri, 27 Nov 2026 20:00:00 GMT' }, 30_000],
    [{ 'retry-after': 'Fri, 27 Nov 2026 20:00:30 GMT' }, 20_000],
    [{ 'retry-after': 'Fri, 27 Nov 2026 19:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ])('%j means %s ms', (headers, wait) => {
    expect(retryAfterMs(headers as Record<string, string>, Date.UTC(2026, 10, 27, 20, 0, 10))).toBe(wait);
  });
});
