import { scryptSync } from 'node:crypto';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ErrorWithSubackPacket, type IClientOptions, MqttClient, connect as mqttConnect } from 'mqtt';
import { writeToStream } from 'mqtt-packet';
import { SitewardError } from '#errors.ts';
import type { Secret } from './secret.ts';

/** Where a broker is and who connects. */
export interface Connect {
  /** `mqtt://host:port` or `mqtts://host:port`, never with credentials in it. */
  readonly url: string;
  readonly username?: string;
  readonly password?: Secret;
  /** Certificate authority of the broker, PEM text. */
  readonly ca?: string;
  /** 4 is MQTT 3.1.1, which every broker speaks; what stands for its absence is the room's choice. */
  readonly protocolVersion?: 4 | 5;
  /**
   * The way to a broker that is known by more than its address, in place of a connection to `url`: called for each try,
   * rejects while the broker is not there.
   */
  readonly dial?: () => Promise<Duplex>;
}

/**
 * An id of siteward's own that only who has its password can name: a broker lets others, some brokers even strangers without a
 * name, take the place or the session of a client whose id they know. It is the same as long as the password is, so that two that
 * run as one site still find out. Without a password it is `name`.
 */
export function ownClientId({ password }: Connect, name: string): string {
  if (password === undefined) return name;
  return `${name}-${scryptSync(password.reveal(), name, 4, { N: 4096 }).toString('hex')}`;
}

/** A new client. Handlers set right behind the await miss nothing. Rejects where the address or `dial` allows no try. */
export async function openClient({ url, dial }: Connect, options: IClientOptions): Promise<MqttClient> {
  spareMemory();
  const stream = await dial?.();
  const client =
    stream === undefined ? mqttConnect({ ...options, ...placeOf(url) }) : new MqttClient(() => stream, options);
  sendAtOnce(client);
  return client;
}

/** Of one slab from which Node cuts small buffers, bytes. */
const slabBytes = 2048;

/**
 * Before its first packet the library makes every number from 0 to 65535 as bytes, for all clients and the broker: 8 MiB, and 40 ms in which nothing
 * else runs. Without them each packet makes its own two bytes. Of each length of a packet it keeps four bytes for good, and with them the
 * slab they were cut from: with the 64 KiB of Node that was 22 MiB after four minutes of a busy site, and could come to 1 GiB.
 */
export function spareMemory(): void {
  writeToStream.cacheNumbers = false;
  Buffer.poolSize = slabBytes;
}

/** Taken apart here: the library does it by a function that Node warns of, on the error output of whoever calls. */
function placeOf(url: string): Pick<IClientOptions, 'protocol' | 'host' | 'port'> {
  const { protocol, hostname, port } = new URL(url);
  return {
    protocol: protocol === 'mqtts:' ? 'mqtts' : 'mqtt',
    host: hostname.replace(/^\[|\]$/g, ''),
    ...(port !== '' && { port: Number(port) }),
  };
}

/**
 * What every connection of siteward has in common. The library's own reconnect, resubscribe and queue are off: each
 * connection is a new client, so that nothing an old one holds is ever sent again.
 */
export function clientOptions({ username, password, ca }: Connect): IClientOptions {
  return {
    keepalive: 30,
    connectTimeout: 10_000,
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password: password.reveal() }),
    ...(ca !== undefined && { ca }),
  };
}

/** Subscribes with QoS 1. Throws `mqtt_unreachable` when the broker refuses a filter (SUBACK 128 and above). */
export async function subscribe(client: MqttClient, filters: readonly string[]): Promise<void> {
  try {
    await client.subscribeAsync([...filters], { qos: 1 });
  } catch (error) {
    if (!(error instanceof ErrorWithSubackPacket)) throw error;
    const codes: readonly unknown[] = error.packet.granted;
    const filter = filters.find((_, i) => Number(codes[i]) >= 128) ?? filters.join(', ');
    const message = `the broker refused the subscription to ${filter}; check its access rules for siteward`;
    throw new SitewardError('mqtt_unreachable', message, { facts: { filter } });
  }
}

/**
 * Lets small messages of an MQTT client leave at once. The library leaves Nagle's algorithm on, so that a message
 * behind one the other side has not acknowledged yet waits about 40 ms.
 */
export function sendAtOnce(client: { readonly stream: unknown }): void {
  if (client.stream instanceof Socket) client.stream.setNoDelay(true);
}
