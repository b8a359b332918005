import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createRawWatch } from '#devices/panels/index.ts';
import { systemClock } from '#lib/clock.ts';
import type { Signal } from '#site/model/index.ts';
import { type Broker, startBroker, until } from './broker.ts';
import { panel, type Rig, startPanels } from './helpers.ts';

/** Safety 4: whatever comes on the topic of a silent hold-up button, what a person can see stays as it was. */
const site = [
  panel({
    id: 'zb',
    profile: 'zigbee2mqtt',
    zones: { '1': { type: 'perimeter', key: 'window' }, '2': { type: 'panic_silent', key: 'button' } },
  }),
  panel({ id: 'dsc', profile: 'dsc-keybus' }),
  panel({ id: 'vista', profile: 'ad2iot', vars: { uuid: 'u' } }),
  panel({ id: 'tex', profile: 'texecom2mqtt', zones: { '7': { type: 'panic_silent' } } }),
];

let broker: Broker;
const rigs: Rig[] = [];
beforeAll(async () => {
  broker = await startBroker();
});
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.stop();
});
afterAll(() => broker.close());

describe('a silent hold-up button', () => {
  it.each([
    ['is pressed', 'zigbee2mqtt/button', '{"contact":false}', 1],
    ['says a word nobody knows', 'zigbee2mqtt/button', '{"contact":"pressed"}', 0],
    ['says something that is no JSON', 'zigbee2mqtt/button', '{"contact":', 0],
    ['says more than 64 KiB', 'zigbee2mqtt/button', `{"contact":"${'x'.repeat(70_000)}"}`, 0],
    ['is of another type to its bridge', 'texecom2mqtt/zone/desk', '{"number":7,"status":1,"type":"Perimeter"}', 1],
    ['is told to the station and has no zone here', 'ad2iot/u/cid', '{"event_message":"!LRR:008,1,CID_1122,ff"}', 1],
  ])('that %s leaves no trace', async (_, topic, payload, signals) => {
    const raw = watched();
    const rig = await startPanels({ url: broker.url, panels: site, siteSlug: `s${rigs.length}`, raw });
    rigs.push(rig);
    await until(() => rig.panels.health().state === 'ok', 'the subscription');
    for (const alive of ['zigbee2mqtt/window', 'texecom2mqtt/zone/hall'])
      await broker.publish(alive, '{"contact":true,"number":5,"status":0}');
    await heard(rig);
    const before = [rig.signals.length, await traces(rig), [...raw.frames]] as const;
    await broker.publish(topic, payload);
    await heard(rig, 'off');
    const made = rig.signals.slice(before[0]).filter(isOfZone);
    expect(made).toHaveLength(signals);
    expect(await traces(rig)).toEqual(before[1]);
    expect(raw.frames).toEqual(before[2]);
    expect(raw.frames).toContain('zb zigbee2mqtt/window');
  });
});

/** A technician watches every panel but the one of the marker. */
function watched() {
  const frames: string[] = [];
  const raw = createRawWatch({
    panels: site.map(({ id }) => id),
    publish: (id, { topic }) => void frames.push(`${id} ${topic}`),
    clock: systemClock(),
    metrics: new Registry(),
  });
  for (const { id } of site) if (id !== 'dsc') raw.watch(id, 10);
  return Object.assign(raw, { frames });
}

const isOfZone = (signal: Signal) => signal.kind === 'zone' || signal.kind === 'alarm';

/** A message behind the others: when its trouble is here, they are. It stands in the counts of its own panel only. */
async function heard(rig: Rig, is = 'on'): Promise<void> {
  const before = rig.signals.length;
  await broker.publish('dsc/Get/Trouble', is === 'on' ? '1' : '0');
  await until(() => rig.signals.slice(before).some(({ kind }) => kind === 'trouble'), 'the marker');
}

async function traces(rig: Rig) {
  const metric = await rig.metrics.getSingleMetric('siteward_panel_messages_total')?.get();
  const counts = (metric?.values ?? []).filter(({ labels }) => labels.panel !== 'dsc');
  return { lines: [...rig.lines], hints: rig.panels.hints().map(({ lastAt: _, ...hint }) => hint), counts };
}
