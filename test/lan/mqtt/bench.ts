import { afterEach, beforeEach } from 'vitest';
import type { LanMqttOptions } from '../../../src/lan/mqtt/index.ts';
import type { Reply } from '../../../src/lan/mqtt/schemas.ts';
import { type FakeSite, fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import type { Health } from '../../../src/lib/health.ts';
import type { SiteEvent } from '../../../src/site/model/index.ts';
import {
  commandId,
  mosquittoPath,
  now,
  type Running,
  root,
  startEmbedded,
  startLan,
  startMosquitto,
  type TestBroker,
  until,
  type Watcher,
  watch,
} from './harness.ts';

/** Name, how to start it, and whether it is missing here. */
export const brokers = [
  ['the embedded broker', startEmbedded, false],
  ['mosquitto', startMosquitto, mosquittoPath === undefined],
  ['mosquitto with MQTT 3.1.1', () => startMosquitto({ protocolVersion: 4 }), mosquittoPath === undefined],
] as const;

export const event = (change: Partial<SiteEvent> = {}): SiteEvent => ({
  event_id: 'e1',
  event_type: 'burglary',
  kind: 'burglary',
  class: 'alarm',
  status: 'active',
  seq: 8,
  source: 'panel main',
  at: '2026-11-27T20:00:00Z',
  data: { version: 1, epoch: 1, clock: 'synced' },
  ...change,
});

export interface Answered extends Omit<Reply, 'data'> {
  readonly data: { readonly [name: string]: readonly Record<string, unknown>[] };
  /** Below `reply/`. */
  readonly topic: string;
}

/** A site on a broker, new for each test and gone after it. */
export function bench(startBroker: () => Promise<TestBroker>) {
  let broker: TestBroker;
  let site: FakeSite;
  let running: Running | undefined;
  let watchers: Watcher[] = [];

  beforeEach(async () => {
    broker = await startBroker();
    site = fakeSite();
  });
  afterEach(async () => {
    await running?.lan.stop();
    running = undefined;
    for (const { client } of watchers) await client.endAsync(true);
    watchers = [];
    await broker.stop();
  });

  const replies = (watcher: Watcher, id: string): Answered[] =>
    watcher.packets
      .filter((packet) => packet.topic.startsWith(`${root}/reply/`))
      .map((packet) => ({ topic: packet.topic.slice(root.length + 7), ...JSON.parse(packet.payload.toString()) }))
      .filter((reply) => reply.id === id);

  return {
    get broker() {
      return broker;
    },
    get site() {
      return site;
    },
    get health(): Health {
      return running?.lan.health() ?? { state: 'down' };
    },
    /** Another site in the place of the first, as after a restart with another configuration. */
    renew(next: FakeSite) {
      site = next;
    },
    async start(change: Partial<LanMqttOptions> = {}, connected = true) {
      running = await startLan(broker, site, change, connected);
      return running;
    },
    async stop() {
      await running?.lan.stop();
      running = undefined;
    },
    async observe(options: Parameters<typeof watch>[1] = {}, filters?: string[]) {
      const watcher = await watch(broker.url, options, filters);
      watchers.push(watcher);
      return watcher;
    },
    /** A client with the rights of siteward itself. */
    async own(options: Parameters<typeof watch>[1] = {}, filters?: string[]) {
      const watcher = await watch(broker.kind === 'embedded' ? broker.connect : broker.url, options, filters);
      watchers.push(watcher);
      return watcher;
    },
    send: (watcher: Watcher, verb: string, payload: object | string | Buffer, retain = false) =>
      watcher.client.publishAsync(
        `${root}/cmd/${verb}`,
        typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload),
        { qos: 1, retain },
      ),
    replies,
    final: (watcher: Watcher, id: string) =>
      until(() => replies(watcher, id).find((reply) => reply.final === true), `the final reply to ${id}`),
    body: (change: object = {}) => ({ id: commandId(), issued_at: now(), partition: 'p1', ...change }),
  };
}
