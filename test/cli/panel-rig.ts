import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectAsync, type MqttClient } from 'mqtt';
import { startEmbedded, startMosquitto, type TestBroker } from '../lan/mqtt/harness.ts';
import { main } from './run-cli.ts';

const username = 'siteward';
const password = 'broker-password';

export interface Field {
  readonly kind: 'embedded' | 'mosquitto';
  readonly broker: TestBroker;
  /** A folder with `siteward.yaml` and `panels/`. */
  readonly folder: string;
  readonly config: string;
  /** Writes the configuration anew, with more sections. */
  configure(more?: string): void;
  publish(topic: string, payload: string | Buffer, retain?: boolean): Promise<void>;
  client(): Promise<MqttClient>;
  close(): Promise<void>;
}

/** A broker as it stands on a site, and a configuration that leads to it. Mosquitto asks for a password. */
export async function startField(kind: Field['kind']): Promise<Field> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-panel-'));
  mkdirSync(join(folder, 'panels'));
  const broker = kind === 'embedded' ? await startEmbedded() : await withPassword();
  const config = join(folder, 'siteward.yaml');
  const secret = join(folder, 'secret');
  writeFileSync(secret, password, { mode: 0o600 });
  const mqtt =
    kind === 'embedded'
      ? `{ broker: embedded, listen: "${broker.url.replace('mqtt://', '')}" }`
      : `{ broker: "${broker.url}", username: ${username}, password: { file: ${secret} } }`;
  const clients: MqttClient[] = [];
  let publisher: MqttClient | undefined;

  async function client(): Promise<MqttClient> {
    const made = await connectAsync(broker.url, {
      reconnectPeriod: 0,
      ...(kind === 'mosquitto' && { username, password }),
    });
    clients.push(made);
    return made;
  }
  function configure(more = ''): void {
    writeFileSync(
      config,
      `site: { id: "4711", external_id: hq, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: House } ]
mqtt: ${mqtt}
${more}`,
    );
  }
  configure();
  return {
    kind,
    broker,
    folder,
    config,
    configure,
    client,
    async publish(topic, payload, retain = false) {
      if (publisher?.connected !== true) publisher = await client();
      await publisher.publishAsync(topic, payload, { qos: 1, retain });
    },
    async close() {
      for (const one of clients) one.end(true);
      await broker.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const withPassword = () =>
  startMosquitto({
    extra: (folder) => {
      const file = join(folder, 'passwd');
      writeFileSync(file, '', { mode: 0o600 });
      execFileSync('/usr/bin/mosquitto_passwd', ['-b', file, username, password], { stdio: 'ignore' });
      return `allow_anonymous false\npassword_file ${file}`;
    },
  });

export interface Live {
  readonly child: ChildProcess;
  out(): string;
  err(): string;
  /** Waits until `text` stands on standard output or standard error. */
  says(text: string | RegExp): Promise<void>;
  ended: Promise<number | null>;
}

/** A command line that stays, as a child process. */
export function live(args: readonly string[], env: Record<string, string> = {}): Live {
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => resolve(code));
  });
  return {
    child,
    out: () => out,
    err: () => err,
    ended,
    async says(text) {
      const end = performance.now() + 30_000;
      const there = () => [out, err].some((all) => (typeof text === 'string' ? all.includes(text) : text.test(all)));
      while (!there()) {
        if (performance.now() > end) throw new Error(`waited in vain for ${text}; out: ${out} err: ${err}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  };
}
