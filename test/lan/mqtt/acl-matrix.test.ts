import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type SecureVersion } from 'node:tls';
import mqtt, { type IClientOptions } from 'mqtt';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Broker, createBroker } from '../../../src/lan/mqtt/index.ts';
import { fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import { type Role, roles, topicTable } from '../../../src/lan/mqtt/table.ts';
import { matches } from '../../../src/lan/mqtt/topics.ts';
import { Secret } from '../../../src/lib/secret.ts';
import {
  memoryLog,
  mosquittoPath,
  root,
  slug,
  startLan,
  type TestBroker,
  until,
  type Watcher,
  watch,
} from './harness.ts';
import { type Provisioned, provisioned } from './provisioned.ts';
import { among, readable, topics, writable } from './rights.ts';

/** Each role on each topic, reading and writing, on both brokers as a site has them. */

const mine = roles.filter(
  (role): role is Exclude<Role, 'siteward' | 'local'> => role !== 'siteward' && role !== 'local',
);
/** `me` in the topics stands for the client's own name, which is that of its role here. */
const as = (role: string, list: readonly string[]) =>
  list.map((topic) => topic.replace(`${root}/reply/me/`, `${root}/reply/${role}/`));
/** Wildcards that would let in more than the role has. */
const greedy = ['#', '+/#', 'siteward/#', `${root}/#`, `${root}/cmd/#`, `${root}/+/+`, `${root}/reply/#`];

it('has a topic for each row of the table', () => {
  const missing = Object.values(topicTable)
    .map(({ topic }) => `${root}/${topic.replaceAll(/\{\w+\}/g, '+')}`)
    .filter((filter) => !topics.some((topic) => matches(filter, topic)));
  expect(missing).toEqual([]);
});

const siteward = (site: Provisioned) => ({
  username: 'siteward',
  password: new Secret(site.passwords.get('siteward') ?? ''),
});

/** What a client gets of everything that is published once it has asked for all it can think of. */
async function heardBy(
  client: Watcher,
  topicsOfRole: readonly string[],
  publish: (topic: string) => Promise<unknown>,
  last: string | undefined,
) {
  for (const filter of [...topicsOfRole, ...greedy])
    await client.client.subscribeAsync(filter, { qos: 1 }).catch(() => undefined);
  for (const topic of topicsOfRole.filter((one) => !one.startsWith('$'))) await publish(topic);
  const got = (topic: string) => client.packets.some((packet) => packet.topic === topic);
  if (last !== undefined) await until(() => got(last), `the last message, ${last}`);
  await client.client.subscribeAsync(`${root}/nothing`).catch(() => undefined);
  return topicsOfRole.filter(got);
}

describe('the embedded broker', () => {
  let broker: Broker;
  const password = new Secret('password-of-everyone');
  beforeAll(async () => {
    const users = mine.map((role) => ({ id: role, role, password }));
    const options = { slug, users, discovery: 'homeassistant', log: memoryLog().log, metrics: new Registry() };
    broker = createBroker({ ...options, listen: { host: '127.0.0.1', port: 0 } });
    await broker.start(new AbortController().signal);
  });
  afterAll(() => broker.stop());

  const siteward = (filters: string[]) =>
    watch({ url: broker.url(), dial: broker.dial }, { clientId: 'siteward-hq' }, filters);
  const login = (role: string): IClientOptions =>
    role === 'local'
      ? { clientId: 'me', reconnectPeriod: 0 }
      : { username: role, password: password.reveal(), clientId: `test-${role}`, reconnectPeriod: 0 };

  it.each([...mine, 'local'] as const)('lets %s read its topics and no other', async (role) => {
    const name = role === 'local' ? 'me' : role;
    const [own, client] = [await siteward([]), await watch(broker.url(), login(role), [])];
    const expected = as(name, among(readable[role]));
    const publish = (topic: string) => own.client.publishAsync(topic, 'x', { qos: 1 });
    expect(await heardBy(client, as(name, topics), publish, expected.at(-1))).toEqual(expected);
    for (const { client: one } of [own, client]) await one.endAsync(true);
  });

  it.each([...mine, 'local'] as const)('lets %s write its topics and cuts it at any other', async (role) => {
    const own = await siteward(['#']);
    let client: Watcher | undefined;
    let cuts = 0;
    for (const topic of topics) {
      client ??= await watch(broker.url(), login(role), []);
      client.client.setMaxListeners(0);
      const gone = new Promise<'cut'>((resolve) => client?.client.once('close', () => resolve('cut')));
      const sent = client.client.publishAsync(topic, role, { qos: 1 }).then(
        () => 'sent',
        () => 'cut',
      );
      if ((await Promise.race([sent, gone])) === 'sent') continue;
      cuts += 1;
      await client.client.endAsync(true);
      client = undefined;
    }
    const allowed = among(writable[role]);
    const got = () => topics.filter((topic) => own.packets.some((packet) => packet.topic === topic));
    if (allowed.length > 0) await until(() => got().includes(allowed.at(-1) ?? ''), 'the last message');
    expect(got()).toEqual(allowed);
    // A panel must not be lost for what else its bridge says.
    expect(cuts).toBe(role === 'bridge' ? 0 : topics.length - allowed.length);
    await client?.client.endAsync(true);
    await own.client.endAsync(true);
  });
});

describe.skipIf(mosquittoPath === undefined)('mosquitto as siteward provisions it (needs mosquitto)', () => {
  // mosquitto does not tell who publishes: `siteward check` refuses this role there.
  const there = mine.filter((role) => role !== 'ha-trusted');
  let site: Provisioned;
  beforeAll(async () => {
    const clients = there.map((role) => `{ id: ${role}, role: ${role}${role === 'bridge' ? ', panels: [main]' : ''} }`);
    site = await provisioned(clients, '  home_assistant: {}\n');
  }, 60_000);
  afterAll(() => site?.stop());

  // A bridge has the topics of its panel's profile and no more here.
  const reads = (role: Role) => (role === 'bridge' ? '! paradox/control/partitions/Area_1' : readable[role]);
  const writes = (role: Role) => (role === 'bridge' ? '! paradox/states/zones/Front/open' : writable[role]);

  it.each(there)('lets %s read its topics and no other', async (role) => {
    const probe = await watch(site.ownUrl, site.login('probe', 5), []);
    const client = await watch(site.lanUrl, site.login(role, 4), []);
    const expected = as(role, among(reads(role)));
    const publish = (topic: string) => probe.client.publishAsync(topic, 'x', { qos: 1 });
    expect(await heardBy(client, as(role, topics), publish, expected.at(-1))).toEqual(expected);
    for (const { client: one } of [probe, client]) await one.endAsync(true);
  });

  it.each(there.flatMap((role) => [[role, 4] as const, [role, 5] as const]))(
    'lets %s write its topics and no other (MQTT %i)',
    async (role, version) => {
      const probe = await watch(site.ownUrl, site.login('probe', 5), ['#']);
      const client = await watch(site.lanUrl, site.login(role, version), []);
      const acknowledged: string[] = [];
      const reasons = new Set<unknown>();
      for (const topic of topics) {
        await client.client.publishAsync(topic, role, { qos: 1 }).then(
          () => acknowledged.push(topic),
          (error) => reasons.add(error.code),
        );
      }
      const allowed = among(writes(role));
      await probe.client.subscribeAsync('nothing');
      const got = topics.filter((topic) => probe.packets.some((packet) => packet.topic === topic));
      expect(got).toEqual(allowed);
      // 3.1.1 has no negative answer: everything is acknowledged.
      expect(acknowledged).toEqual(version === 4 ? topics : allowed);
      expect([...reasons]).toEqual(version === 4 ? [] : [135]);
      for (const { client: one } of [probe, client]) await one.endAsync(true);
    },
  );

  it('lets siteward hear and answer its own site, its panels and Home Assistant, and nothing else', async () => {
    const probe = await watch(site.ownUrl, site.login('probe', 5), ['#']);
    const own = await watch(site.ownUrl, site.login('siteward', 5), []);
    const refused: string[] = [];
    for (const topic of topics)
      await own.client.publishAsync(topic, 'x', { qos: 1 }).catch(() => void refused.push(topic));
    expect(refused).toEqual(['homeassistant/status', 'paradox/states/zones/Front/open', ...topics.slice(-4)]);
    for (const { client } of [probe, own]) await client.endAsync(true);
  });

  it('takes no one without a name or with a wrong password, and no TLS below 1.2', async () => {
    const tries = async (change: IClientOptions) => {
      const client = mqtt.connect(site.lanUrl, { ...site.login('viewer', 4), ...change });
      const outcome = await new Promise((resolve) => {
        client.once('connect', () => resolve('in'));
        client.once('error', (error) => resolve('code' in error ? error.code : 'error'));
      });
      await client.endAsync(true);
      return outcome;
    };
    expect(await tries({})).toBe('in');
    expect(await tries({ password: 'wrong' })).toBe(5);
    expect(await tries({ username: 'siteward', password: 'wrong' })).toBe(5);
    expect(await tries({ username: '', password: '' })).toBe(5);
    // Who does not trust the authority of the site finds a stranger there.
    expect(await tries({ ca: [] })).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
    const speaks = (version: SecureVersion) =>
      new Promise((resolve) => {
        const { ca } = site.login('viewer', 4);
        const limits = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT:@SECLEVEL=0' };
        const socket = connect({ host: '127.0.0.1', port: site.ports.lan, ca: ca as string, ...limits });
        socket.once('secureConnect', () => resolve(socket.getProtocol()));
        socket.once('error', () => resolve('refused'));
        socket.once('close', () => socket.destroy());
      });
    expect([await speaks('TLSv1.1'), await speaks('TLSv1.2'), await speaks('TLSv1.3')]).toEqual([
      ...['refused', 'TLSv1.2', 'TLSv1.3'],
    ]);
  });

  it('tells siteward when its certificate ends', async () => {
    const ends: (number | undefined)[] = [];
    const connect = { url: site.ownUrl, ca: readFileSync(join(site.dir, 'ca.crt'), 'utf8'), ...siteward(site) };
    const rig = { kind: 'mosquitto', url: site.ownUrl, connect } as unknown as TestBroker;
    const { lan } = await startLan(rig, fakeSite(), { onCertificate: (at) => ends.push(at) });
    const { validToDate } = new X509Certificate(readFileSync(join(site.dir, 'server.crt')));
    expect(ends).toContain(validToDate.getTime());
    await lan.stop();
  });

  it("gives no one the place of siteward: a client's id is its user name", async () => {
    const own = await watch(site.ownUrl, site.login('siteward', 5), []);
    let kicked = false;
    own.client.once('close', () => {
      kicked = true;
    });
    const thief = await watch(site.lanUrl, { ...site.login('viewer', 5), clientId: 'siteward-hq' }, []);
    await own.client.publishAsync(`${root}/status`, 'online', { qos: 1 });
    expect(kicked).toBe(false);
    // Of two connections of one account the first is closed.
    const first = new Promise<void>((resolve) => thief.client.once('close', () => resolve()));
    const second = await watch(site.lanUrl, site.login('viewer', 5), []);
    await first;
    for (const { client } of [own, thief, second]) await client.endAsync(true);
  });
});
