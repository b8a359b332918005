import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, onTestFinished, vi } from 'vitest';
import { certifier, siteAuthority } from '#box/certificates.ts';
import type { Access } from '#lan/access/index.ts';
import { createHttpListener, type LanPort, type ShownCertificate } from '#lan/http/index.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import type { Part } from '#lib/health.ts';
import { box } from '../access/box.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: () => Record<string, unknown>;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

/** A bridge's HTTPS listener on a free port of the loopback, with an authority and accounts of its own. */
export interface Listener {
  readonly part: Part;
  readonly access: Access;
  readonly metrics: Registry;
  readonly lines: string[];
  readonly port: () => number;
  /** PEM. */
  readonly authority: () => Promise<string>;
  /** Names the certificate is to stand for from the next look on. */
  names: string[];
  ask(path: string, how?: Ask): Promise<Answer>;
  /** What comes back for these bytes until the end of the connection. */
  raw(bytes: string): Promise<string>;
  /** A connection over TLS that has said nothing yet. */
  open(): Promise<TLSSocket>;
  counted(name: string): Promise<string[]>;
}

export async function startListener(
  options: { port?: Partial<LanPort>; more?: Partial<Parameters<typeof createHttpListener>[0]> } = {},
): Promise<Listener> {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-http-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const settings = { site: { external_id: 'hq' }, store: { dir } } as never;
  const certify = certifier();
  const access = await box().start();
  const metrics = new Registry();
  const lines: string[] = [];
  const made: { names: string[] } = { names: [] };
  const authority = () => siteAuthority(settings);
  const part = createHttpListener({
    listen: { host: '127.0.0.1', port: 0 },
    names: new Set(['bridge.example.net']),
    certificate: (signal): Promise<ShownCertificate> => certify('http', settings, made.names, signal),
    page: async () => [],
    port: fakeLanPort(3, { access: () => access, authority, ...options.port }),
    log: pino({ base: null }, { write: (line) => void lines.push(line) }),
    metrics,
    ...options.more,
  });
  onTestFinished(() => part.stop());
  await part.start(new AbortController().signal);
  await vi.waitUntil(() => part.health().state === 'ok', { timeout: 20_000 });
  const port = () => Number(String(part.health().facts?.listen).split(':').at(-1));
  const open = async () => {
    const socket = connectTls({ host: '127.0.0.1', port: port(), ca: await authority() });
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined);
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    return socket;
  };
  return Object.assign(made, {
    ...{ part, access, metrics, lines, port, authority, open },
    ask: async (path: string, how: Ask = {}) => ask({ port: port(), ca: await authority() }, path, how),
    async raw(bytes: string) {
      const socket = await open();
      socket.write(bytes);
      return everything(socket);
    },
    async counted(name: string) {
      const text = await metrics.metrics();
      return text.split('\n').filter((line) => line.startsWith(name));
    },
  });
}

export function ask(to: { port: number; ca?: string }, path: string, how: Ask = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body } = how;
  return new Promise((resolve, reject) => {
    // By the name of the machine itself: a forged `Host` is none of the client's own checks.
    const options = { host: '127.0.0.1', servername: 'localhost', port: to.port, path, method, headers, agent: false };
    const call = request({ ...options, ...(to.ca === undefined ? { rejectUnauthorized: false } : { ca: to.ca }) });
    call.on('response', (response) => {
      let text = '';
      response.on('data', (bytes) => {
        text += bytes;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: () => JSON.parse(text) }),
      );
      response.on('error', reject);
    });
    call.on('error', reject);
    call.end(body);
  });
}

/** Until the other side ends it. */
export function everything(socket: TLSSocket): Promise<string> {
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes;
  });
  return new Promise((resolve) => socket.once('close', () => resolve(text)));
}

/** Head and body of an answer as it came. */
export function parsed(text: string): Answer {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(lines.map((line) => [line.split(': ')[0], line.split(': ').slice(1).join(': ')]));
  return { status: Number(first.split(' ')[1]), headers, text: body, json: () => JSON.parse(body) };
}

/** What every answer must carry, whoever made it. */
export function expectDressed({ headers }: Answer): void {
  expect(headers).toMatchObject({
    'content-security-policy': expect.stringContaining("default-src 'self'"),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.stringMatching(/^[0-9a-f]{12}$/),
  });
  expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
}

/** A pair that its own certificate signs. */
export function selfSigned(dir: string, name: string, days = 90): { cert: string; key: string } {
  const [key, cert] = [join(dir, `${name}.key`), join(dir, `${name}.crt`)];
  const how = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', `${days}`];
  const of = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert];
  execFileSync('openssl', ['req', '-x509', ...how, ...of], { stdio: 'ignore' });
  return { cert, key };
}
