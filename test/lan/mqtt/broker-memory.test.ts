import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Aedes } from 'aedes';
import mqtt from 'mqtt';
import { Registry } from 'prom-client';
import { afterEach, expect, test, vi } from 'vitest';
import { brokerAuth } from '#lan/mqtt/broker-auth.ts';
import { aedesOptions, brokerCounters } from '#lan/mqtt/broker-rules.ts';
import { root, until } from './harness.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const end of ends.splice(0).reverse()) await end();
});

test('a wall clock that is set forward makes no client that is there a dead one', async () => {
  const auth = brokerAuth({ root, users: [], discovery: undefined, anonymous: true, isOwn: () => false });
  const counters = brokerCounters(new Registry(), () => 0);
  const rules = aedesOptions({ root, auth, counters, onKnown: () => undefined });
  // aedes looks every four of these, 4 minutes else, for wills of brokers that did not tell that they live.
  const broker = await Aedes.createBroker({ ...rules, heartbeatInterval: 20 });
  const server = createServer(broker.handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => new Promise<void>((resolve) => broker.close(() => server.close(() => resolve()))));
  const topic = 'zigbee2mqtt/bridge/state';
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    ...{ keepalive: 0, reconnectPeriod: 0, clientId: 'bridge' },
    will: { topic, payload: Buffer.from('offline'), qos: 1, retain: true },
  });
  ends.push(() => client.endAsync(true));
  const published: string[] = [];
  broker.on('publish', (packet) => void published.push(packet.topic));

  const now = Date.now();
  let steps = 0;
  vi.spyOn(Date, 'now').mockImplementation(() => {
    steps += 1;
    return now + steps * 3_600_000;
  });
  const heartbeats = () => published.filter((name) => name.endsWith('/heartbeat')).length;
  await until(() => heartbeats() > 20);
  expect(published).not.toContain(topic);
  vi.restoreAllMocks();

  client.stream.destroy();
  await until(() => published.includes(topic));
});
