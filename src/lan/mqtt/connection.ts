import { TLSSocket } from 'node:tls';
import type { IClientOptions, IPublishPacket, MqttClient } from 'mqtt';
import type { Logger } from 'pino';
import { describe, SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import type { Health } from '#lib/health.ts';
import { type Connect, clientOptions, openClient, subscribe } from '#lib/mqtt.ts';
import { sleep } from '#lib/wait.ts';
import type { Session } from './publisher.ts';

export interface LiveSession extends Session {
  subscribe(filters: readonly string[]): Promise<void>;
  unsubscribe(filters: readonly string[]): Promise<void>;
}

export interface ConnectionOptions {
  readonly connect: Connect;
  readonly clientId: string;
  /** The id without what is made of the password. */
  readonly name: string;
  readonly will: { readonly topic: string; readonly payload: string };
  /** Called with every new connection before anything is sent. When it rejects, the connection is closed. */
  readonly onOpen: (session: LiveSession) => Promise<void>;
  readonly onClose: () => void;
  /** The connection stands, or there is none: told once per change. */
  readonly onLink?: ((up: boolean, reason?: string) => void) | undefined;
  /** When the certificate ends that the broker has shown, wall clock milliseconds, if any; told anew on `reviewCertificate`. */
  readonly onCertificate?: ((endsAt: number | undefined) => void) | undefined;
  readonly onMessage: (packet: IPublishPacket) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Connection {
  /** Runs until the signal aborts: connects, serves, connects anew. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  health(): Health;
  /** Time has passed: the certificate of the broker, where it showed one, may be near its end. */
  reviewCertificate(): void;
}

/**
 * So many connections lost within this time mean that another client has our id: two, or where MQTT 5 could have said so and did not, as
 * by mosquitto 2.0, four: a broker may have been restarted as well.
 */
const clashWindowMs = 10_000;
const clashLosses = { told: 2, untold: 4 } as const;
const clashPauseMs = 30_000;
const sessionTakenOver = 142;

/**
 * One MQTT client per connection, so that no queue, subscription or message in flight of an old one can reach a new
 * one (the library's own reconnect keeps all three).
 */
export function createConnection(options: ConnectionOptions): Connection {
  const { clock, log, connect } = options;
  const wait = backoff({ baseMs: 500, capMs: 30_000, jitter: 'full' });
  let protocol: 4 | 5 = connect.protocolVersion ?? 5;
  let state: Health = { state: 'down', reason: 'the MQTT client has not started' };
  let told: boolean | undefined;
  let lost: number[] = [];
  let kicked = false;
  let stood = false;
  /** It was not this side that ended it. */
  let wasCut = false;
  let enough: number = clashLosses.told;
  /** Null until a connection stood. */
  let certificateEnd: number | undefined | null = null;

  function reviewCertificate(): void {
    if (certificateEnd !== null) options.onCertificate?.(certificateEnd);
  }

  function tell(next: Health): void {
    const [was, is] = [told, next.state === 'ok'];
    state = next;
    told = is;
    if (was !== is) options.onLink?.(is, next.reason);
  }

  async function serve(signal: AbortSignal): Promise<void> {
    const client = await openClient(connect, optionsOf(options, protocol));
    // Before the first byte: nothing can arrive unheard.
    client.on('message', (topic, _payload, packet) => options.onMessage({ ...packet, topic }));
    client.on('disconnect', (packet) => {
      kicked = packet.reasonCode === sessionTakenOver;
      enough = clashLosses.told;
    });
    // Any loss may be a takeover, unless a reason says otherwise.
    kicked = true;
    enough = protocol === 4 ? clashLosses.told : clashLosses.untold;
    stood = false;
    try {
      await connected(client, signal);
      stood = true;
      certificateEnd = endOfCertificate(client.stream);
      reviewCertificate();
      const closed = whenClosed(client, signal);
      await Promise.race([options.onOpen(sessionOf(client, protocol)), closed]);
      if (client.connected) {
        tell({ state: 'ok' });
        wait.reset();
      }
      await closed;
    } finally {
      wasCut = !client.connected;
      options.onClose();
      await end(client, signal.aborted);
    }
  }

  /** True when so many connections were lost so soon that two clients of one id must be at work. */
  function clashes(): boolean {
    const now = clock.monotonic();
    lost = [...lost, now].filter((at) => now - at < clashWindowMs).slice(-clashLosses.untold);
    return lost.length >= enough;
  }

  async function afterLoss(signal: AbortSignal): Promise<void> {
    if (kicked && clashes()) {
      const reason = `another client uses the MQTT client id of ${options.name}; stop it or give this site its own slug`;
      tell({ state: 'degraded', reason, facts: { trouble: 'mqtt_client_id_clash' } });
      log.warn({ name: options.name }, 'MQTT client id clash');
      lost = [];
      return sleep(clashPauseMs, signal);
    }
    tell({ state: 'down', reason: 'the connection to the MQTT broker was lost; trying again' });
    await sleep(wait.next(), signal);
  }

  async function once(signal: AbortSignal): Promise<void> {
    try {
      await serve(signal);
      log.info('MQTT connection lost');
      await afterLoss(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (protocol === 5 && connect.protocolVersion === undefined && refusesVersion(error)) {
        protocol = 4;
        return;
      }
      // A rival may come while the state is still being told; 3.1.1 cannot tell that from a broker that goes.
      if (stood && wasCut && kicked && protocol === 5) {
        log.info({ reason: describe(error) }, 'MQTT connection lost');
        return afterLoss(signal);
      }
      // Nobody answers: that was a broker going down, not a rival.
      lost = [];
      tell({ state: 'down', reason: describe(error) });
      log.info({ reason: describe(error) }, 'no MQTT connection');
      await sleep(wait.next(), signal);
    }
  }

  return {
    async run(signal) {
      while (!signal.aborted) await once(signal).catch(() => undefined);
      state = { state: 'down', reason: 'the MQTT client was stopped' };
    },
    health: () => state,
    reviewCertificate,
  };
}

function endOfCertificate(stream: unknown): number | undefined {
  if (!(stream instanceof TLSSocket)) return undefined;
  return stream.getPeerX509Certificate()?.validToDate.getTime();
}

/** As much as the brokers of siteward's own making take: what is larger than a command may be is answered as such. */
const largestPacket = 1024 * 1024;

function optionsOf({ connect, will, clientId }: ConnectionOptions, protocol: 4 | 5): IClientOptions {
  return {
    ...clientOptions(connect),
    clientId,
    protocolVersion: protocol,
    clean: true,
    will: {
      topic: will.topic,
      payload: Buffer.from(will.payload),
      qos: 1,
      retain: true,
      ...(protocol === 5 ? { properties: { willDelayInterval: 10 } } : {}),
    },
    // The session outlives the connection only for the delayed will; the next connection starts clean.
    ...(protocol === 5 ? { properties: { sessionExpiryInterval: 15, maximumPacketSize: largestPacket } } : {}),
  };
}

function connected(client: MqttClient, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    const settle = (run: () => void) => () => {
      signal.removeEventListener('abort', abort);
      run();
    };
    let cause: unknown;
    client.on('error', (error) => {
      cause = error;
    });
    client.once('connect', settle(resolve));
    client.once(
      'close',
      settle(() =>
        reject(
          new SitewardError('mqtt_unreachable', 'no connection to the MQTT broker', { cause, facts: codeOf(cause) }),
        ),
      ),
    );
  });
}

const codeOf = (cause: unknown) =>
  cause instanceof Error && 'code' in cause && typeof cause.code === 'number' ? { returnCode: cause.code } : {};

/** CONNACK 1 (3.1.1 brokers) and 132 (5): unsupported protocol version. */
function refusesVersion(error: unknown): boolean {
  return error instanceof SitewardError && (error.facts.returnCode === 1 || error.facts.returnCode === 132);
}

function whenClosed(client: MqttClient, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    client.once('close', () => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
  });
}

function sessionOf(client: MqttClient, protocol: 4 | 5): LiveSession {
  return {
    protocol,
    async publish(topic, payload, options) {
      if (!client.connected) throw new SitewardError('mqtt_unreachable', 'the MQTT connection is closed');
      await client.publishAsync(topic, payload, options);
    },
    subscribe: (filters) => subscribe(client, filters),
    async unsubscribe(filters) {
      await client.unsubscribeAsync([...filters]);
    },
  };
}

/** A graceful end sends DISCONNECT, so that the will is not published; a broken connection is cut. */
function end(client: MqttClient, graceful: boolean): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      client.stream?.destroy();
      resolve();
    }, 500);
    client.end(!graceful, () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
