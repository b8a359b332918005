import type { EventEmitter } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { createServer as createTlsServer, Server as TlsServer } from 'node:tls';
import { Aedes, type AedesOptions, type Client } from 'aedes';
import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { describe, SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { sleep } from '#lib/wait.ts';
import { type BrokerAuth, type BrokerUser, brokerAuth, refusal } from './broker-auth.ts';
import { BrokerMemory } from './broker-memory.ts';
import type { CommandSender } from './commands.ts';
import { frameGuard } from './frame-guard.ts';
import { rootOf } from './table.ts';

export interface BrokerOptions {
  readonly slug: string;
  /** Port 0 takes any free one. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly users?: readonly BrokerUser[];
  /** With it the broker speaks TLS alone. Asked for anew twice a day, so that a certificate is replaced without a cut. */
  readonly tls?: (() => Promise<TlsMaterial>) | undefined;
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

const maxClients = 128;
const renewEveryMs = 12 * 3_600_000;
const handshakeMs = 10_000;
const packetBytes = 256 * 1024;
/** A client that has so much unread is cut: what waits for it must not hold up the others. */
const unreadBytes = 1024 * 1024;

export function createBroker(options: BrokerOptions): Broker {
  const { log } = options;
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
  let stopping = new AbortController();
  /** Bounded by `maxClients` and the daemon's own parts; also those that have not said who they are. */
  const sockets = new Set<Duplex>();
  let aedes: Aedes | undefined;
  let server: Server | undefined;
  let port = options.listen.port;
  let state: Health = { state: 'down', reason: 'the embedded MQTT broker has not started' };
  let retry: Promise<void> | undefined;
  let renewing: Promise<void> | undefined;

  /** Made once and kept over failed tries to listen. */
  async function createAedes(): Promise<Aedes> {
    const broker = await Aedes.createBroker(aedesOptions(root, auth, counters));
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
      guard(socket, counters);
      serve(broker, socket);
    };
    const next = await makeServer(options.tls, take);
    // Also those that never come to speak TLS.
    next.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    next.maxConnections = maxClients;
    next.on('drop', () => counters.refused.inc({ reason: 'too_many_clients' }));
    await listening(next, options.listen.host, port);
    server = next;
    const address = next.address();
    if (typeof address === 'object' && address !== null) port = address.port;
    state = ok({ listen: `${host.includes(':') ? `[${host}]` : host}:${port}` });
    log.info({ host, port }, 'embedded MQTT broker listens');
  }

  function serve(broker: Aedes, socket: Duplex): void {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    broker.handle(socket);
  }

  /** A certificate that cannot be renewed goes on being shown; it ends weeks later, and is told by then. */
  async function renew(tls: NonNullable<BrokerOptions['tls']>): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(options.renewEveryMs ?? renewEveryMs, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted || !(server instanceof TlsServer)) continue;
      try {
        server.setSecureContext({ ...(await tls()), minVersion: 'TLSv1.2' });
      } catch (error) {
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

interface Counters {
  readonly refused: Counter<'reason'>;
  readonly dropped: Counter<'reason'>;
}

function brokerCounters(metrics: Registry, clients: () => number): Counters {
  new Gauge({
    name: 'siteward_mqtt_broker_clients',
    help: 'Clients of the embedded MQTT broker.',
    registers: [metrics],
    collect() {
      this.set(clients());
    },
  });
  return {
    refused: new Counter({
      name: 'siteward_mqtt_broker_refused_total',
      help: 'What the embedded MQTT broker refused, by reason.',
      labelNames: ['reason'],
      registers: [metrics],
    }),
    dropped: new Counter({
      name: 'siteward_mqtt_broker_dropped_total',
      help: 'What the embedded MQTT broker dropped at a cap, by reason.',
      labelNames: ['reason'],
      registers: [metrics],
    }),
  };
}

function aedesOptions(root: string, auth: BrokerAuth, { refused, dropped }: Counters): AedesOptions {
  const deny = (reason: string) => {
    refused.inc({ reason });
    return new Error(reason);
  };
  const memory = new BrokerMemory({ dropped: (reason) => dropped.inc({ reason }) });
  return {
    persistence: memory,
    connectTimeout: 10_000,
    drainTimeout: 10_000,
    maxInflightInbound: 100,
    maxTopicLevels: 20,
    maxClientsIdLength: 64,
    authenticate(client, username, password, done) {
      const code = auth.admit(client, username, password);
      if (code === undefined) return done(null, true);
      refused.inc({ reason: 'login' });
      done(refusal(code), false);
    },
    // aedes can only cut a client that publishes what it may not (3.1.1 has no negative acknowledgement).
    authorizePublish(client, packet, done) {
      if (client === null || auth.accessOf(client)?.mayPublish(packet.topic) !== true) return done(deny('publish'));
      if (packet.topic.startsWith(`${root}/cmd/`) || packet.topic === `${root}/in/verification`) {
        // A stored command would be obeyed again after each start: it is taken once, live, and never kept.
        if (packet.retain && packet.payload.length > 0) refused.inc({ reason: 'retained_command' });
        packet.retain = false;
        auth.noteCommand(client, packet);
      }
      done(null);
    },
    authorizeSubscribe(client, subscription, done) {
      if (auth.accessOf(client)?.maySubscribe(subscription.topic) === true) return done(null, subscription);
      refused.inc({ reason: 'subscribe' });
      done(null, null);
    },
    authorizeForward(client, packet) {
      if (auth.accessOf(client)?.mayReceive(packet.topic) !== true) return null;
      // Retained topics are handed out one by one: what has changed meanwhile was sent live and must not come after it.
      if (packet.retain) return memory.isCurrent(packet) ? packet : null;
      return fits(client, dropped) ? packet : null;
    },
  };
}

/** Retained topics are paced by aedes itself; live ones would hold up everybody behind a client that does not read. */
function fits(client: Client, dropped: Counters['dropped']): boolean {
  if (client.conn.writableLength < unreadBytes) return true;
  dropped.inc({ reason: 'slow_client' });
  client.conn.destroy();
  return false;
}

async function makeServer(tls: BrokerOptions['tls'], take: (socket: Socket) => void): Promise<Server> {
  const sockets = { noDelay: true, highWaterMark: unreadBytes };
  if (tls === undefined) return createServer(sockets, take);
  const secure = { ...(await tls()), minVersion: 'TLSv1.2', handshakeTimeout: handshakeMs } as const;
  return createTlsServer({ ...sockets, ...secure }, take);
}

/** Sizes are checked on the way from the socket to aedes' parser, which has no cap of its own. */
function guard(socket: Socket, { refused }: Counters): void {
  const mayGoOn = frameGuard(packetBytes);
  const read = socket.read.bind(socket);
  socket.read = (size?: number) => {
    const chunk: Buffer | null = read(size);
    if (chunk === null || mayGoOn(chunk)) return chunk;
    refused.inc({ reason: 'packet_too_large' });
    socket.destroy();
    return null;
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function adviceOn(error: unknown): string {
  const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  return taken
    ? '. Another program has the port, often a mosquitto of the system: stop it, or set mqtt.broker to its address, or give mqtt.listen a free port'
    : '';
}

/** Two ends of one connection. The close of one closes the other, as with sockets. */
function linkedPair(): [Duplex, Duplex] {
  const [a, b] = duplexPair({ highWaterMark: unreadBytes });
  a.once('close', () => b.destroy());
  b.once('close', () => a.destroy());
  return [a, b];
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
