import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { profileIds } from '#devices/panels/index.ts';
import { type Broker, startBroker, until } from './broker.ts';
import { panel, preset, presets, type Rig, startPanels } from './helpers.ts';

/** 10,000 different messages that no profile can use, through a real broker, for each supported preset. */
interface Storm {
  /** A topic whose values the profile knows, and a message in its form with a word that it does not. */
  readonly topic: string;
  readonly nonsense: (n: number) => string;
  readonly panel?: Readonly<Record<string, unknown>>;
  /** A good message at the end, on a topic of its own or the same. */
  readonly good: readonly [topic: string, payload: string];
}

const storms: Readonly<Record<string, Storm>> = {
  pai: {
    topic: 'paradox/states/partitions/Area_1/current_state',
    nonsense: (n) => `dream ${n}x`,
    panel: { partitions: { p1: 'Area_1' } },
    good: ['paradox/states/partitions/Area_1/current_state', 'armed_away'],
  },
  'dsc-keybus': {
    topic: 'dsc/Get/Partition1',
    nonsense: (n) => `dream ${n}x`,
    good: ['dsc/Get/Partition1', 'armed_away'],
  },
  'envisalink-open-zone': {
    topic: 'tele/envisalink/partition/1',
    nonsense: (n) => `{"state":"dream-${n}x"}`,
    good: ['tele/envisalink/partition/1', '{"state":"armed-away"}'],
  },
  ad2iot: {
    topic: 'ad2iot/u/zones/1',
    nonsense: (n) => `{"zone":1,"state":"DREAM${n}X"}`,
    panel: { vars: { uuid: 'u' }, zones: { '1': { type: 'perimeter' } } },
    good: ['ad2iot/u/zones/1', '{"zone":1,"state":"OPEN"}'],
  },
  texecom2mqtt: {
    topic: 'texecom2mqtt/area/house',
    nonsense: (n) => `{"number":1,"status":"dream_${n}x"}`,
    panel: { partitions: { p1: 'house' } },
    good: ['texecom2mqtt/area/house', '{"number":1,"status":"full_armed"}'],
  },
  qolsysgw: {
    topic: 'homeassistant/alarm_control_panel/qolsys_panel/partition0/state',
    nonsense: (n) => `dream_${n}x`,
    panel: { partitions: { p1: ['0', 'partition0'] } },
    good: ['homeassistant/alarm_control_panel/qolsys_panel/partition0/state', 'armed_away'],
  },
  alarmo: {
    topic: 'alarmo/state',
    nonsense: (n) => `dream_${n}x`,
    panel: { partitions: { p1: 'master' } },
    good: ['alarmo/state', 'armed_away'],
  },
  'ha-alarm-panel': { topic: 'home/alarm', nonsense: (n) => `dream_${n}x`, good: ['home/alarm', 'armed_away'] },
  zigbee2mqtt: {
    topic: 'zigbee2mqtt/door',
    nonsense: (n) => `{"contact":"dream ${n}x"}`,
    panel: { zones: { '1': { type: 'perimeter', key: 'door' } } },
    good: ['zigbee2mqtt/door', '{"contact":false}'],
  },
  'tasmota-switch': {
    topic: 'stat/door/SWITCH1',
    nonsense: (n) => `{"ACTION":"DREAM${n}X"}`,
    panel: { zones: { '1': { type: 'perimeter', key: 'door_Switch1' } } },
    good: ['stat/door/SWITCH1', '{"ACTION":"ON"}'],
  },
  'shelly-gen1': {
    topic: 'shellies/door/sensor/state',
    nonsense: (n) => `dream ${n}x`,
    panel: { zones: { '1': { type: 'perimeter', key: 'door' } } },
    good: ['shellies/door/sensor/state', 'open'],
  },
  'shelly-gen2': {
    topic: 'shelly/status/input:0',
    nonsense: (n) => `{"id":0,"state":"dream ${n}x"}`,
    panel: { vars: { b: 'shelly' }, zones: { '1': { type: 'perimeter', key: 'input:0' } } },
    good: ['shelly/status/input:0', '{"id":0,"state":true}'],
  },
  'generic-contact': {
    topic: 'contact/1',
    nonsense: (n) => `dream ${n}x`,
    panel: { vars: { b: 'contact' }, zones: { '1': { type: 'perimeter' } } },
    good: ['contact/1', 'open'],
  },
};

const count = 10_000;

let broker: Broker;
const rigs: Rig[] = [];
beforeAll(async () => {
  broker = await startBroker(['max_inflight_messages 0', 'max_queued_messages 0']);
});
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.stop();
});
afterAll(() => broker.close());

const states = (rig: Rig) => rig.signals.filter(({ kind }) => kind === 'zone' || kind === 'partition');

async function resultsOf(rig: Rig): Promise<Record<string, number>> {
  const metric = await rig.metrics.getSingleMetric('siteward_panel_messages_total')?.get();
  return Object.fromEntries((metric?.values ?? []).map(({ labels, value }) => [String(labels.result), value]));
}

describe('a storm of words nobody knows', () => {
  it('is tried with every supported preset', () => {
    const supported = profileIds([presets]).filter((id) => (preset(id) as { supported?: boolean }).supported === true);
    expect(Object.keys(storms).sort()).toEqual([...supported].sort());
  });

  it.each(Object.entries(storms))(
    'of %s stays within bounds, changes nothing, and the panel is still read',
    {
      timeout: 60_000,
    },
    async (id, { topic, nonsense, panel: given, good }) => {
      const rig = await startPanels({
        url: broker.url,
        panels: [panel({ id: 'main', profile: id, ...given })],
        siteSlug: `storm-${id}`,
      });
      rigs.push(rig);
      await until(() => rig.panels.health().state === 'ok', 'the subscription');
      const before = rig.lines.length;
      const client = await broker.client();
      const send = (to: string, payload: string | Buffer) => client.publishAsync(to, payload, { qos: 1 });
      for (let n = 0; n < count; n += 200)
        await Promise.all(Array.from({ length: 200 }, (_, more) => send(topic, nonsense(n + more))));
      for (const broken of ['{"a":', '\u0000', Buffer.from([0xff, 0xfe]), Buffer.alloc(70_000, 0x7b), '[[[[', 'null'])
        await send(topic, broken);
      const unused = states(rig).length;
      await send(...good);
      await until(() => states(rig).length > unused, 'the good message');
      expect(unused).toBe(0);
      const results = await resultsOf(rig);
      expect(results.unmapped).toBeGreaterThanOrEqual(count);
      expect(results.dropped).toBeGreaterThanOrEqual(2);
      expect(rig.lines.length - before).toBeLessThan(12);
      expect(rig.panels.hints().length).toBeLessThanOrEqual(64 + 2);
      for (const { values } of rig.panels.hints()) expect(values.length).toBeLessThanOrEqual(8);
    },
  );

  it('a topic as long as MQTT has them is nobody’s, and what follows is read', async () => {
    const rig = await startPanels({ url: broker.url, panels: [panel({ id: 'main', profile: 'dsc-keybus' })] });
    rigs.push(rig);
    await until(() => rig.panels.health().state === 'ok', 'the subscription');
    const client = await broker.client();
    await client.publishAsync(`dsc/Get/Partition${'1'.repeat(65_000)}`, 'armed_away', { qos: 1 });
    await client.publishAsync('dsc/Get/Partition1', 'armed_away', { qos: 1 });
    await until(() => states(rig).length > 0, 'the state');
    expect(states(rig)).toMatchObject([{ kind: 'partition', partition: 'p1', state: 'armed_away' }]);
    expect(JSON.stringify([rig.panels.hints(), rig.lines]).length).toBeLessThan(10_000);
  });
});
