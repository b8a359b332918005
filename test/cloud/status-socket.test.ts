import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createCloudClient, createHttp } from '#cloud/client/index.ts';
import { cloudOperations } from '#cloud/contract/index.ts';
import { statusTable } from '#cloud/delivery/index.ts';
import { systemClock } from '#lib/clock.ts';
import { bindClient } from '#lib/contract/client.ts';
import { accept, type Harness, type HarnessOptions, harness, type OnEvent } from './delivery-harness.ts';
import { eventIdOf, html, json, keyPair, quiet, rowOf, until } from './support.ts';

const closing: (() => Promise<unknown> | unknown)[] = [];
let h: Harness;
afterEach(async () => {
  await h?.close();
  for (const close of closing.splice(0).reverse()) await close();
});
async function setUp(options: HarnessOptions): Promise<void> {
  h = await harness(options);
}
const stateOf = async (seq: number) => (await h.store.events({ limit: 10 })).find((row) => row.seq === seq)?.delivery;

/** How often each row of the table has decided. */
async function decided(): Promise<Record<string, number>> {
  const found = await h.metrics.getSingleMetric('siteward_delivery_tries_total')?.get();
  return Object.fromEntries(found?.values.map(({ labels, value }) => [String(labels.outcome), value]) ?? []);
}

const unknownStatus = 'HTTP/1.1 999 Request denied\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';

const answers: [name: string, what: string, answer: OnEvent][] = [
  ['accepted, but for another event', '200 for another id', (_p, _n, r) => json(r, 200, { event_id: eventIdOf(9) })],
  ['accepted', '204', (_p, _n, r) => json(r, 204, undefined)],
  ['success with a page: intercepted line', '200 with a page', (_p, _n, r) => html(r, 200)],
  ['redirect: never followed', '302', (_p, _n, r) => json(r, 302, undefined, { location: '/partner/v1/elsewhere' })],
  ['redirect: never followed', '307', (_p, _n, r) => json(r, 307, undefined, { location: '/partner/v1/elsewhere' })],
  ['proxy or portal wants a login', '511', (_p, _n, r) => html(r, 511)],
  ['known under another id', '409 for another id', (_p, _n, r) => json(r, 409, { event_id: eventIdOf(9) })],
  ['known already', '409', (p, _n, r) => json(r, 409, { event_id: p.id })],
  ['refused as invalid', '400', (_p, _n, r) => json(r, 400, { error: 'bad_request' })],
  ['refused as invalid', '422', (_p, _n, r) => json(r, 422, { error: 'bad_request' })],
  ['too large for the cloud', '413', (_p, _n, r) => html(r, 413)],
  ['refused with a fresh token', '401', (_p, _n, r) => json(r, 401, {})],
  ['not permitted, or the address is wrong', '403', (_p, _n, r) => json(r, 403, {})],
  ['our request is malformed', '415', (_p, _n, r) => json(r, 415, {})],
  ['too many requests', '429', (_p, _n, r) => json(r, 429, {}, { 'retry-after': '7' })],
  ['asks for a pause', '503 with Retry-After', (_p, _n, r) => json(r, 503, {}, { 'retry-after': '7' })],
  ['not now', '503', (_p, _n, r) => json(r, 503, {})],
  ['not now', '425', (_p, _n, r) => json(r, 425, {})],
  ['server error', '500', (_p, _n, r) => json(r, 500, {})],
  ['server error', '529', (_p, _n, r) => html(r, 529)],
  ['another refusal', '418', (_p, _n, r) => json(r, 418, {})],
  ['somebody else answers', 'what is not HTTP', (_p, _n, _r, socket) => void socket.end('SSH-2.0-OpenSSH_9.2\r\n')],
  ['line down', 'a reset', (_p, _n, _r, socket) => void socket.resetAndDestroy()],
  ['anything else', 'a status nobody knows', (_p, _n, _r, socket) => void socket.end(unknownStatus)],
  ['answer too large', 'more than 10 MiB', (_p, _n, r) => void r.end(Buffer.alloc(11 * 1024 * 1024))],
];
const twice: ReadonlySet<string> = new Set(['line down', 'refused with a fresh token']);

describe('over a real socket', () => {
  it.each(answers)('"%s" decides on %s, and the event is delivered when that is over', async (name, _what, answer) => {
    // A cut connection and a refused token are tried again at once; only the second time counts.
    const tries = twice.has(name) ? 2 : 1;
    await setUp({ onEvent: (post, nth, r, socket) => (nth <= tries ? answer : accept)(post, nth, r, socket) });
    await h.commit([rowOf(h.clock, 1)]);
    await h.passTime('it is delivered', async () => (await stateOf(1)) === 'delivered', 30_000);
    expect(await decided()).toMatchObject({ [name]: name === 'accepted' ? expect.any(Number) : 1 });
    expect(h.server.seen.map(({ path }) => path)).not.toContain('/partner/v1/elsewhere');
  });

  it('421 is tried once more at once on a new connection', async () => {
    const ports: (number | undefined)[] = [];
    await setUp({
      onEvent(post, nth, response, socket) {
        ports.push(socket.remotePort);
        if (nth === 1) json(response, 421, undefined, { connection: 'close' });
        else return accept(post, nth, response, socket);
      },
    });
    await h.commit([rowOf(h.clock, 1)]);
    await until('it is delivered', async () => (await stateOf(1)) === 'delivered');
    expect(ports).toHaveLength(2);
    expect(ports[0]).not.toBe(ports[1]);
    expect(h.links.filter(([up]) => !up)).toEqual([]);
  });

  it('421 is not tried again while a pause runs that another request was asked for meanwhile', async () => {
    const misdirected = Promise.withResolvers<void>();
    await setUp({
      async onEvent(post, nth, response, socket) {
        if (nth > 1) return accept(post, nth, response, socket);
        if (post.seq === 2) await misdirected.promise;
        else await until('both are under way', () => h.posts.length === 2);
        if (post.seq === 2) json(response, 421, undefined, { connection: 'close' });
        else json(response, 429, {}, { 'retry-after': '90' });
      },
    });
    await h.commit([rowOf(h.clock, 1, { orderKey: 'p1' }), rowOf(h.clock, 2, { orderKey: 'p2' })]);
    await until('the pause runs', () => h.delivery.state().breaker === 'open');
    misdirected.resolve();
    await until('both have been answered', () => h.delivery.state().inFlight === 0);
    expect(h.posts).toHaveLength(2);
    await h.passTime('both are delivered', async () => (await h.waiting()) === 0, 30_000);
  });

  it('a token server that refuses holds everything back and says so', async () => {
    await setUp({ onToken: (response) => json(response, 400, { error: 'invalid_client' }) });
    await h.commit([rowOf(h.clock, 1)]);
    await until('it is told', () => h.links.length > 0);
    expect(h.links).toEqual([[false, 'unauthorized']]);
    await until('the event has met it', async () => (await decided())['token server refuses'] === 1);
  });

  it('a name that does not resolve, and a port where nobody listens, are a line that is down', async () => {
    await setUp({ cloud: { baseUrl: 'https://cloud.invalid' } });
    await h.commit([rowOf(h.clock, 1)]);
    await until('it is told', async () => (await decided())['line down'] === 1);
    expect(h.links.at(-1)).toEqual([false, 'unreachable']);
    await h.close();
    await setUp({ cloud: { baseUrl: 'http://127.0.0.1:1' } });
    await h.commit([rowOf(h.clock, 1)]);
    await until('it is told', async () => (await decided())['line down'] === 1);
    expect(h.links.at(-1)).toEqual([false, 'unreachable']);
  });

  it.each([
    ['certificate not valid at this time', 'an expired certificate', 'clock', { days: '-1', name: 'IP:127.0.0.1' }],
    ['somebody else answers', 'a certificate for another name', 'intercepted', { days: '2', name: 'DNS:x.example' }],
    ['somebody else answers', 'an unknown authority', 'intercepted', { days: '2', name: 'IP:127.0.0.1', alien: true }],
  ])('"%s" decides on %s', async (name, _what, trouble, options) => {
    const pair = certificate(options);
    const server = createTlsServer(pair, (_, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    const baseUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await setUp({ cloud: { baseUrl, ...('alien' in options ? {} : { http: { ca: [pair.cert] } }) } });
    await h.commit([rowOf(h.clock, 1)]);
    await until('it has met it', async () => (await decided())[name] === 1);
    expect(h.links.at(-1)).toEqual([false, trouble]);
    server.closeAllConnections();
  });

  it('an operation for which the configuration has no address holds everything back and is asked for seldom', async () => {
    const url = 'http://127.0.0.1:1';
    const clock = systemClock();
    const http = createHttp({ clock, bases: { auth: { url, key: 'cloud.auth_url' } } });
    const pair = keyPair();
    const cloud = createCloudClient({
      ...{ baseUrl: url, authUrl: url, clientId: 'bridge-1', keys: { current: { pem: pair.pem } }, clock, log: quiet },
    });
    closing.push(() => Promise.all([http.close(), cloud.close()]));
    await setUp({ delivery: { cloud: { ...cloud, api: bindClient(cloudOperations, http.transport) } } });
    await h.commit([rowOf(h.clock, 1)]);
    await until('the event has met it', async () => (await decided())['address not allowed'] === 1);
    expect(h.links.at(-1)).toEqual([false, 'forbidden']);
    expect(h.delivery.state().nextTryMs).toBeGreaterThan(150_000);
    expect(await h.waiting()).toBe(1);
  });

  it('has met every row of the table here, but those that no answer can bring about', () => {
    const elsewhere = [
      'wrong connection',
      'token server refuses',
      'certificate not valid at this time',
      // In line.test.ts.
      'token server away',
      'address not allowed',
    ];
    const met = new Set([...answers.map(([name]) => name), ...elsewhere]);
    expect(statusTable.map(({ name }) => name).filter((name) => !met.has(name))).toEqual([]);
  });
});

/** A self-signed certificate; `days` may be negative. */
function certificate({ days, name }: { days: string; name: string }): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-tls-'));
  try {
    const [key, csr, cert, ext] = ['key', 'csr', 'crt', 'ext'].map((kind) => join(folder, kind)) as [
      string,
      string,
      string,
      string,
    ];
    const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
    writeFileSync(ext, `subjectAltName=${name}\n`);
    openssl('req', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=cloud', '-keyout', key, '-out', csr);
    openssl('x509', '-req', '-in', csr, '-signkey', key, '-days', days, '-extfile', ext, '-out', cert);
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
