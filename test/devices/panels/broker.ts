import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as tcpConnect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectAsync, type MqttClient } from 'mqtt';
import { freePort } from '#sandbox/demo/processes.ts';

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
  const file = join(folder, 'mosquitto.conf');
  // As root mosquitto would change to its own user and lose its folder.
  writeFileSync(
    file,
    ['user root', `listener ${port} 127.0.0.1`, 'allow_anonymous true', 'max_queued_messages 20000', ...extra].join(
      '\n',
    ),
  );
  const url = `mqtt://127.0.0.1:${port}`;
  let child: ChildProcess;
  let publisher: MqttClient | undefined;
  const clients: MqttClient[] = [];

  async function run(): Promise<void> {
    child = spawn('mosquitto', ['-c', file], {
      stdio: 'ignore',
      env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
    });
    await until(() => accepts(port), 'mosquitto to listen');
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    publisher?.end(true);
    publisher = undefined;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  }

  await run();
  return {
    url,
    async publish(topic, payload, retain = false) {
      publisher ??= await connectAsync(url, { reconnectPeriod: 0 });
      await publisher.publishAsync(topic, typeof payload === 'string' ? payload : Buffer.from(payload), {
        qos: 1,
        retain,
      });
    },
    kill: () => end('SIGKILL'),
    restart: run,
    async client() {
      const client = await connectAsync(url, { reconnectPeriod: 0 });
      clients.push(client);
      return client;
    },
    hang: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
    async close() {
      child.kill('SIGCONT');
      for (const client of clients) client.end(true);
      if (child.exitCode === null && child.signalCode === null) await end('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits for a condition, at most 20 s. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + 20_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = tcpConnect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
