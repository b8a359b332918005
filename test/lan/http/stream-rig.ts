import { once } from 'node:events';
import { type ClientRequest, createServer, type IncomingMessage, request } from 'node:http';
import { request as overTls } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { type By, type Caller, denial, type Scope } from '#lan/access/index.ts';
import { lanApp } from '#lan/http/app.ts';
import { type FakeLiveSource, fakeLiveSource } from '#lan/http/live.fake.ts';
import { createLive, type Live } from '#lan/http/live.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import type { LanPort } from '#lan/http/port.ts';
import type { StreamLimits } from '#lan/http/stream-client.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { eventually } from '#sandbox/demo/processes.ts';

export interface Message {
  readonly event?: string;
  readonly id?: string;
  readonly data?: unknown;
  readonly retry?: string;
}

/** A stream as a client reads it from its socket. */
export interface Listening {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** All that came, pings left out. */
  readonly messages: Message[];
  readonly pings: () => number;
  readonly text: () => string;
  readonly ended: () => boolean;
  /** Names and numbers, without the first message. */
  readonly told: () => string[];
  /** Resolves when the nth message of a name is there. */
  until(event: string, nth?: number): Promise<Message>;
  close(): void;
}

export function parse(text: string): Message[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((block) => {
      const fields = Object.fromEntries(
        block.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
      );
      return { ...fields, ...(fields.data !== undefined && { data: JSON.parse(fields.data) }) };
    });
}

/** Opens a stream; resolves with the head of the answer. */
export async function listen(options: {
  /** With `ca` over TLS. */
  readonly at: { readonly port: number; readonly ca?: string } | { readonly socketPath: string };
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}): Promise<Listening> {
  const ask = 'ca' in options.at ? overTls : request;
  const call: ClientRequest = ask({
    ...options.at,
    ...{ host: '127.0.0.1', servername: 'localhost' },
    path: options.path ?? '/api/v1/stream',
    headers: { ...options.headers },
    agent: false,
  });
  call.on('error', () => undefined);
  call.end();
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  let text = '';
  let isEnded = false;
  answer.setEncoding('utf8');
  answer.on('data', (piece) => {
    text += piece;
  });
  answer.on('close', () => {
    isEnded = true;
  });
  answer.on('error', () => undefined);
  const all = () => parse(text);
  const listening: Listening = {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    get messages() {
      return all().filter(({ event }) => event !== 'ping');
    },
    pings: () => all().filter(({ event }) => event === 'ping').length,
    text: () => text,
    ended: () => isEnded,
    told: () => listening.messages.slice(1).map(({ event, id }) => (id === undefined ? `${event}` : `${event} ${id}`)),
    until: (event, nth = 1) =>
      eventually(`message ${nth} ${event}, got ${text.slice(0, 500)}`, () =>
        listening.messages.filter((one) => one.event === event).at(nth - 1),
      ),
    close: () => call.destroy(),
  };
  return listening;
}

/** The LAN API with its streams on a real socket; `x-who` says as which key (`k...`), or owner, a request comes. */
export async function startStreams(
  options: {
    readonly limits?: StreamLimits;
    readonly pingEveryMs?: number;
    readonly port?: Partial<LanPort>;
    readonly scopes?: Readonly<Record<string, readonly Scope[]>>;
  } = {},
) {
  const source: FakeLiveSource = fakeLiveSource();
  const metrics = new Registry();
  const { limits, pingEveryMs } = options;
  const live: Live = createLive({
    ...{ source, metrics, clock: manualClock(), log: pino({ level: 'silent' }) },
    ...(limits !== undefined && { limits }),
    ...(pingEveryMs !== undefined && { pingEveryMs }),
  });
  const gone = new Set<string>();
  const callerOf = (who: string): Caller =>
    who.startsWith('k')
      ? { kind: 'key', id: who, scopes: options.scopes?.[who] ?? ['state', 'events', 'audio'], role: 'owner' }
      : { kind: 'person', id: who, role: 'owner', session: `of ${who}`, mustChange: false };
  const mayStay = (caller: Caller) => caller.kind === 'key' && !gone.has(caller.id);
  const access = { mayStay } as unknown as ReturnType<LanPort['access']>;
  const app = lanApp(fakeLanPort(0, { live: () => live, access: () => access, ...options.port }), {
    log: pino({ level: 'silent' }),
    identify: (operation, context): By | { status: number } => {
      const caller = callerOf(context.req.header('x-who') ?? 'k1');
      if (denial(caller, operation.id) !== undefined) return { status: 403 };
      return { caller, from: { address: '127.0.0.1' } };
    },
  });
  const server = createServer(
    getRequestListener((call, connection) => app.fetch(call, connection), { overrideGlobalObjects: false }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    ...{ source, live, port, server, metrics, gone },
    listen: (path = '/api/v1/stream', headers: Record<string, string> = {}) => listen({ at: { port }, path, headers }),
    /** Keeps an event and publishes it, as the controller does. */
    happens(event: FakeLiveSource['kept'][number]) {
      source.kept.push(event);
      live.publishEvent(event);
    },
    async figure(name: string): Promise<number> {
      const line = (await metrics.metrics()).split('\n').find((one) => one.startsWith(`${name} `));
      return Number(line?.split(' ').at(-1) ?? Number.NaN);
    },
    async close() {
      await live.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
export type Streams = Awaited<ReturnType<typeof startStreams>>;
