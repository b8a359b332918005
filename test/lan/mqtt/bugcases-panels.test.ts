import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { type Rig, replyTo } from '../../system-input/rig.ts';
import {
  arm,
  armings,
  code,
  detail,
  isThere,
  kinds,
  listening,
  lookedAt,
  messagesOf,
  nameOf,
  pai,
  play,
  siteWith,
  zoneDetail,
} from './bugcases.ts';

/** Reports about panels and rights. */
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

  /** What a panel is told there. */
  async function listenTo(filter: string): Promise<string[]> {
    const sent: string[] = [];
    const head = filter.split('/', 1)[0] ?? '';
    rig.lan.client.on('message', (topic, payload) => {
      if (topic === filter || (filter.endsWith('#') && topic.startsWith(`${head}/control/`)))
        sent.push(payload.toString());
    });
    await rig.lan.client.subscribeAsync(filter);
    return sent;
  }

  async function paiSays(state: string): Promise<void> {
    await rig.lan.publish('paradox/interface/availability', 'online', true);
    await rig.lan.publish('paradox/states/partitions/Area_1/current_state', state, true);
    await rig.lan.shows('partition/p1/availability', 'online');
    await rig.lan.shows('partition/p1/state', state);
  }

  it(nameOf(15), async () => {
    await dscSite('armed_away');
    await play(rig, 15);
    await rig.lan.shows('partition/p1/availability', 'offline');
    await eventually('its detail', () => (detail(rig).stale === true ? true : undefined));
    expect(rig.lan.topics.get('partition/p1/state')).toBe('armed_away');
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

  it(nameOf(29), async () => {
    rig = await siteWith(broker, '  - { id: qolsys, profile: qolsysgw, partitions: { p1: ["0", partition1] } }\n');
    const base = 'homeassistant/alarm_control_panel/qolsys_panel';
    const sent = await listenTo(`${base}/set`);
    const template = '{"action": "{{ action }}", "session_token": "k3y"}';
    await rig.lan.publish(`${base}/availability`, 'online', true);
    await rig.lan.publish(`${base}/partition1/config`, JSON.stringify({ command_template: template }), true);
    await rig.lan.publish(`${base}/partition1/state`, 'pending');
    await rig.lan.shows('partition/p1/state', 'pending');
    const [command, answer] = messagesOf(29);
    if (command === undefined || answer === undefined) throw new Error('two messages');
    await rig.lan.publish(command.topic, command.payload);
    await eventually('the command at the panel', () => (sent.length > 0 ? true : undefined));
    await rig.lan.publish(answer.topic, answer.payload);
    const refused = { outcome: 'refused', error: { code: 'LOCKED' } };
    expect(await replyTo(rig.lan.heard, command.id)).toMatchObject(refused);
    const noted = { kind: 'refusal', target: 'p1', action: 'disarm', reason: 'LOCKED' };
    expect(await rig.audit()).toContainEqual(expect.objectContaining(noted));
    expect(rig.lan.topics.get('partition/p1/state')).toBe('pending');
    await rig.lan.publish(`${base}/partition1/state`, 'triggered');
    await rig.lan.shows('partition/p1/state', 'triggered');
    expect(armings(rig)).toEqual([]);
  });

  it(nameOf(33), async () => {
    rig = await siteWith(broker, '  - { id: dsc, profile: dsc-keybus, partitions: { p1: "1" } }\n');
    const sent = await listenTo('dsc/Set');
    await rig.lan.publish('dsc/Status', 'online', true);
    await rig.lan.publish('dsc/Get/Partition1', 'armed_home', true);
    await rig.lan.shows('partition/p1/state', 'armed_home');
    const [message] = await play(rig, 33);
    const refused = { outcome: 'refused', error: { code: 'NOT_ALLOWED', field: 'mode' } };
    expect(await replyTo(rig.lan.heard, message?.id ?? '')).toMatchObject(refused);
    await lookedAt(rig);
    expect([sent, rig.lan.topics.get('partition/p1/state')]).toEqual([[], 'armed_home']);
    // What is there already needs no change, and disarmed the panel takes any mode.
    expect(await rig.lan.command('arm', { partition: 'p1', mode: 'home', code })).toMatchObject({ outcome: 'already' });
    await rig.lan.publish('dsc/Get/Partition1', 'disarmed', true);
    await rig.lan.shows('partition/p1/state', 'disarmed');
    const away = rig.lan.command('arm', { partition: 'p1', mode: 'away', code });
    await eventually('the command at the panel', () => (sent.length > 0 ? true : undefined));
    await rig.lan.publish('dsc/Get/Partition1', 'armed_away', true);
    expect([(await away).outcome, sent]).toEqual(['done', ['1A']]);
  });

  // It has no code, so the site is one where disarming takes none; `panel-bypass.test.ts` has the others.
  it(nameOf(35), async () => {
    rig = await siteWith(broker, `${pai}arming: { disarm_code: optional }\n`);
    const sent = await listenTo('paradox/control/#');
    await paiSays('disarmed');
    await rig.lan.publish('paradox/states/zones/7/open', 'False', true);
    await rig.lan.shows('zone/7/state', 'OFF');
    await eventually('its detail', () => (zoneDetail(rig, '7').open === false ? true : undefined));
    const before = rig.lan.topics.get('zone/7/detail');
    const [message] = await play(rig, 35);
    const unconfirmed = { outcome: 'unconfirmed', error: { code: 'UNCONFIRMED' } };
    expect(await replyTo(rig.lan.heard, message?.id ?? '')).toMatchObject(unconfirmed);
    expect(sent).toEqual(['bypass']);
    expect([before, zoneDetail(rig, '7').bypassed]).toEqual([rig.lan.topics.get('zone/7/detail'), false]);
    // Its word counts whenever it comes.
    await rig.lan.publish('paradox/states/zones/7/bypassed', 'True', true);
    await eventually('the bypass', () => (zoneDetail(rig, '7').bypassed === true ? true : undefined));
  });

  // `test/devices/panels/no-restore.test.ts` lets the two minutes of the profile as shipped pass.
  it(nameOf(47), async () => {
    rig = await siteWith(broker, pai);
    const shipped = new URL('../../../config/panels/vista-ecp.json', import.meta.url);
    const quick = { ...JSON.parse(readFileSync(shipped, 'utf8')), id: 'vista-quick', zone_open_s: 10 };
    mkdirSync(join(rig.folder, 'panels'));
    writeFileSync(join(rig.folder, 'panels', 'vista-quick.json'), JSON.stringify(quick));
    rig.configure(`partitions: [ { id: p1, name: One } ]
panels: [ { id: vista, profile: vista-quick, partitions: { p1: "1" }, zones: { "12": { type: perimeter } } } ]
`);
    await rig.daemon.stop();
    await rig.start();
    await listening(rig);
    await rig.lan.publish('Vista/Get/Partition1/Status', 'disarmed');
    await rig.lan.shows('partition/p1/state', 'disarmed');
    await play(rig, 47);
    await rig.lan.shows('zone/12/state', 'ON');
    await eventually('it open', () => (zoneDetail(rig, '12').open === true ? true : undefined));
    await rig.lan.shows('zone/12/state', undefined);
    await eventually('its detail', () => (zoneDetail(rig, '12').open === null ? true : undefined));
    expect((await rig.events()).filter(({ event }) => event.class !== 'system' && event.zone === '12')).toEqual([]);
    await play(rig, 47);
    await rig.lan.shows('zone/12/state', 'ON');
  });

  it(`${nameOf(49)}; what siteward judges itself stays triggered and watched`, async () => {
    rig = await siteWith(broker);
    await rig.lan.publish('zigbee2mqtt/front_door', '{"contact":false}');
    await rig.lan.shows('zone/12/state', 'ON');
    await arm(rig, { bypass: ['12'] });
    await rig.lan.publish('zigbee2mqtt/hall', '{"contact":false}');
    await rig.lan.shows('partition/p1/state', 'triggered');
    expect(await rig.lan.command('silence', { partition: 'p1', code })).toMatchObject({ outcome: 'done' });
    await rig.lan.publish('zigbee2mqtt/hall', '{"contact":true}');
    await rig.lan.publish('zigbee2mqtt/front_door', '{"contact":true}');
    await rig.lan.publish('zigbee2mqtt/front_door', '{"contact":false}');
    await rig.lan.publish('zigbee2mqtt/hall', '{"contact":false}');
    const alarms = async () =>
      (await rig.events()).filter(({ event }) => event.class === 'alarm' && event.status === 'active');
    await eventually('the next alarm', async () => ((await alarms()).length >= 2 ? true : undefined));
    expect((await alarms()).map(({ event }) => event.zone)).toEqual(['7', '7']);
    await eventually('its detail', () => (detail(rig).state === 'triggered' ? true : undefined));
    expect(detail(rig)).toMatchObject({ mode: 'away', bypassed: ['12'] });
  });

  it(nameOf(49), async () => {
    rig = await siteWith(broker, pai);
    await paiSays('disarmed');
    await rig.lan.publish('paradox/states/zones/12/open', 'True', true);
    await rig.lan.publish('paradox/states/zones/12/bypassed', 'True', true);
    await paiSays('armed_away');
    await eventually('the bypass', () => (zoneDetail(rig, '12').bypassed === true ? true : undefined));
    await rig.lan.publish('paradox/states/zones/7/open', 'True', true);
    await rig.lan.publish('paradox/states/zones/7/alarm', 'True', true);
    await paiSays('triggered');
    await rig.lan.publish('paradox/states/zones/7/alarm', 'False', true);
    await rig.lan.publish('paradox/states/zones/7/open', 'False', true);
    await paiSays('armed_away');
    await eventually('its detail', () => (detail(rig).state === 'armed_away' ? true : undefined));
    expect(detail(rig)).toMatchObject({ bypassed: ['12'] });
    expect(zoneDetail(rig, '12')).toMatchObject({ open: true, bypassed: true, alarm: false });
    const alarms = (await rig.events()).filter(({ event }) => event.class === 'alarm' && event.status === 'active');
    expect(alarms.map(({ event }) => event.zone)).toEqual(['7']);
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
