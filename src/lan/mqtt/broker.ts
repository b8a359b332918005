import type { EventEmitter } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { createServer as createTlsServer, Server as TlsServer } from 'node:tls';
import { Aedes } from 'aedes';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { describe, SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { isLoopback } from '#lib/host.ts';
import { listening } from '#lib/listening.ts';
import { spareMemory } from '#lib/mqtt.ts';
import { systemCode } from '#lib/system-code.ts';
import { sleep } from '#lib/wait.ts';
import { type BrokerUser, brokerAuth, maxClients } from './broker-auth.ts';
import { createDoor, guard, silentCap } from './broker-door.ts';
import { inTurns, neverAtOnce } from './broker-pace.ts';
import { aedesOptions, brokerCounters, bufferBytes } from './broker-rules.ts';
import type { CommandSender } from './parse.ts';
import { rootOf } from './table.ts';

export interface BrokerOptions {
  readonly slug: string;
  /** Port 0 takes any free one. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly users?: readonly BrokerUser[];
  /** With it the broker speaks TLS alone. Asked for anew twice a day, so that a certificate is replaced without a cut. */
  readonly tls?: ((signal: AbortSignal) => Promise<TlsMaterial>) | undefined;
  readonly renewEveryMs?: number;
  /** The prefix of Home Assistant's discovery topics, where it is configured. */
  readonly discovery?: string | undefined;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** Certificate and key, PEM. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
}

/** The embedded broker: MQTT 3.1.1 only, memory only, for sites without mosquitto. */
export interface Broker extends Part {
  /** Where clients on this machine connect; loopback where the broker listens on every address. */
  url(): string;
  port(): number;
  /**
   * A connection of siteward's own, inside the process: no other program can stand at its end, whoever has the port, and it
   * takes none of the places of the LAN's clients. Rejects with `mqtt_unreachable` while the broker does not listen.
   */
  dial(): Promise<Duplex>;
  senderOf(topic: string, payload: Uint8Array): CommandSender | undefined;
}

const renewEveryMs = 12 * 3_600_000;
const handshakeMs = 10_000;

export function createBroker(options: BrokerOptions): Broker {
  const { log } = options;
  spareMemory();
  const root = rootOf(options.slug);
  const { host } = options.listen;
  const own = new WeakSet<object>();
  const auth = brokerAuth({
    root,
    users: options.users ?? [],
    discovery: options.discovery,
    anonymous: isLoopback(host),
    isOwn: ({ conn }) => own.has(conn),
  });
  const counters = brokerCounters(options.metrics, () => aedes?.connectedClients ?? 0);
  const door = createDoor((reason) => counters.refused.inc({ reason }));
  let stopping = new AbortController();
  /** Bounded by the server's `maxConnections` and the daemon's own parts. */
  const sockets = new Set<Duplex>();
  let aedes: Aedes | undefined;
  let server: Server | undefined;
  let port = options.listen.port;
  let state: Health = { state: 'down', reason: 'the embedded MQTT broker has not started' };
  let retry: Promise<void> | undefined;
  let renewing: Promise<void> | undefined;

  /** Made once and kept over failed tries to listen. */
  async function createAedes(): Promise<Aedes> {
    const broker = await Aedes.createBroker(
      aedesOptions({ root, auth, counters, onKnown: ({ conn }) => door.known(conn) }),
    );
    broker.on('unsubscribe', (filters, client) => auth.letGo(client, filters));
    neverAtOnce(broker);
    broker.on('clientError', (client, error) =>
      log.debug({ client: client.id, reason: error.message }, 'MQTT client cut'),
    );
    broker.on('connectionError', (_client, error) => log.debug({ reason: error.message }, 'MQTT connection cut'));
    // The typings leave `error` out; unheard, it would end the process.
    (broker as EventEmitter).on('error', (error: unknown) =>
      log.error({ reason: describe(error) }, 'MQTT broker error'),
    );
    return broker;
  }

  async function open(): Promise<void> {
    aedes ??= await createAedes();
    const broker = aedes;
    const take = (socket: Socket) => {
      guard(socket, (reason) => counters.refused.inc({ reason }));
      serve(broker, socket);
    };
    const next = await makeServer(options.tls, take, stopping.signal);
    // Also those that never come to speak TLS.
    next.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      door.take(socket);
    });
    next.maxConnections = maxClients + silentCap;
    next.on('drop', () => counters.refused.inc({ reason: 'too_many_clients' }));
    await listening(next, { host: options.listen.host, port });
    server = next;
    const address = next.address();
    if (typeof address === 'object' && address !== null) port = address.port;
    state = ok({ listen: `${host.includes(':') ? `[${host}]` : host}:${port}` });
    log.info({ host, port }, 'embedded MQTT broker listens');
  }

  function serve(broker: Aedes, socket: Duplex): void {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    const client = broker.handle(socket);
    inTurns(socket, client);
  }

  /** A certificate that cannot be renewed goes on being shown; it ends weeks later, and is told by then. */
  async function renew(tls: NonNullable<BrokerOptions['tls']>): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(options.renewEveryMs ?? renewEveryMs, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted || !(server instanceof TlsServer)) continue;
      try {
        server.setSecureContext({ ...(await tls(stopping.signal)), minVersion: 'TLSv1.2' });
      } catch (error) {
        if (stopping.signal.aborted) return;
        log.warn({ reason: describe(error) }, 'the certificate of the embedded MQTT broker was not renewed');
      }
    }
  }

  async function openLater(): Promise<void> {
    const wait = backoff({ baseMs: 1000, capMs: 30_000 });
    while (!stopping.signal.aborted && server === undefined) {
      await sleep(wait.next(), stopping.signal).catch(() => undefined);
      if (!stopping.signal.aborted) await tryOpen();
    }
  }

  async function tryOpen(): Promise<void> {
    try {
      await open();
    } catch (error) {
      const reason = `the embedded MQTT broker cannot listen on ${host}:${port}: ${describe(error)}${adviceOn(error)}`;
      state = { state: 'down', reason };
      log.warn({ reason }, 'embedded MQTT broker does not listen; trying again');
    }
  }

  return {
    name: 'broker',
    senderOf: auth.senderOf,
    async dial() {
      if (aedes === undefined || server === undefined)
        throw new SitewardError('mqtt_unreachable', state.reason ?? 'the embedded MQTT broker does not listen');
      const [theirs, ours] = linkedPair();
      own.add(ours);
      serve(aedes, ours);
      return theirs;
    },
    port: () => port,
    url: () => `mqtt${options.tls === undefined ? '' : 's'}://${reachable(host)}:${port}`,
    async start(signal) {
      signal.throwIfAborted();
      if (server !== undefined || retry !== undefined) return;
      stopping = new AbortController();
      await tryOpen();
      if (server === undefined) retry = openLater();
      if (options.tls !== undefined) renewing ??= renew(options.tls);
    },
    async stop() {
      stopping.abort();
      await Promise.all([retry, renewing]);
      retry = undefined;
      renewing = undefined;
      const [listener, broker] = [server, aedes];
      server = undefined;
      aedes = undefined;
      const closed = new Promise<void>((resolve) => {
        if (listener === undefined) resolve();
        else listener.close(() => resolve());
      });
      if (broker !== undefined) await new Promise<void>((resolve) => broker.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
      state = { state: 'down', reason: 'the embedded MQTT broker was stopped' };
    },
    health: () => state,
  };
}

async function makeServer(
  tls: BrokerOptions['tls'],
  take: (socket: Socket) => void,
  signal: AbortSignal,
): Promise<Server> {
  const sockets = { noDelay: true, highWaterMark: bufferBytes };
  if (tls === undefined) return createServer(sockets, take);
  const secure = { ...(await tls(signal)), minVersion: 'TLSv1.2', handshakeTimeout: handshakeMs } as const;
  return createTlsServer({ ...sockets, ...secure }, take);
}

function adviceOn(error: unknown): string {
  const taken = systemCode(error) === 'EADDRINUSE';
  return taken
    ? '. Another program has the port, often a mosquitto of the system: stop it, or set mqtt.broker to its address, or give mqtt.listen a free port'
    : '';
}

/** Two ends of one connection. The close of one closes the other, as with sockets. */
function linkedPair(): [Duplex, Duplex] {
  const [a, b] = duplexPair({ highWaterMark: bufferBytes });
  a.once('close', () => b.destroy());
  b.once('close', () => a.destroy());
  return [a, b];
}

function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
