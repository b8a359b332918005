import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IClientOptions } from 'mqtt';
import { Registry } from 'prom-client';
import { createBroker } from '../../../src/lan/mqtt/index.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { memoryLog, mosquittoPath, slug, type TestBroker } from './harness.ts';
import { provisioned } from './provisioned.ts';

/** A broker as a site has it, with accounts that have passwords, and the way siteward connects to it. */
export interface Stand {
  readonly kind: TestBroker['kind'];
  /** Of clients on the LAN. */
  readonly url: string;
  readonly broker: TestBroker;
  login(id: string): IClientOptions;
  /** Lines of the embedded broker's own metrics. */
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

export const accounts = [
  { id: 'kp1', role: 'keypad' },
  { id: 'kp2', role: 'keypad' },
  { id: 'kp3', role: 'keypad' },
  { id: 'tablet', role: 'viewer' },
  { id: 'guard1', role: 'guard' },
  { id: 'tech', role: 'technician' },
] as const;
const gone = async () => undefined;

async function embedded(): Promise<Stand> {
  const password = new Secret('password-of-everyone');
  const metrics = new Registry();
  const users = accounts.map((account) => ({ ...account, password }));
  const listen = { host: '127.0.0.1', port: 0 };
  const broker = createBroker({ slug, users, listen, log: memoryLog().log, metrics });
  await broker.start(new AbortController().signal);
  const connect = { url: broker.url(), dial: broker.dial };
  return {
    kind: 'embedded',
    url: broker.url(),
    broker: {
      kind: 'embedded',
      url: broker.url(),
      connect,
      senderOf: broker.senderOf,
      halt: gone,
      restart: gone,
      stop: gone,
    },
    login: (id) => ({ username: id, password: password.reveal(), clientId: `test-${id}`, reconnectPeriod: 0 }),
    metrics: () => metrics.metrics(),
    stop: () => broker.stop(),
  };
}

async function mosquitto(): Promise<Stand> {
  const site = await provisioned(accounts.map(({ id, role }) => `{ id: ${id}, role: ${role} }`));
  const connect = {
    url: site.ownUrl,
    ca: readFileSync(join(site.dir, 'ca.crt'), 'utf8'),
    username: 'siteward',
    password: new Secret(site.passwords.get('siteward') ?? ''),
  };
  return {
    kind: 'mosquitto',
    url: site.lanUrl,
    broker: { kind: 'mosquitto', url: site.lanUrl, connect, halt: gone, restart: gone, stop: gone },
    login: (id) => site.login(id, 4),
    metrics: async () => '',
    stop: () => site.stop(),
  };
}

export const stands = [
  ['the embedded broker', embedded, false],
  ['mosquitto as siteward provisions it (needs mosquitto)', mosquitto, mosquittoPath === undefined],
] as const;
