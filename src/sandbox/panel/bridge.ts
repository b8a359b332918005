import mqtt, { type MqttClient } from 'mqtt';
import { describe, SitewardError } from '#errors.ts';

/** A bridge's side of MQTT: retained states, a last will, commands that are not retained. */
export interface Bridge {
  publish(topic: string, payload: string, retain?: boolean): void;
  /** Says goodbye as the bridge would and leaves. */
  close(farewell: string): Promise<void>;
  /** Drops the connection without a word, so that the broker publishes the last will. */
  kill(): void;
}

export interface BrokerLogin {
  /** `mqtt://127.0.0.1:1883` */
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
}

/**
 * Connects once and subscribes; afterwards the library reconnects by itself and `onOnline` runs again. Throws
 * `mqtt_unreachable` when the first connection fails.
 */
export async function connectBridge(options: {
  broker: BrokerLogin;
  availability: { topic: string; online: string; offline: string };
  commands: readonly string[];
  onOnline: (bridge: Bridge) => void;
  onCommand: (topic: string, payload: string) => void;
}): Promise<Bridge> {
  const { broker, availability } = options;
  const client = await connect(broker, availability);
  const bridge: Bridge = {
    // While the broker is away nothing is kept: a bridge tells its states anew when it is back.
    publish: (topic, payload, retain = true) => {
      if (client.connected) client.publish(topic, payload, { qos: 1, retain });
    },
    close: async (farewell) => {
      if (client.connected) await client.publishAsync(availability.topic, farewell, { qos: 1, retain: true });
      await client.endAsync(true);
    },
    kill: () => {
      client.options.reconnectPeriod = 0;
      client.stream.destroy();
    },
  };
  client.on('message', (topic, payload, packet) => {
    // Bridges ignore commands that the broker kept: an old "disarm" must not act at the next start.
    if (!packet.retain) options.onCommand(topic, payload.toString('utf8').trim());
  });
  const online = () => {
    bridge.publish(availability.topic, availability.online);
    options.onOnline(bridge);
  };
  if (options.commands.length > 0) await client.subscribeAsync([...options.commands], { qos: 1 });
  client.on('connect', online);
  // A failed reconnect; the library tries again.
  client.on('error', () => undefined);
  online();
  return bridge;
}

async function connect(broker: BrokerLogin, availability: { topic: string; offline: string }): Promise<MqttClient> {
  try {
    return await mqtt.connectAsync(
      broker.url,
      {
        clean: true,
        reconnectPeriod: 500,
        connectTimeout: 5000,
        will: { topic: availability.topic, payload: Buffer.from(availability.offline), qos: 0, retain: true },
        ...(broker.username === undefined ? {} : { username: broker.username }),
        ...(broker.password === undefined ? {} : { password: broker.password }),
      },
      false,
    );
  } catch (cause) {
    throw new SitewardError('mqtt_unreachable', `The simulated bridge finds no broker: ${describe(cause)}`, { cause });
  }
}
