import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import type { z } from 'zod';
import { type Dealer, type Site, serverDialectOptions } from '#cloud/contract/index.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import { partnerError } from './answers.ts';
import { buildApp } from './app.ts';
import type { FaultInput } from './faults.ts';
import { withFault } from './inject.ts';
import { loadDealers } from './load-seed.ts';
import type { Exchange } from './resource.ts';
import type { SeedDealer } from './seed.ts';
import { CloudState } from './state.ts';
import { readStateFile, StateFile } from './state-file.ts';
import { anyClient } from './tokens.ts';
import type { AssertionRules, CloudClient, LogLine, StoredEvent, StoredUpload } from './types.ts';
import { idOf } from './uploads.ts';
import { dealerOf, siteOf } from './world/answers.ts';

type ServerDialectInput = z.input<typeof serverDialectOptions>;

export interface CloudOptions {
  /** Port 0 takes a free one. Plain HTTP belongs on loopback only. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Address that clients reach it under, without a trailing slash; default is where it listens. */
  readonly publicUrl?: string;
  readonly clients: readonly CloudClient[];
  /** Serves `/__sandbox/*` to loopback peers. */
  readonly control?: boolean;
  readonly clock?: Clock;
  readonly log?: (line: LogLine) => void;
  readonly assertion?: Partial<AssertionRules>;
  /** Life of access tokens, seconds; default 3600 (S-035). */
  readonly tokenLifeS?: number;
  /** Choices for what the specification leaves open; the rest at their defaults. */
  readonly dialect?: ServerDialectInput;
  /** Dealers and what is below them; a state file that exists already wins over them. */
  readonly dealers?: readonly SeedDealer[];
  /** Keeps dealers and everything below over restarts; in memory only when absent. */
  readonly stateFile?: string;
  /** Told when a write of the state file fails; the service goes on. */
  readonly stateFailed?: (error: unknown) => void;
}

export interface SandboxCloud {
  /** Base address, token server address and accepted audience, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  events(): StoredEvent[];
  uploads(): StoredUpload[];
  /** The bytes of an upload, while they are kept. */
  content(uploadId: string): Uint8Array | undefined;
  log(): LogLine[];
  addClient(client: CloudClient): void;
  plant(fault: FaultInput): void;
  clearFaults(): void;
  revoke(): void;
  setClockOffset(seconds: number): void;
  reset(): void;
  dealers(): Dealer[];
  sites(): Site[];
  /**
   * A token that outlives a reset, of the given text or a new one: tied to a user of a dealer, or for every dealer there
   * will be. Seconds.
   */
  issueToken(
    kind: 'user' | 'partner' | 'api_key',
    options: { dealer?: number; lifetimeS: number; token?: string },
  ): string;
  /** Ends every connection and every planted wait, and writes the state file. */
  close(): Promise<void>;
}

/** Starts the reference server. Throws what listening throws, and `config_invalid` for an unusable client key. */
export async function startCloud(options: CloudOptions): Promise<SandboxCloud> {
  const stop = new AbortController();
  const live: { listener?: RequestListener } = {};
  // The address is needed for the audience and the upload addresses, so the state is made once the port is known.
  const server = createNodeServer(options, (incoming, outgoing) => live.listener?.(incoming, outgoing));
  const port = await listen(server, options.listen);
  const host = options.listen.host.includes(':') ? `[${options.listen.host}]` : options.listen.host;
  const url = options.publicUrl ?? `${options.tls === undefined ? 'http' : 'https'}://${host}:${port}`;
  const parts: { file: StateFile | undefined } = { file: undefined };
  const close = async () => {
    await closeServer(server, stop);
    await parts.file?.close();
  };
  try {
    const state = new CloudState({
      clock: options.clock ?? systemClock(),
      publicUrl: url,
      assertionRules: { audience: url, toleranceS: 30, maxLifetimeS: 3600, audArray: true, ...options.assertion },
      tokenLifeS: options.tokenLifeS ?? 3600,
      clients: options.clients,
      dialect: serverDialectOptions.parse(options.dialect ?? {}),
    });
    parts.file = await fillWorld(state, options);
    const app = buildApp(state, { control: options.control === true });
    live.listener = requestListener({ app, state, stop: stop.signal, log: options.log });
    return { url, port, close, ...handle(state) };
  } catch (error) {
    await closeServer(server, stop);
    throw error;
  }
}

/** From the state file when there is one, otherwise from the described dealers, which a reset goes back to. */
async function fillWorld(state: CloudState, options: CloudOptions): Promise<StateFile | undefined> {
  const { stateFile, dealers = [] } = options;
  const kept = stateFile === undefined ? undefined : await readStateFile(stateFile);
  loadDealers(state.world, dealers, { at: state.time(), securityType: state.dialect.security_type });
  state.keepAsStart();
  if (kept !== undefined) state.world.restore(kept);
  if (stateFile === undefined) return undefined;
  const file = new StateFile(stateFile, state.world, options.stateFailed ?? (() => undefined));
  // At once, so that a place that cannot be written is known at the start.
  await file.flush();
  return file;
}

function handle(state: CloudState): Omit<SandboxCloud, 'url' | 'port' | 'close'> {
  return {
    events: () => state.events.list(),
    uploads: () => state.uploads.list(),
    content: (id) => state.uploads.find(id)?.content,
    log: () => state.log(),
    addClient: (client) => state.clients.add(client),
    plant: (fault) => void state.faults.plant(fault),
    clearFaults: () => void state.faults.clear(),
    revoke: () => void state.tokens.revokeAll(),
    setClockOffset: (seconds) => state.setClockOffset(seconds),
    reset: () => state.reset(),
    dealers: () => state.world.dealers.all().map(dealerOf),
    sites: () => state.world.sites.all().map((row) => siteOf(state.world, row, state.dialect.site_time_style)),
    issueToken: (kind, { dealer, lifetimeS, token }) => {
      const dealers = dealer === undefined ? undefined : [dealer];
      const grant = { capability: kind, clientId: anyClient, mayIngest: false, dealers };
      return state.tokens.issue(grant, state.now(), lifetimeS, { standing: true, token });
    },
  };
}

interface ListenerOptions {
  readonly app: Hono;
  readonly state: CloudState;
  readonly stop: AbortSignal;
  readonly log: ((line: LogLine) => void) | undefined;
}

interface Bindings {
  readonly incoming: IncomingMessage;
  readonly outgoing: unknown;
}

function requestListener(options: ListenerOptions): RequestListener {
  const listener = getRequestListener((request, env) => answer(request, env as Bindings, options), {
    overrideGlobalObjects: false,
    hostname: 'localhost',
    // A request line or Host header that makes no address.
    errorHandler: () => jsonResponse(400, 'the request line or the Host header is not valid'),
  });
  return (incoming, outgoing) => void listener(incoming, outgoing);
}

/** One request from arrival to log line: fault, service, common headers. */
async function answer(request: Request, env: Bindings, options: ListenerOptions): Promise<Response> {
  const { app, state, stop } = options;
  const startedAt = state.monotonic();
  const { socket } = env.incoming;
  const { pathname: path, search } = new URL(request.url);
  const arrivedMs = state.machineTime();
  const exchange: Exchange = { requestId: randomUUID(), arrivedMs, remoteAddress: socket.remoteAddress, search };
  const traceId = uuidIn(env.incoming.headers['x-partner-trace-id']);
  const serve = async () => app.fetch(request, { ...env, exchange });
  const fault = path.startsWith('/__sandbox') ? undefined : state.faults.take(request.method, path);
  const response = await (fault === undefined ? serve() : withFault(fault, { serve, socket, stop }));
  const lost = socket.destroyed;
  const note = exchange.note ?? (await reasonIn(response));
  const line: LogLine = {
    at: new Date(state.now()).toISOString(),
    requestId: exchange.requestId,
    method: request.method,
    path: redact(path),
    status: lost ? null : response.status,
    ms: Math.round((state.monotonic() - startedAt) * 10) / 10,
    ...(exchange.client === undefined ? {} : { client: exchange.client }),
    ...(traceId === undefined ? {} : { traceId }),
    ...(fault === undefined ? {} : { fault: `${fault.mode} ${fault.when}` }),
    ...(note === undefined ? {} : { note }),
  };
  if (!path.startsWith('/__sandbox')) {
    state.record(line);
    options.log?.(line);
  }
  return lost ? response : withCommonHeaders(response, exchange.requestId, traceId, state.now());
}

/** S-003, S-020. `Date` tells the service's own time, so that a client can learn its clock's offset. */
function withCommonHeaders(response: Response, requestId: string, traceId: string | undefined, now: number): Response {
  const headers = new Headers(response.headers);
  headers.set('date', new Date(now).toUTCString());
  headers.set('x-request-id', requestId);
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store');
  if (traceId !== undefined) headers.set('x-partner-trace-id', traceId);
  return new Response(response.body, { status: response.status, headers });
}

async function reasonIn(response: Response): Promise<string | undefined> {
  if (response.status < 400) return undefined;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  if (typeof body !== 'object' || body === null) return undefined;
  if ('error_description' in body) return String(body.error_description);
  return 'message' in body ? String(body.message) : undefined;
}

const uuidIn = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(header) ? header : undefined;

/** The token in an upload path opens it: the log shows its public name instead. */
const redact = (path: string): string =>
  path
    .replace(/^(\/uploads\/\w+\/)([^/]+)/, (_, folder: string, token: string) => `${folder}${idOf(token)}`)
    .slice(0, 300);

const jsonResponse = (status: number, message: string): Response =>
  Response.json(partnerError(status, message).body, { status });

function createNodeServer(options: CloudOptions, listener: RequestListener): Server {
  const common = { requireHostHeader: false, requestTimeout: 60_000, headersTimeout: 15_000, maxHeaderSize: 16 * 1024 };
  const server =
    options.tls === undefined
      ? createServer(common, listener)
      : createTlsServer({ ...common, cert: options.tls.cert, key: options.tls.key }, listener);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    refuseRaw(socket, error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400, 'this is not a readable HTTP request');
  });
  server.on('connect', (_, socket) => refuseRaw(socket as Socket, 405, 'CONNECT is not served here'));
  // Without this Node answers an unknown Expect with an empty 417 of its own.
  server.on('checkExpectation', listener);
  return server;
}

/** An answer for what never became a request: JSON, as everything here. */
function refuseRaw(socket: Socket, status: number, message: string): void {
  if (!socket.writable) return void socket.destroy();
  const body = JSON.stringify(partnerError(status, message).body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

function listen(server: Server, at: CloudOptions['listen']): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

async function closeServer(server: Server, stop: AbortController): Promise<void> {
  stop.abort();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
