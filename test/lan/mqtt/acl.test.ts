import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessOf, mosquittoAcl } from '../../../src/lan/mqtt/acl.ts';
import { roles } from '../../../src/lan/mqtt/table.ts';
import { matches, overlaps } from '../../../src/lan/mqtt/topics.ts';
import { mosquittoPath, root, startMosquitto, type TestBroker, until, watch } from './harness.ts';
import { expand, readable, topics, writable } from './rights.ts';

describe('topic filters', () => {
  it.each([
    ['a/+/c', 'a/b/c', true],
    ['a/#', 'a', true],
    ['a/#', 'a/b/c', true],
    ['#', '$SYS/broker', false],
    ['+/x', '$SYS/x', false],
    ['a/+', 'a', false],
    ['a/+', 'a/b/c', false],
    ['a', 'a/b', false],
  ])('%s takes %s: %s', (filter, topic, expected) => {
    expect(matches(filter, topic)).toBe(expected);
  });

  it('overlap when some topic fits both', () => {
    expect(overlaps('a/+/c', '+/b/#')).toBe(true);
    expect(overlaps('a/+', 'a/b/+')).toBe(false);
  });
});

describe('the roles', () => {
  const others = roles.filter((role) => role !== 'siteward');
  it.each(others)('%s reads and writes what the notes give it and nothing else', (role) => {
    const access = accessOf(root, role, 'me', 'homeassistant');
    expect(topics.filter(access.mayReceive)).toEqual(topics.filter((topic) => expand(readable[role]).includes(topic)));
    expect(topics.filter(access.mayPublish)).toEqual(topics.filter((topic) => expand(writable[role]).includes(topic)));
  });

  it.each(others)('%s has no right to a command without a verb, and is told of one there is not', (role) => {
    const { mayPublish } = accessOf(root, role, 'me');
    expect([`${root}/cmd/`, `${root}/cmd`, `${root}/cmd//`].filter(mayPublish)).toEqual([]);
    const commands = (writable[role] ?? '').includes('cmd/');
    expect(mayPublish(`${root}/cmd/explode`)).toBe(commands);
  });

  it.each(others)('%s gets no filter that could see a command', (role) => {
    const access = accessOf(root, role, 'me');
    const filters = [
      '#',
      '+/#',
      'siteward/#',
      `${root}/#`,
      `${root}/cmd/#`,
      `${root}/cmd/arm`,
      `${root}/+/#`,
      `${root}/+/arm`,
    ];
    expect(filters.filter(access.maySubscribe)).toEqual([]);
  });

  it('lets Home Assistant subscribe as it does, and only where it is configured', () => {
    for (const filter of ['homeassistant/#', 'homeassistant/+/+/config', 'homeassistant/+/+/+/config']) {
      expect(accessOf(root, 'ha', 'me', 'homeassistant').maySubscribe(filter)).toBe(true);
      expect(accessOf(root, 'ha', 'me').maySubscribe(filter)).toBe(false);
      expect(accessOf(root, 'viewer', 'me', 'homeassistant').maySubscribe(filter)).toBe(false);
    }
    expect(accessOf(root, 'ha', 'me').mayPublish('homeassistant/status')).toBe(false);
  });

  it('may subscribe with wildcards over what they may read', () => {
    expect(accessOf(root, 'viewer', 'me').maySubscribe(`${root}/zone/#`)).toBe(true);
    expect(accessOf(root, 'viewer', 'me').maySubscribe(`${root}/event/#`)).toBe(false);
    expect(accessOf(root, 'bridge', 'me').maySubscribe('paradox/#')).toBe(true);
  });
});

describe('the ACL file of mosquitto', () => {
  it('refuses ids and filters that would reach further than they say', () => {
    expect(() => mosquittoAcl(root, [{ id: 'a\ntopic #', role: 'viewer' }])).toThrow(TypeError);
    expect(() => mosquittoAcl(root, [{ id: 'siteward', role: 'viewer' }])).toThrow(TypeError);
    for (const filter of ['#', '+/1/hq/cmd/arm', `${root}/cmd/arm`, 'x\nuser siteward']) {
      expect(() => mosquittoAcl(root, [{ id: 'b', role: 'bridge', panels: { tells: [], takes: [filter] } }])).toThrow();
    }
  });
});

const passwd = existsSync('/usr/bin/mosquitto_passwd');
describe.skipIf(mosquittoPath === undefined || !passwd)('a real mosquitto with that file (needs mosquitto)', () => {
  let broker: TestBroker;
  const clients = [
    { id: 'kp1', role: 'keypad' },
    { id: 'tablet', role: 'viewer' },
    { id: 'relay', role: 'platform' },
    { id: 'paradox', role: 'bridge', panels: { tells: ['paradox/states/#'], takes: ['paradox/control/#'] } },
  ] as const;
  const login = (username: string) => ({ username, password: 'pw-of-everyone', clientId: `test-${username}` });

  beforeAll(async () => {
    const extra = (folder: string) => {
      writeFileSync(join(folder, 'acl'), mosquittoAcl(root, clients, { panels: clients[3].panels }), { mode: 0o600 });
      writeFileSync(join(folder, 'passwd'), '', { mode: 0o600 });
      for (const id of ['siteward', ...clients.map((client) => client.id)]) {
        execFileSync('/usr/bin/mosquitto_passwd', ['-b', join(folder, 'passwd'), id, 'pw-of-everyone'], {
          stdio: 'ignore',
        });
      }
      return `allow_anonymous false\nacl_file ${join(folder, 'acl')}\npassword_file ${join(folder, 'passwd')}`;
    };
    broker = await startMosquitto({ extra });
  });
  afterAll(() => broker?.stop());

  it('lets each role read and write what the table says', async () => {
    const all = ['#'];
    const siteward = await watch(broker.url, login('siteward'), all);
    const keypad = await watch(broker.url, login('kp1'), all);
    const viewer = await watch(broker.url, login('tablet'), all);
    const bridge = await watch(broker.url, login('paradox'), all);
    const ours = ['status', 'reply/kp1/1', 'reply/tablet/1', 'event/arming', 'event/alarm'];
    for (const topic of ours) await siteward.client.publishAsync(`${root}/${topic}`, 'x', { qos: 1 });
    for (const { client } of [keypad, viewer, bridge]) {
      for (const topic of [`${root}/cmd/arm`, `${root}/status`, 'paradox/states/z']) {
        await client.publishAsync(topic, client.options.username ?? '', { qos: 1 });
      }
    }
    await siteward.client.publishAsync('paradox/control/end', 'end', { qos: 1 });
    await siteward.client.publishAsync(`${root}/status`, 'end', { qos: 1 });
    await until(() => bridge.packets.length > 0 && viewer.texts('status').includes('end'), 'the last message');
    await until(() => keypad.texts('status').includes('end') && siteward.texts('status').includes('end'), 'the end');
    const seen = (watcher: typeof keypad) => watcher.packets.map((packet) => `${packet.topic}=${packet.payload}`);
    expect(seen(keypad)).toEqual([
      ...[`${root}/status=x`, `${root}/reply/kp1/1=x`, `${root}/event/arming=x`, `${root}/status=end`],
    ]);
    expect(seen(viewer)).toEqual([`${root}/status=x`, `${root}/status=end`]);
    expect(seen(bridge)).toEqual(['paradox/control/end=end']);
    const heard = seen(siteward).filter((line) => !/=(x|end)$/.test(line));
    expect(heard).toEqual([`${root}/cmd/arm=kp1`, 'paradox/states/z=paradox']);
    for (const { client } of [siteward, keypad, viewer, bridge]) await client.endAsync(true);
  });

  it('lets the platform alone hand on a request to verify, and do nothing else', async () => {
    const siteward = await watch(broker.url, login('siteward'), ['#']);
    const relay = await watch(broker.url, login('relay'), ['#']);
    const keypad = await watch(broker.url, login('kp1'), []);
    for (const { client } of [keypad, relay]) {
      const name = client.options.username ?? '';
      for (const topic of ['in/verification', 'in/other', 'cmd/verify', 'verification/v1'])
        await client.publishAsync(`${root}/${topic}`, name, { qos: 1 });
    }
    for (const topic of ['reply/relay/1', 'reply/kp1/1', 'verification/v1', 'status'])
      await siteward.client.publishAsync(`${root}/${topic}`, 'x', { qos: 1 });
    await siteward.client.publishAsync(`${root}/reply/relay/end`, 'end', { qos: 1 });
    await until(() => relay.texts('reply/relay/end').length > 0, 'the end');
    await until(() => siteward.texts('reply/relay/end').length > 0, 'the end');
    const seen = (watcher: typeof relay) => watcher.packets.map((packet) => `${packet.topic}=${packet.payload}`);
    expect(seen(siteward).filter((line) => !/=(x|end)$/.test(line))).toEqual([`${root}/in/verification=relay`]);
    expect(seen(relay)).toEqual([`${root}/reply/relay/1=x`, `${root}/reply/relay/end=end`]);
    for (const { client } of [siteward, relay, keypad]) await client.endAsync(true);
  });
});
