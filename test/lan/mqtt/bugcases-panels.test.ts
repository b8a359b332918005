import { connectAsync } from 'mqtt';
import { afterEach, describe, expect, it } from 'vitest';
import { type Rig, replyTo } from '../../system-input/rig.ts';
import { armings, code, detail, isThere, kinds, lookedAt, messagesOf, nameOf, play, siteWith } from './bugcases.ts';

/** Reports about panels and rights. 9 and 11 are in `lan-state.test.ts`, 55 and 57 in `dc09.test.ts`. */
describe.skipIf(!isThere).each(kinds)('reports of panels on a site with %s (needs ../shared)', (broker) => {
  let rig: Rig;
  afterEach(() => rig?.close());

  const dsc = '  - { id: dsc, profile: dscalarm-mqtt, partitions: { p1: "1" } }\n';
  async function dscSite(state: 'armed_away' | 'disarmed'): Promise<void> {
    rig = await siteWith(broker, dsc);
    await rig.lan.publish('dsc-alarm/status', 'online', true);
    await rig.lan.publish('dsc-alarm/keybus', 'on', true);
    await rig.lan.publish('dsc-alarm/partition/1/state', state);
    await rig.lan.shows('partition/p1/availability', 'online');
    await rig.lan.shows('partition/p1/state', state);
  }

  it(nameOf(15), async () => {
    await dscSite('armed_away');
    await play(rig, 15);
    await rig.lan.shows('partition/p1/availability', 'offline');
    expect([rig.lan.topics.get('partition/p1/state'), detail(rig).stale]).toEqual(['armed_away', true]);
    const reply = await rig.lan.command('arm', { partition: 'p1', mode: 'away', code });
    expect(reply).toMatchObject({ outcome: 'refused', error: { code: 'PANEL_OFFLINE' } });
  });

  it(nameOf(39), async () => {
    await dscSite('disarmed');
    const sent: string[] = [];
    rig.lan.client.on('message', (topic) => void sent.push(topic));
    await rig.lan.client.subscribeAsync('dsc-alarm/partition/+/armed/set');
    const [message] = await play(rig, 39);
    const refused = { outcome: 'refused', error: { code: 'NOT_ALLOWED' } };
    expect(await replyTo(rig.lan.heard, message?.id ?? '')).toMatchObject(refused);
    await lookedAt(rig);
    expect(sent.filter((topic) => topic.startsWith('dsc-alarm/'))).toEqual([]);
    // The panel's first word is told as its own.
    expect([rig.lan.topics.get('partition/p1/state'), armings(rig)]).toEqual(['disarmed', ['disarmed']]);
  });

  // A mosquitto with rights is in `acl-matrix.test.ts`: a viewer writes no command there.
  const embeddedOnly = broker === 'embedded' ? it : () => undefined;
  embeddedOnly(nameOf(51), async () => {
    rig = await siteWith(broker, dsc, ', clients: [ { id: viewer, role: viewer, password: { env: CASE_CODE } } ]');
    await rig.lan.publish('dsc-alarm/status', 'online', true);
    await rig.lan.publish('dsc-alarm/keybus', 'on', true);
    await rig.lan.publish('dsc-alarm/partition/1/state', 'armed_away');
    await rig.lan.shows('partition/p1/state', 'armed_away');
    const viewer = await connectAsync(rig.mqttUrl, {
      ...{ clientId: 'viewer', username: 'viewer', password: code, reconnectPeriod: 0 },
    });
    rig.also(() => viewer.endAsync(true));
    const [message] = messagesOf(51);
    if (message === undefined) throw new Error('one message');
    const cut = new Promise<void>((resolve) => viewer.once('close', () => resolve()));
    viewer.on('error', () => undefined);
    void viewer.publishAsync(message.topic, message.payload, { qos: 1 }).catch(() => undefined);
    await cut;
    await lookedAt(rig);
    expect(rig.lan.topics.get('partition/p1/state')).toBe('armed_away');
    expect(rig.lan.heard.filter(({ payload }) => payload.includes(message.id))).toEqual([]);
  });
});
