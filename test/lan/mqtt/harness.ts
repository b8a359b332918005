import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mqtt, { type IClientOptions, type IPublishPacket, type MqttClient } from 'mqtt';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { type Connect, openClient } from '#lib/mqtt.ts';
import { freePort } from '#sandbox/demo/processes.ts';
import { createBroker, type LanMqttOptions } from '../../../src/lan/mqtt/index.ts';
import { createLanMqtt, type LanMqtt } from '../../../src/lan/mqtt/lan-mqtt.ts';
import type { FakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { startMosquitto as startProcess } from '../../harness/mosquitto.ts';
import { until } from '../../harness/until.ts';

export { until };

export const slug = 'hq';
export const root = `siteward/1/${slug}`;
export const mosquittoPath = ['/usr/sbin/mosquitto', '/usr/bin/mosquitto'].find((path) => existsSync(path));

/** A log that keeps its lines for the search for codes. */
export function memoryLog() {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  return { log, lines };
}

export interface TestBroker {
  readonly kind: 'embedded' | 'mosquitto';
  readonly url: string;
  readonly connect: Connect;
  readonly senderOf?: LanMqttOptions['senderOf'];
  /** Down until `restart`. */
  halt(): Promise<void>;
  /** Loses everything it held. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startEmbedded(users: Parameters<typeof createBroker>[0]['users'] = []): Promise<TestBroker> {
  const { log } = memoryLog();
  const listen = { host: '127.0.0.1', port: 0 };
  const broker = createBroker({ slug, listen, users, discovery: 'homeassistant', log, metrics: new Registry() });
  const signal = new AbortController().signal;
  await broker.start(signal);
  return {
    kind: 'embedded',
    url: broker.url(),
    connect: { url: broker.url(), dial: broker.dial },
    senderOf: broker.senderOf,
    async restart() {
      await broker.stop();
      await broker.start(signal);
    },
    halt: () => broker.stop(),
    stop: () => broker.stop(),
  };
}

export async function startMosquitto(
  options: { protocolVersion?: 4; extra?: (folder: string) => string } = {},
): Promise<TestBroker> {
  const { protocolVersion, extra = () => 'allow_anonymous true' } = options;
  const folder = mkdtempSync(join(tmpdir(), 'siteward-mqtt-'));
  const port = await freePort();
  const settings = ['persistence false', extra(folder)];
  const { url, kill, restart } = await startProcess({ folder, port, settings });
  return {
    kind: 'mosquitto',
    url,
    connect: { url, ...(protocolVersion === undefined ? {} : { protocolVersion }) },
    halt: kill,
    async restart() {
      await kill();
      await restart();
    },
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface Watcher {
  readonly client: MqttClient;
  readonly packets: IPublishPacket[];
  /** Texts seen on a topic below the root, in order. */
  texts(topic: string): string[];
  json(topic: string): Record<string, unknown>[];
}

export const stateFilters = ['status', 'info', 'problem', 'trouble', 'outbox', 'link/+', 'link/+/+', 'partition/+/+']
  .concat(['zone/+/+', 'camera/+/+', 'event/+', 'reply/#'])
  .map((filter) => `${root}/${filter}`);

/** A client that came over the network to an address, or as a part of siteward the way of `to`. */
export async function watch(
  to: string | Connect,
  options: IClientOptions = {},
  filters = stateFilters,
): Promise<Watcher> {
  const client =
    typeof to === 'string'
      ? mqtt.connect(to, { reconnectPeriod: 100, ...options })
      : await openClient(to, { reconnectPeriod: 0, ...options });
  client.on('error', () => undefined);
  const packets: IPublishPacket[] = [];
  client.on('message', (_topic, _payload, packet) => packets.push(packet));
  await new Promise((resolve) => client.once('connect', resolve));
  if (filters.length > 0) await client.subscribeAsync([...filters], { qos: 1 });
  const texts = (topic: string) =>
    packets.filter((packet) => packet.topic === `${root}/${topic}`).map((packet) => packet.payload.toString());
  return { client, packets, texts, json: (topic) => texts(topic).map((text) => JSON.parse(text)) };
}

export interface Running {
  readonly lan: LanMqtt;
  readonly lines: string[];
  readonly metrics: Registry;
}

export async function startLan(
  broker: TestBroker,
  site: FakeSite,
  change: Partial<LanMqttOptions> = {},
  connected = true,
): Promise<Running> {
  const { log, lines } = memoryLog();
  const metrics = new Registry();
  const lan = createLanMqtt({
    connect: broker.connect,
    slug,
    site,
    version: '0.1.0',
    bootId: '3f2b6c1e-8a4d-4c55-9b1e-0d6f7a2c9e10',
    ...(broker.senderOf === undefined ? {} : { senderOf: broker.senderOf }),
    clock: systemClock(),
    log,
    metrics,
    ...change,
  });
  site.onChange = lan.publishState;
  site.sound.onChanged = lan.playbackChanged;
  await lan.start(new AbortController().signal);
  if (connected) await until(() => lan.health().state === 'ok', 'siteward is connected');
  return { lan, lines, metrics };
}

let counter = 0;
export function commandId(): string {
  counter += 1;
  return `00000000-0000-4000-8000-${String(counter).padStart(12, '0')}`;
}

export const now = () => new Date().toISOString();
