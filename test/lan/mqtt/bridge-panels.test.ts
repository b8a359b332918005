import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { certifier } from '#box/certificates.ts';
import { embeddedBroker } from '../../../src/daemon/broker.ts';
import type { Broker } from '../../../src/lan/mqtt/index.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { memoryLog, until, type Watcher, watch } from './harness.ts';

/** What the daemon gives a panel bridge at its own broker. */
describe('a bridge whose panels are named, at the embedded broker', () => {
  const password = new Secret('bridge-password');
  const metrics = new Registry();
  let broker: Broker;
  let watchers: Watcher[] = [];

  beforeEach(async () => {
    const clients = [
      { id: 'known', role: 'bridge', password, panels: ['main'] },
      { id: 'open', role: 'bridge', password },
    ];
    const settings = {
      mqtt: { clients, names: [], tls: false, listen: '127.0.0.1:0' },
      site: { external_id: 'hq' },
      store: { dir: '/nonexistent' },
      panels: [{ id: 'main', profile: 'pai', vars: { b: 'paradox' }, partitions: { p1: '1' }, zones: {} }],
    };
    const profiles = [join(import.meta.dirname, '../../../config/panels')];
    broker = embeddedBroker(settings as never, profiles, { certify: certifier(), log: memoryLog().log, metrics });
    await broker.start(new AbortController().signal);
  });
  afterEach(async () => {
    for (const { client } of watchers.splice(0)) await client.endAsync(true);
    watchers = [];
    await broker.stop();
  });

  async function login(username: string, filters: string[] = []): Promise<Watcher> {
    const watcher = await watch(broker.url(), { username, password: password.reveal() }, filters);
    watchers.push(watcher);
    return watcher;
  }

  it('has the topics of their profiles and no others', async () => {
    const all = await login('open', ['paradox/#', 'other/#']);
    const known = await login('known', ['paradox/control/partitions/#']);
    await known.client.publishAsync('other/states', 'x', { qos: 1 });
    await known.client.publishAsync('paradox/states/zones/Front/open', 'True', { qos: 1 });
    await until(() => all.packets.length > 0, 'a state');
    expect(all.packets.map(({ topic }) => topic)).toEqual(['paradox/states/zones/Front/open']);
    await expect(known.client.subscribeAsync('other/#', { qos: 1 })).rejects.toThrow();
    await all.client.publishAsync('paradox/control/partitions/1', 'arm', { qos: 1 });
    await until(() => known.packets.length > 0, 'a command of its panel');
  });
});
