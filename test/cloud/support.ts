import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino, { type Logger } from 'pino';
import { Registry } from 'prom-client';
import { encodeEvent } from '#cloud/contract/index.ts';
import type { Clock } from '#lib/clock.ts';
import { Secret } from '#lib/secret.ts';
import type { EventDraft, Lane, SiteEvent } from '#site/model/index.ts';
import { isoTime } from '#site/model/index.ts';
import { type OutboxRow, openStore, type Store } from '#site/store/index.ts';
import { until as untilSeen } from '../harness/until.ts';

export const quiet: Logger = pino({ level: 'silent' });

export function keyPair(): { pem: Secret; publicPem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  return { pem: new Secret(privateKey), publicPem: publicKey };
}

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Scripted {
  readonly url: string;
  readonly seen: Seen[];
  close(): Promise<void>;
}

/** A real HTTP server on loopback. The handler gets each request with its whole body. */
export async function scripted(
  handle: (seen: Seen, response: ServerResponse, socket: Socket) => void | Promise<void>,
): Promise<Scripted> {
  const seen: Seen[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => {});
    response.on('error', () => {});
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const entry: Seen = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      };
      seen.push(entry);
      void handle(entry, response, request.socket);
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A line to a server that can be cut and mended; whoever connects meanwhile is refused, swallowed, or hung up on. */
export interface Line {
  readonly url: string;
  cut(how: 'refuses' | 'swallows' | 'hangs up'): Promise<void>;
  mend(): Promise<void>;
  close(): Promise<void>;
}

export async function lineTo(target: string): Promise<Line> {
  const { port: behind } = new URL(target);
  const sockets = new Set<Socket>();
  let state: 'whole' | 'swallows' | 'hangs up' = 'whole';
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createTcpServer((socket) => {
    keep(socket);
    if (state === 'hangs up') return socket.destroy();
    if (state === 'swallows') return socket.resume();
    const far = connect(Number(behind), '127.0.0.1');
    keep(far);
    socket.on('close', () => far.destroy());
    far.on('close', () => socket.destroy());
    socket.pipe(far);
    far.pipe(socket);
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const shut = async () => {
    const closed = server.listening ? new Promise((resolve) => server.close(resolve)) : undefined;
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    async cut(how) {
      if (how === 'refuses') return shut();
      state = how;
      for (const socket of sockets) {
        if (how === 'hangs up') socket.destroy();
        // Half-open: nothing goes through any more, and nobody is told.
        else socket.unpipe().resume();
      }
    },
    async mend() {
      state = 'whole';
      if (!server.listening) await listen(port);
    },
    close: shut,
  };
}

export function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

export function html(response: ServerResponse, status: number) {
  response.writeHead(status, { 'content-type': 'text/html' });
  response.end('<html><body>Please log in</body></html>');
}

/** Waits until the condition holds; fails after 20 s with what was waited for. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  await untilSeen(condition, what);
}

export const identity = {
  locationId: 'hq',
  recorderId: 'sw-1',
  cameraIds: { yard: 'cam-ext-1' },
  version: '1.0',
};

export const eventIdOf = (seq: number): string => `00000000-0000-5000-8000-${String(seq).padStart(12, '0')}`;

export function siteEventOf(seq: number, more: Partial<SiteEvent> = {}): SiteEvent {
  return {
    event_id: eventIdOf(seq),
    event_type: 'burglary',
    kind: 'burglary',
    class: 'alarm',
    status: 'active',
    partition: 'p1',
    zone: '7',
    seq,
    source: 'panel:main',
    at: '2026-11-27T20:00:00.000Z',
    data: { version: 1, epoch: 1, clock: 'synced' },
    ...more,
  };
}

export function draftOf(more: Partial<EventDraft> = {}): EventDraft {
  return {
    class: 'alarm',
    kind: 'burglary',
    status: 'active',
    lane: 'alarm',
    source: 'panel:main',
    signalToStation: true,
    toCloud: true,
    media: [],
    ...more,
  };
}

const laneClass = { alarm: 'alarm', arming: 'arming', trouble: 'trouble', activity: 'camera' } as const;

export function rowOf(
  clock: Clock,
  seq: number,
  more: { lane?: Lane; orderKey?: string; media?: EventDraft['media'] } = {},
): OutboxRow {
  const lane = more.lane ?? 'alarm';
  const media = more.media ?? [];
  const event = siteEventOf(seq, { class: laneClass[lane] });
  return {
    seq,
    lane,
    eventId: event.event_id,
    orderKey: more.orderKey ?? 'p1',
    mono: clock.monotonic(),
    wall: clock.wall(),
    boot: clock.bootId,
    clock: 'synced',
    body: encodeEvent(event, draftOf({ class: laneClass[lane], lane, media }), identity),
    event: { ...event, at: isoTime(clock.wall()) },
    media,
    toCloud: true,
  };
}

export async function testStore(clock: Clock): Promise<{ store: Store; dir: string; close(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-cloud-'));
  const store = openStore({ dir, clock, log: quiet, metrics: new Registry() });
  await store.start(AbortSignal.timeout(20_000));
  return {
    store,
    dir,
    async close() {
      await store.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export const commitRows = (store: Store, rows: readonly OutboxRow[]) => store.commit({ rows, arming: [], inputs: [] });

/** The same store with some members replaced; the others keep their own `this`. */
export const withMembers = (store: Store, members: Partial<Store>): Store =>
  new Proxy(store, {
    get(target, member) {
      if (Object.hasOwn(members, member)) return Reflect.get(members, member);
      const value: unknown = Reflect.get(target, member, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
