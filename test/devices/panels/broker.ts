import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Aedes, type Client } from 'aedes';
import { connectAsync, type MqttClient } from 'mqtt';
import { freePort } from '#sandbox/demo/processes.ts';
import { open, startMosquitto } from '../../harness/mosquitto.ts';

export { until } from '../../harness/until.ts';

export interface Broker {
  readonly url: string;
  /** Publishes with QoS 1 and waits for the broker's answer. */
  publish(topic: string, payload: string | Uint8Array, retain?: boolean): Promise<void>;
  /** Ends the broker as a crash does. */
  kill(): Promise<void>;
  /** Starts it again on the same port, with what it had stored if it was stopped in order. */
  restart(): Promise<void>;
  client(): Promise<MqttClient>;
  /** Lets it hang, as on a card that stalls, and go on. */
  hang(): void;
  goOn(): void;
  close(): Promise<void>;
}

/** A real mosquitto with its own file, on a port of its own. */
export async function startBroker(extra: readonly string[] = []): Promise<Broker> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-panels-'));
  const port = await freePort();
  const mosquitto = await startMosquitto({ folder, port, settings: [...open, ...extra] });
  const { url } = mosquitto;
  let publisher: MqttClient | undefined;
  const clients: MqttClient[] = [];
  const send = (signal: NodeJS.Signals) => {
    if (mosquitto.pid !== undefined) process.kill(mosquitto.pid, signal);
  };
  return {
    url,
    async publish(topic, payload, retain = false) {
      publisher ??= await connectAsync(url, { reconnectPeriod: 0 });
      await publisher.publishAsync(topic, typeof payload === 'string' ? payload : Buffer.from(payload), {
        qos: 1,
        retain,
      });
    },
    async kill() {
      publisher?.end(true);
      publisher = undefined;
      await mosquitto.kill();
    },
    restart: mosquitto.restart,
    async client() {
      const client = await connectAsync(url, { reconnectPeriod: 0 });
      clients.push(client);
      return client;
    },
    hang: () => send('SIGSTOP'),
    goOn: () => send('SIGCONT'),
    async close() {
      send('SIGCONT');
      for (const client of clients) client.end(true);
      publisher?.end(true);
      await mosquitto.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The library of the embedded broker, without siteward's rules. */
export async function startAedes(
  onClient: (client: Client) => void = () => {},
): Promise<Pick<Broker, 'url' | 'publish' | 'client' | 'close'>> {
  const aedes = await Aedes.createBroker();
  aedes.on('client', onClient);
  const server = createServer(aedes.handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `mqtt://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const clients: MqttClient[] = [];
  const client = async () => {
    const one = await connectAsync(url, { reconnectPeriod: 0 });
    clients.push(one);
    return one;
  };
  const publisher = await client();
  return {
    ...{ url, client },
    async publish(topic, payload, retain = false) {
      await publisher.publishAsync(topic, typeof payload === 'string' ? payload : Buffer.from(payload), {
        ...{ qos: 1, retain },
      });
    },
    async close() {
      for (const one of clients) one.end(true);
      await new Promise<void>((resolve) => aedes.close(() => resolve()));
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
