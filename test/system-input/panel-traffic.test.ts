import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { type Rig, startRig } from './rig.ts';

const folder = join(import.meta.dirname, '..', '..', '..', 'shared', 'data', 'panel-samples');
const absent = !existsSync(folder);
const why = absent ? ' (skipped: ../shared is not there)' : '';

interface Row {
  readonly dir: string;
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
  readonly means: Readonly<Record<string, string | boolean>>;
}

const rowsOf = (file: string): Row[] =>
  absent
    ? []
    : readFileSync(join(folder, `${file}.jsonl`), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Row)
        .filter((row) => row.dir === 'from_bridge');

const sections = `panels:
  - id: pai
    profile: pai
    partitions: { p1: Area_1 }
    zones: { "1": { type: entry_exit_1, key: Front_door, partition: p1 } }
  - id: dsc
    profile: dsc-keybus
    partitions: { p2: "1" }
    zones:
      "21": { type: entry_exit_1, key: "1", partition: p2 }
      "22": { type: fire, key: fire1, partition: p2 }
  - id: zigbee
    profile: zigbee2mqtt
    zones:
      "31": { type: entry_exit_1, key: front_door, partition: p3 }
      "32": { type: interior_follower, key: hall_pir, partition: p3 }
      "33": { type: fire, key: smoke_1, partition: p3 }
`;

const partitionOf: Readonly<Record<string, string>> = { pai: 'p1', dsc: 'p2' };
const zoneOf: Readonly<Record<string, string>> = {
  Front_door: '1',
  '1': '21',
  front_door: '31',
  hall_pir: '32',
  smoke_1: '33',
};

type Message = readonly [topic: string, payload: string];

/** What a bridge says when all is quiet, and when nothing is: one of them differs from what a row means. */
const baselines: Readonly<Record<string, { readonly rest: readonly Message[]; readonly busy: readonly Message[] }>> = {
  pai: {
    rest: [
      ['paradox/interface/pai_status', 'online'],
      ['paradox/interface/availability', 'online'],
      ['paradox/states/partitions/Area_1/entry_delay', 'False'],
      ['paradox/states/partitions/Area_1/current_state', 'disarmed'],
      ['paradox/states/zones/Front_door/open', 'False'],
      ['paradox/states/zones/Front_door/tamper', 'False'],
      ['paradox/states/zones/Front_door/bypassed', 'False'],
      ['paradox/states/zones/Front_door/rf_low_battery_trouble', 'False'],
      ['paradox/states/system/troubles/ac_failure_trouble', 'False'],
    ],
    busy: [
      ['paradox/interface/availability', 'offline'],
      ['paradox/states/partitions/Area_1/current_state', 'armed_away'],
      ['paradox/states/zones/Front_door/tamper', 'True'],
    ],
  },
  dsc: {
    rest: [
      ['dsc/Status', 'online'],
      ['dsc/Get/Partition1/Message', 'Time and date set'],
      ['dsc/Get/Fire1', '0'],
      ['dsc/Get/Partition1', 'disarmed'],
      ['dsc/Get/Zone1', '0'],
      ['dsc/Get/Trouble', '0'],
    ],
    busy: [
      ['dsc/Status', 'offline'],
      ['dsc/Get/Zone1', '1'],
      ['dsc/Get/Partition1', 'armed_away'],
    ],
  },
  zigbee: {
    rest: [
      ['zigbee2mqtt/bridge/state', 'online'],
      ['zigbee2mqtt/front_door/availability', '{"state":"online"}'],
      ['zigbee2mqtt/front_door', '{"contact":true,"tamper":false,"battery_low":false}'],
      ['zigbee2mqtt/hall_pir', '{"occupancy":false}'],
      ['zigbee2mqtt/smoke_1', '{"smoke":false,"battery_low":false,"tamper":false}'],
    ],
    busy: [
      ['zigbee2mqtt/bridge/state', 'offline'],
      ['zigbee2mqtt/front_door', '{"contact":false,"tamper":true,"battery_low":true}'],
    ],
  },
};

/** Rows whose opposite lies in their own topic. */
const opposite: Readonly<Record<string, readonly Message[]>> = {
  'dsc/Get/Fire1 0': [['dsc/Get/Fire1', '1']],
  'dsc/Get/Partition1/Message Disarmed: Alarm memory': [['dsc/Get/Partition1/Message', 'Entry delay in progress']],
};

/** Where everything a bridge said at rest shows. */
const atRest: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  pai: { 'link/panel/pai': 'online', 'partition/p1/state': 'disarmed', 'zone/1/state': 'OFF' },
  dsc: { 'link/panel/dsc': 'online', 'partition/p2/state': 'disarmed', 'zone/21/state': 'OFF' },
  zigbee: { 'link/panel/zigbee': 'online', 'zone/31/availability': 'online', 'zone/31/state': 'OFF' },
};

/** What a row must show on the LAN; empty for rows that say nothing a LAN client is told. */
type Shown = (topics: ReadonlyMap<string, string>) => boolean;

function shownBy(row: Row, panel: string): Shown | undefined {
  const { means } = row;
  const word =
    (topic: string, payload: string): Shown =>
    (topics) =>
      topics.get(topic) === payload;
  if (typeof means.bridge === 'string') {
    return word(`link/panel/${panel}`, means.bridge === 'online' ? 'online' : 'offline');
  }
  if (typeof means.state === 'string') return word(`partition/${partitionOf[panel]}/state`, means.state);
  if (typeof means.trouble === 'string') {
    // A panel that only says "trouble" has named no kind.
    const kind = means.trouble === 'panel' ? 'system' : means.trouble;
    return (topics) => json(topics, 'trouble').items?.some((item) => item.kind === kind) === true;
  }
  if (typeof means.zone !== 'string') {
    // The end of a fire is the end of the zone's alarm.
    if (means.fire !== false) return undefined;
    return (topics) => json(topics, 'zone/22/detail').alarm === false;
  }
  const number = zoneOf[means.zone];
  const { zone: _, zone_type: __, ...facts } = means;
  return (topics) =>
    Object.entries(facts).every(([name, value]) =>
      name === 'online'
        ? topics.get(`zone/${number}/availability`) === (value === true ? 'online' : 'offline')
        : json(topics, `zone/${number}/detail`)[name] === value,
    ) &&
    (facts.open === undefined || topics.get(`zone/${number}/state`) === (facts.open === true ? 'ON' : 'OFF'));
}

function json(topics: ReadonlyMap<string, string>, topic: string) {
  return JSON.parse(topics.get(topic) ?? '{}') as Record<string, unknown> & { items?: { kind: string }[] };
}

describe.skipIf(absent)(`recorded panel traffic through a real broker into the daemon${why}`, () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig({ cloud: false, sections });
    await eventually('the panels subscribed', () =>
      rig.daemon.stdout.some((line) => line.includes('listening to the panels')) ? true : undefined,
    );
  });
  afterAll(() => rig?.close());

  async function say(messages: readonly Message[]): Promise<void> {
    for (const [topic, payload] of messages) await rig.lan.publish(topic, payload);
  }

  const files = [
    ['pai', 'pai'],
    ['dsc_keybus', 'dsc'],
    ['zigbee2mqtt', 'zigbee'],
  ] as const;

  for (const [file, panel] of files) {
    for (const [at, row] of rowsOf(file).entries()) {
      const shown = shownBy(row, panel);
      const meaning = JSON.stringify(row.means);
      if (shown === undefined) continue;
      it(`${file} ${at + 1}: ${row.topic} ${row.payload} shows ${meaning}`, async () => {
        const { rest = [], busy = [] } = baselines[panel] ?? {};
        await say(rest);
        for (const [topic, payload] of Object.entries(atRest[panel] ?? {})) await rig.lan.shows(topic, payload);
        // The row must change something, or it would prove nothing.
        if (shown(rig.lan.topics)) await say(opposite[`${row.topic} ${row.payload}`] ?? busy);
        await eventually('a state the row does not mean', () => (shown(rig.lan.topics) ? undefined : true), {
          everyMs: 20,
        });
        await rig.lan.publish(row.topic, row.payload, row.retain);
        await eventually('what the row means', () => (shown(rig.lan.topics) ? true : undefined), { everyMs: 20 });
        // A row that is kept by the broker must not be the next row's starting point.
        if (row.retain) await rig.lan.publish(row.topic, '', true);
      });
    }
  }

  it('rows that mean nothing to a LAN client change nothing it is shown, and nothing fails', async () => {
    for (const [, panel] of files) await say(baselines[panel]?.rest ?? []);
    await rig.lan.shows('link/panel/zigbee', 'online');
    await rig.lan.shows('partition/p1/state', 'disarmed');
    await rig.lan.shows('partition/p2/state', 'disarmed');
    await rig.lan.shows('partition/p3/state', 'disarmed');
    const silent = files.flatMap(([file, panel]) => rowsOf(file).filter((row) => shownBy(row, panel) === undefined));
    expect(silent.length).toBeGreaterThan(5);
    for (const row of silent) await rig.lan.publish(row.topic, row.payload, false);
    // A door behind them: once it shows, everything before it was read.
    await rig.lan.publish('zigbee2mqtt/front_door', '{"contact":false}');
    await rig.lan.shows('zone/31/state', 'ON');
    for (const id of ['p1', 'p2', 'p3']) expect(rig.lan.topics.get(`partition/${id}/state`)).toBe('disarmed');
    expect(rig.daemon.ended()).toBeUndefined();
    // A keypad's code came in clear text: it is shown nowhere.
    const everything = [...rig.lan.heard.map(({ payload }) => payload), ...rig.daemon.stdout].join('\n');
    expect(everything).not.toContain('action_code');
  });
});
