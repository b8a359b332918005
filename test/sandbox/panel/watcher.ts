import mqtt, { type MqttClient } from 'mqtt';
import type { Broker } from '../../devices/panels/broker.ts';

/** Watches every topic: the last payload of each, and all messages in order. */
export interface Watcher {
  readonly last: Map<string, string>;
  readonly seen: string[];
  readonly client: MqttClient;
}

export async function watch(broker: Broker): Promise<Watcher> {
  const client = await mqtt.connectAsync(broker.url);
  const last = new Map<string, string>();
  const seen: string[] = [];
  client.on('message', (topic, payload) => {
    last.set(topic, payload.toString());
    seen.push(`${topic} ${payload.toString()}`);
  });
  await client.subscribeAsync('#', { qos: 1 });
  return { last, seen, client };
}
