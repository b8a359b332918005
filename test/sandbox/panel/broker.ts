import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mqtt, { type MqttClient } from 'mqtt';

export interface Broker {
  readonly url: string;
  stop(): Promise<void>;
}

/** A mosquitto of its own on a free port. */
export async function startBroker(): Promise<Broker> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-broker-'));
  const port = await freePort();
  const file = join(folder, 'mosquitto.conf');
  writeFileSync(file, `listener ${port} 127.0.0.1\nallow_anonymous true\npersistence false\n`);
  const child: ChildProcess = spawn('mosquitto', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  for (let tries = 0; !log.includes('running'); tries += 1) {
    if (tries > 500 || child.exitCode !== null) throw new Error(`mosquitto did not start: ${log}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return {
    url: `mqtt://127.0.0.1:${port}`,
    stop: async () => {
      child.kill();
      await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

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
