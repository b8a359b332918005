import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import type { EventEntry } from '#lan/http/index.ts';
import type { StatusDocument } from '#lan/http/schemas.ts';
import { eventually, freePort, member } from '#sandbox/demo/processes.ts';
import { type CloudEvent, type CloudRecord, cloudRecord } from '#sandbox/demo/record.ts';
import { type Broker, startBroker } from '../devices/panels/broker.ts';
import { askSocket } from '../harness/control.ts';
import { program } from '../harness/program.ts';
import { type Gate, openGate } from './gate.ts';
import { launch, type Proc } from './process.ts';

const repository = join(import.meta.dirname, '..', '..');
export const cli = program;
export const cameraMain = join(repository, 'src', 'sandbox', 'cameras', 'main.ts');
export const root = 'siteward/1/input';

/** Texts that must never be seen outside the places they are for. */
export const planted = {
  cameraPassword: 'cam-Pa55-zebra-quartz',
  code: '73915028',
  duress: '64820193',
  mqttPassword: 'mq-Pa55-walnut-ferry',
} as const;

/** The daemon's LAN, as a client sees it. */
export interface Lan {
  readonly client: MqttClient;
  /** The newest payload of each topic below the root, retained or not. */
  readonly topics: ReadonlyMap<string, string>;
  /** Every message below the root in the order it came. */
  readonly heard: readonly { readonly topic: string; readonly payload: string }[];
  publish(topic: string, payload: string | Uint8Array, retain?: boolean): Promise<void>;
  /** Sends a command and resolves with its final reply. */
  command(verb: string, body: Record<string, unknown>): Promise<Reply>;
  shows(topic: string, payload: string | undefined, timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

export interface Reply {
  readonly id: string | null;
  readonly outcome: string;
  readonly final?: boolean;
  readonly error?: { readonly code: string; readonly field?: string };
}

export async function openLan(url: string, login: IClientOptions = {}): Promise<Lan> {
  const client = await connectAsync(url, {
    clientId: `tester-${randomUUID().slice(0, 8)}`,
    reconnectPeriod: 200,
    ...login,
  });
  const topics = new Map<string, string>();
  const heard: { topic: string; payload: string }[] = [];
  client.on('error', () => undefined);
  client.on('message', (topic, payload) => {
    const path = topic.slice(root.length + 1);
    const text = payload.toString('utf8');
    if (text === '') topics.delete(path);
    else topics.set(path, text);
    heard.push({ topic: path, payload: text });
  });
  const filters = ['status', 'info', 'link/#', 'partition/#', 'zone/#', 'problem', 'trouble', 'outbox', 'camera/#'];
  await client.subscribeAsync(
    [...filters, 'event/+', 'reply/#'].map((filter) => `${root}/${filter}`),
    { qos: 1 },
  );
  return {
    client,
    topics,
    heard,
    publish: async (topic, payload, retain = false) => {
      const bytes = typeof payload === 'string' ? payload : Buffer.from(payload);
      await client.publishAsync(topic, bytes, { qos: 1, retain });
    },
    async command(verb, body) {
      const id = randomUUID();
      const reply_to = `${root}/reply/tester/${id}`;
      const payload = { id, issued_at: new Date().toISOString(), reply_to, ...body };
      await client.publishAsync(`${root}/cmd/${verb}`, JSON.stringify(payload), { qos: 1 });
      return replyTo(heard, id);
    },
    async shows(topic, payload, timeoutMs = 20_000) {
      await eventually(
        `${topic} = ${payload}, last ${topics.get(topic)}`,
        () => (topics.get(topic) === payload ? true : undefined),
        {
          timeoutMs,
          everyMs: 20,
        },
      );
    },
    close: () => client.endAsync(true),
  };
}

/** The final reply to a command by its id. */
export function replyTo(heard: Lan['heard'], id: string): Promise<Reply> {
  return eventually(`the reply to ${id}`, () => {
    const texts = heard.filter(({ topic }) => topic.startsWith('reply/')).map(({ payload }) => payload);
    return texts.map((text) => JSON.parse(text) as Reply).find((reply) => reply.id === id && reply.final === true);
  });
}

export interface RigOptions {
  readonly broker?: 'mosquitto' | 'embedded';
  readonly cloud?: boolean;
  /** YAML of sections beside site, bridge, cloud, mqtt, http, store; partitions p1 to p3 unless given. */
  readonly sections?: string;
  readonly partitions?: string;
  readonly mqtt?: string;
  /** Further members of the section `mqtt`. */
  readonly mqttMore?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly lan?: boolean;
}

/** A whole site: broker, cloud behind a gate, daemon; each a process of its own, in one folder. */
export interface Rig {
  readonly folder: string;
  readonly configFile: string;
  readonly socket: string;
  readonly mqttUrl: string;
  readonly broker: Broker | undefined;
  readonly gate: Gate;
  readonly cloud: CloudRecord;
  readonly lan: Lan;
  readonly privateKey: string;
  daemon: Proc;
  /** Every daemon process so far, with its output. */
  readonly daemons: readonly Proc[];
  configure(sections: string): void;
  start(options?: { args?: readonly string[]; env?: Readonly<Record<string, string | undefined>> }): Promise<void>;
  status(): Promise<StatusDocument>;
  /** As a person reads it. */
  statusText(): Promise<string>;
  events(): Promise<EventEntry[]>;
  eventsText(): Promise<string>;
  /** The audit log as everybody may see it, newest first. */
  audit(): Promise<Record<string, unknown>[]>;
  metrics(): Promise<string>;
  /** Resolves with the event in the cloud's record. */
  cloudHas(what: string, match: (event: CloudEvent) => boolean, timeoutMs?: number): Promise<CloudEvent>;
  /** Something to be ended with the site. */
  also(end: () => Promise<unknown>): void;
  close(): Promise<void>;
}

export const threePartitions = `partitions:
  - { id: p1, name: One, exit_delay: 0s, entry_delay: 0s }
  - { id: p2, name: Two, exit_delay: 0s, entry_delay: 0s }
  - { id: p3, name: Three, exit_delay: 0s, entry_delay: 0s }
`;

/** Four smoke detectors: each raises an alarm of its own at any time, and is told by its zone number. */
export const smokes = `panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: fire, name: Smoke one, key: smoke_1, partition: p1 }
      "2": { type: fire, name: Smoke two, key: smoke_2, partition: p2 }
      "3": { type: fire, name: Smoke three, key: smoke_3, partition: p3 }
      "4": { type: fire, name: Smoke four, key: smoke_4, partition: p1 }
`;

export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-input-'));
  const ends: (() => Promise<unknown>)[] = [];
  const daemons: Proc[] = [];
  const close = async () => {
    for (const end of ends.splice(0).reverse()) await end().catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const embedded = options.broker === 'embedded';
    const broker = embedded ? undefined : await startBroker();
    if (broker !== undefined) ends.push(broker.close);
    const port = embedded ? await freePort() : Number(new URL(broker?.url ?? '').port);
    const mqttUrl = `mqtt://127.0.0.1:${port}`;
    const gate = await openGate();
    ends.push(gate.close);
    const keyFile = join(folder, 'event-key.pem');
    const privateKey = String(
      generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
    );
    writeFileSync(keyFile, privateKey, { mode: 0o600 });
    let cloudUrl = gate.url;
    if (options.cloud !== false) {
      const sandbox = launch(process.execPath, [
        ...[cli, 'sandbox', '--listen', '127.0.0.1:0', '--control', '--json'],
        ...['--client', `bridge-1=${keyFile}`, '--public-url', gate.url],
      ]);
      ends.push(sandbox.stop);
      cloudUrl = await sandbox.line('the sandbox', (line) => member(line, 'listen'));
      await gate.leadTo(cloudUrl);
    }
    const configFile = join(folder, 'siteward.yaml');
    const socket = join(folder, 'control.sock');
    mkdirSync(join(folder, 'state'), { mode: 0o700 });
    const mqtt = options.mqtt ?? (embedded ? `broker: embedded, listen: "127.0.0.1:${port}"` : `broker: "${mqttUrl}"`);
    const cloudSection = `cloud:
  base_url: ${gate.url}
  auth_url: ${gate.url}
  events: { client_id: bridge-1, private_key: { file: ${keyFile} } }
`;
    const fixed = `site: { id: "4711", external_id: input, name: Input, timezone: Europe/Berlin }
bridge: { external_id: sw-input }
${options.cloud === false ? '' : cloudSection}mqtt: { ${mqtt}${options.mqttMore ?? ''} }
http: { control_socket: ${socket} }
store: { dir: ${join(folder, 'state')} }
`;
    const ask = async (verb: string, ...args: string[]) => {
      const asked = launch(process.execPath, [cli, verb, ...args, '--socket', socket]);
      if ((await asked.exited) !== 0) throw new Error(`${verb}: ${asked.stderr.join('\n')}`);
      return asked.stdout;
    };
    const cloud = cloudRecord(cloudUrl);
    let lan: Lan | undefined;
    const rig: Rig = {
      folder,
      configFile,
      socket,
      mqttUrl,
      broker,
      gate,
      cloud,
      privateKey,
      daemons,
      get lan() {
        if (lan === undefined) throw new Error('the rig was started without a LAN client');
        return lan;
      },
      get daemon() {
        const last = daemons.at(-1);
        if (last === undefined) throw new Error('no daemon was started');
        return last;
      },
      configure: (sections) => writeFileSync(configFile, fixed + sections),
      async start({ args = [], env = {} } = {}) {
        const daemon = launch(process.execPath, [cli, 'run', '--config', configFile, ...args], {
          env: {
            CAMERA_PASSWORD: planted.cameraPassword,
            CODE: planted.code,
            DURESS: planted.duress,
            ...options.env,
            ...env,
          },
        });
        daemons.push(daemon);
        ends.push(daemon.stop);
        await daemon.line('the daemon ready', (line) => (member(line, 'msg') === 'ready' ? true : undefined), {
          timeoutMs: 40_000,
        });
      },
      status: async () => JSON.parse((await ask('status', '--json')).join('\n')) as StatusDocument,
      statusText: async () => (await ask('status')).join('\n'),
      events: async () =>
        (await ask('events', '--json', '--limit', '200')).map((line) => JSON.parse(line) as EventEntry),
      eventsText: async () => (await ask('events', '--limit', '200')).join('\n'),
      audit: async () => (await ask('audit', 'show', '--json')).map((line) => JSON.parse(line)),
      metrics: () => overSocket(socket, '/metrics'),
      cloudHas: (what, match, timeoutMs = 30_000) =>
        eventually(`${what} in the cloud`, async () => (await cloud.events()).find(match), { timeoutMs }),
      also: (end) => void ends.push(end),
      close,
    };
    rig.configure((options.partitions ?? threePartitions) + (options.sections ?? smokes));
    await rig.start();
    if (options.lan !== false) {
      const opened = await openLan(mqttUrl);
      lan = opened;
      ends.push(opened.close);
      await opened.shows('status', 'online');
    }
    return rig;
  } catch (error) {
    await close();
    throw error;
  }
}

const overSocket = async (socket: string, path: string): Promise<string> => (await askSocket(socket, 'GET', path)).text;

/** Raises the fire alarm of zone `n` and ends it, so that it can be raised again. */
export async function smoke(lan: Lan, n: number): Promise<void> {
  await lan.publish(`zigbee2mqtt/smoke_${n}`, JSON.stringify({ smoke: true }));
  await lan.publish(`zigbee2mqtt/smoke_${n}`, JSON.stringify({ smoke: false }));
}

export const fireIn = (zone: string) => (event: CloudEvent) =>
  event.event_type === 'alarm' && event.payload.zone === zone;
