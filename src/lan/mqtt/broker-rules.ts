import type { AedesOptions, AedesPublishPacket, Client, PublishPacket } from 'aedes';
import { Counter, Gauge, type Registry } from 'prom-client';
import { type BrokerAuth, refusal } from './broker-auth.ts';
import { BrokerMemory } from './broker-memory.ts';
import { asksHelp } from './panics.ts';
import { limits } from './state.ts';
import { isForSite } from './table.ts';

/** What the embedded broker lets its clients do, and where it cuts them. */

/** A client that has so much unread is cut: what waits for it must not hold up the others. */
const unreadBytes = 1024 * 1024;
/**
 * Where aedes itself would wait for a client, and all who have something for it with them: never reached by what is live. Between
 * the two only calls for help have room.
 */
export const bufferBytes = 2 * unreadBytes;
/** What is around a message at most. */
const frameBytes = 16;

export interface Counters {
  readonly refused: Counter<'reason'>;
  readonly dropped: Counter<'reason'>;
}

export function brokerCounters(metrics: Registry, clients: () => number): Counters {
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

export function aedesOptions(options: {
  readonly root: string;
  readonly auth: BrokerAuth;
  readonly counters: Counters;
  /** It has logged in. */
  readonly onKnown: (client: Client) => void;
}): AedesOptions {
  const { root, auth } = options;
  const { refused, dropped } = options.counters;
  const deny = (reason: string) => {
    refused.inc({ reason });
    return new Error(reason);
  };
  const memory = new BrokerMemory({
    isOurs: (topic) => topic.startsWith(`${root}/`),
    dropped: (reason) => dropped.inc({ reason }),
  });

  /** A stored command would be obeyed again after each start: it is taken once, live, and never kept. */
  function takeCommand(packet: PublishPacket): void {
    if (packet.retain && packet.payload.length > 0) refused.inc({ reason: 'retained_command' });
    packet.retain = false;
    // So much tells that it is too large, and is answered as such.
    packet.payload = Buffer.from(packet.payload).subarray(0, limits.command_bytes + 1);
  }

  /** Retained topics are paced by aedes itself; live ones would hold up everybody behind a client that does not read. */
  function fits(client: Client, packet: AedesPublishPacket): boolean {
    const unread = client.conn.writableLength + packet.topic.length + packet.payload.length;
    if (unread < unreadBytes) return true;
    // siteward itself is not cut off by who sends it more commands than it can read.
    const isFlood = auth.roleOf(client) === 'siteward' && isForSite(root, packet.topic);
    // No flood of other commands keeps one from it (safety 1).
    if (isFlood && unread < bufferBytes - frameBytes && asksHelp(root, packet)) return true;
    dropped.inc({ reason: isFlood ? 'commands_full' : 'slow_client' });
    if (!isFlood) client.conn.destroy();
    return false;
  }

  return {
    persistence: memory,
    connectTimeout: 10_000,
    drainTimeout: 10_000,
    maxInflightInbound: 100,
    maxTopicLevels: 20,
    maxClientsIdLength: 64,
    authenticate(client, username, password, done) {
      const refusedAs = auth.admit(client, username, password);
      if (refusedAs === undefined) {
        options.onKnown(client);
        return done(null, true);
      }
      refused.inc({ reason: refusedAs.reason });
      done(refusal(refusedAs.code), false);
    },
    // aedes can only cut a client that publishes what it may not (3.1.1 has no negative acknowledgement).
    authorizePublish(client, packet, done) {
      if (client === null) return done(deny('publish'));
      if (auth.accessOf(client)?.mayPublish(packet.topic) !== true) {
        if (auth.roleOf(client) !== 'bridge') return done(deny('publish'));
        // A panel must not be lost for what else its bridge has to say.
        refused.inc({ reason: 'publish' });
        Object.assign(packet, { topic: nobodyReads, payload: Buffer.alloc(0), retain: false });
      }
      if (isForSite(root, packet.topic)) takeCommand(packet);
      done(null);
    },
    authorizeSubscribe(client, subscription, done) {
      const { topic } = subscription;
      if (auth.accessOf(client)?.maySubscribe(topic) === true && auth.mayHold(client, topic))
        return done(null, subscription);
      refused.inc({ reason: 'subscribe' });
      done(null, null);
    },
    authorizeForward(client, packet) {
      if (auth.accessOf(client)?.mayReceive(packet.topic) !== true) return null;
      // Retained topics are handed out one by one: what has changed meanwhile was sent live and must not come after it.
      if (packet.retain) return memory.isCurrent(packet) ? packet : null;
      if (!fits(client, packet)) return null;
      if (isForSite(root, packet.topic)) auth.noteCommand(client, packet);
      return packet;
    },
  };
}

/** No filter that is granted takes a topic of this kind. */
const nobodyReads = '$refused';
