import type { IClientOptions, IPublishPacket, MqttClient } from 'mqtt';
import { describe } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { type Connect, clientOptions, openClient } from '#lib/mqtt.ts';
import { sleep } from '#lib/wait.ts';
import { createAcks } from './acks.ts';
import { watchQueue } from './queue-watch.ts';

export interface LineOptions {
  readonly connect: Connect;
  readonly clientId: string;
  /** A persistent session is `false`: the broker keeps what came while we were away. */
  readonly clean: boolean;
  readonly clock: Clock;
  /** Connected. May subscribe; a rejection ends the connection and it is tried again. */
  readonly up: (client: MqttClient) => Promise<void>;
  /** Not connected any more, or could not connect; called once per try. */
  readonly down: (reason: string) => void;
  /** The work for one message; undefined when there is none to wait for. `waited`: it may have come while we were away. */
  readonly message?: (packet: IPublishPacket, waited: boolean) => Promise<void> | undefined;
}

/** Unfinished messages beyond which nothing more is read from the broker. Mosquitto sends at most 20 by itself. */
const unfinishedLimit = 64;
/** A connection that lived longer than this was a good one (milliseconds). */
const settledMs = 10_000;

/**
 * Keeps one connection to the broker until `signal` aborts. Each try is a new client, so that nothing a client still
 * holds (an unacknowledged command) is ever sent again on a later connection.
 */
export async function keepLine(options: LineOptions, signal: AbortSignal): Promise<void> {
  const wait = backoff({ baseMs: 250, capMs: 10_000 });
  let short = 0;
  while (!signal.aborted) {
    const outcome = await oneConnection(options, signal);
    if (signal.aborted) return;
    short = outcome.connectedMs === undefined || outcome.connectedMs > settledMs ? 0 : short + 1;
    if (outcome.connectedMs !== undefined && outcome.connectedMs > settledMs) wait.reset();
    // The broker ends the older of two connections with one id; seen from inside that is a row of short lives.
    const clash = short >= 3 ? `; another client may use the id ${options.clientId}` : '';
    options.down(`${outcome.reason}${clash}`);
    await sleep(wait.next(), signal).catch(() => {});
  }
}

interface Outcome {
  readonly reason: string;
  readonly connectedMs?: number;
}

/** Ends when the connection does; never rejects. */
async function oneConnection(options: LineOptions, signal: AbortSignal): Promise<Outcome> {
  try {
    return await lifeOf(await openClient(options.connect, optionsOf(options)), options, signal);
  } catch (error) {
    return { reason: describe(error) };
  }
}

function lifeOf(client: MqttClient, options: LineOptions, signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    let since: number | undefined;
    let reason = 'the connection to the broker was closed';
    const acks = createAcks({
      limit: unfinishedLimit,
      work: (packet) => {
        queue.came();
        return options.message?.(packet, queue.waits());
      },
      failed: (error) => end(`a message could not be kept and will be delivered again: ${describe(error)}`),
    });
    const queue = watchQueue(client, () => acks.unacknowledged);
    // Set before CONNACK can arrive: with a persistent session the first message comes right behind it.
    client.handleMessage = acks.handleMessage;
    const end = (why: string) => {
      reason = why;
      acks.close();
      client.end(true);
    };
    // Graceful: a DISCONNECT keeps the broker from waiting for the keep-alive; unacknowledged messages stay with it.
    const aborted = () => {
      acks.close();
      client.end(!client.connected);
    };
    signal.addEventListener('abort', aborted, { once: true });
    client.on('connect', () => {
      since = options.clock.monotonic();
      options.up(client).then(queue.subscribed, (error: unknown) => end(describe(error)));
    });
    client.on('error', (error) => {
      reason = describe(error);
      // Refused credentials and the like do not close by themselves.
      client.end(true);
    });
    client.once('close', () => {
      acks.close();
      queue.close();
      signal.removeEventListener('abort', aborted);
      client.end(true);
      resolve(since === undefined ? { reason } : { reason, connectedMs: options.clock.monotonic() - since });
    });
    if (signal.aborted) aborted();
  });
}

function optionsOf({ connect, clientId, clean }: LineOptions): IClientOptions {
  return {
    ...clientOptions(connect),
    clientId,
    clean,
    protocolVersion: connect.protocolVersion ?? 4,
    ...(connect.protocolVersion === 5 && !clean ? { properties: { sessionExpiryInterval: 7 * 86_400 } } : {}),
  };
}
