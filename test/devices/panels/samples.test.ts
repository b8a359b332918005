import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PanelOptions } from '#devices/panels/index.ts';
import type { Signal } from '#site/model/index.ts';
import { type Broker, startBroker, until } from './broker.ts';
import { panel, type Rig, readSamples, type Sample, samplesMissing, startPanels } from './helpers.ts';

const files = [
  {
    file: 'pai',
    id: 'pai',
    panel: { partitions: { p1: 'Area_1' }, zones: { '1': { type: 'entry_exit_1', key: 'Front_door' } } },
  },
  {
    file: 'dsc_keybus',
    id: 'dsc-keybus',
    panel: { zones: { '1': { type: 'entry_exit_1' }, F1: { type: 'fire', key: 'fire1' } } },
  },
  {
    file: 'zigbee2mqtt',
    id: 'zigbee2mqtt',
    panel: {
      zones: {
        '11': { type: 'entry_exit_1', key: 'front_door' },
        '12': { type: 'interior_follower', key: 'hall_pir' },
        '13': { type: 'fire', key: 'smoke_1' },
      },
    },
  },
] as const;

const why = samplesMissing ? ' (skipped: ../shared is not there)' : '';

describe.skipIf(samplesMissing)(`recorded panel traffic through a broker${why}`, () => {
  let broker: Broker;
  let rig: Rig;
  beforeAll(async () => {
    broker = await startBroker();
    const panels = files.map((entry) => panel({ id: entry.file, profile: entry.id, ...entry.panel }));
    rig = await startPanels({ url: broker.url, panels });
    await until(() => rig.panels.health().state === 'ok', 'the subscription');
  });
  afterAll(async () => {
    await rig.stop();
    await broker.close();
  });

  for (const { file, id, panel: given } of files) {
    it(`turns every row of ${file} into the signals it means`, async () => {
      for (const row of readSamples(file).filter((row) => row.dir === 'from_bridge')) {
        for (const [topic, payload] of quiet[id]) await broker.publish(topic, payload);
        const before = rig.signals.length;
        await broker.publish(row.topic, row.payload, row.retain);
        // A marker behind the row: when it is here, everything of the row is.
        await broker.publish('dsc/Get/Zone1', '1');
        await until(() => rig.signals.slice(before).some(isMarker), row.topic);
        const got = rig.signals.slice(before);
        for (const signal of expected(row, file, panel({ id: file, profile: id, ...given }).zones))
          expect(got, `${row.topic} ${row.payload}`).toContainEqual(signal);
        expect(got.every((signal) => !('replay' in signal) || !signal.replay)).toBe(true);
      }
    });
  }
});

/** A row is read on its own: what earlier rows said about the state is taken back before it. */
const quiet = {
  pai: [
    ['paradox/states/partitions/Area_1/current_state', 'disarmed'],
    ['paradox/states/partitions/Area_1/entry_delay', 'False'],
  ],
  'dsc-keybus': [
    ['dsc/Get/Partition1', 'disarmed'],
    ['dsc/Get/Partition1/Message', 'Time and date set'],
    ['dsc/Get/Fire1', '0'],
  ],
  zigbee2mqtt: [],
} as const;

const isMarker = (signal: Signal) =>
  signal.kind === 'zone' && signal.source.id === 'dsc_keybus' && signal.open === true;

/** The signals a row must give, from its own words. Rows about targets, readiness and outputs give none. */
function expected(row: Sample, file: string, zones: PanelOptions['zones'] = {}): unknown[] {
  const source = { kind: 'panel', id: file };
  const { means } = row;
  const has = (facts: object) => expect.objectContaining(facts);
  if (typeof means.state === 'string') return [has({ kind: 'partition', source, partition: 'p1', state: means.state })];
  if (typeof means.bridge === 'string') {
    const layer = means.bridge === 'starting' ? 'device' : 'bridge';
    return [has({ kind: 'link', source, layer, up: means.bridge === 'online' })];
  }
  if (typeof means.trouble === 'string') return [has({ kind: 'trouble', source, active: true })];
  if (typeof means.fault === 'string') return [has({ kind: 'refusal', source, partition: 'p1' })];
  if (typeof means.zone !== 'string') return [];
  const number = Object.entries(zones).find(([n, zone]) => (zone.key ?? n) === means.zone)?.[0];
  const { zone: _, zone_type: __, low_battery: lowBattery, ...facts } = means;
  return [has({ kind: 'zone', source, zone: number, ...facts, ...(lowBattery === undefined ? {} : { lowBattery }) })];
}
