import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import {
  buildPanels,
  compileProfile,
  emptyMemory,
  interpret,
  loadProfile,
  type Message,
  panelOptions,
  profileIds,
  profileSchema,
} from '#devices/panels/index.ts';
import { Runner } from '#devices/panels/runner.ts';
import { systemClock } from '#lib/clock.ts';
import { type Figure, type Measurement, percentile, rounded } from './figure.ts';

const root = join(import.meta.dirname, '..');
const profiles = join(root, 'config', 'panels');
const fixtures = join(root, 'test', 'devices', 'panels', 'fixtures');
const forMs = 1500;
const rateGoal = 20_000;
const signalGoalMs = 1;
const zoneCount = 2000;
const growthGoalMib = 1;

/** Messages of the kinds each bridge sends, in about the mix of a busy site. */
const traffic: Readonly<Record<string, readonly (readonly [topic: string, payload: string])[]>> = {
  pai: [
    ['paradox/states/zones/Front_door/open', 'True'],
    ['paradox/states/zones/Front_door/open', 'False'],
    ['paradox/states/zones/Hall/tamper', 'False'],
    ['paradox/states/partitions/Area_1/current_state', 'armed_away'],
    ['paradox/states/partitions/Area_1/current_state', 'disarmed'],
    ['paradox/states/partitions/Area_1/ready_status', 'True'],
  ],
  'dsc-keybus': [
    ['dsc/Get/Zone1', '1'],
    ['dsc/Get/Zone1', '0'],
    ['dsc/Get/Partition1', 'armed_away'],
    ['dsc/Get/Partition1', 'disarmed'],
    ['dsc/Get/Fire1', '0'],
    ['dsc/Get/Trouble', '0'],
  ],
  zigbee2mqtt: [
    ['zigbee2mqtt/front_door', '{"contact":false,"battery":97,"battery_low":false,"tamper":false,"linkquality":120}'],
    ['zigbee2mqtt/hall', '{"occupancy":true,"battery":80,"illuminance":12,"linkquality":99}'],
    ['zigbee2mqtt/kitchen', '{"smoke":false,"battery":97,"linkquality":120}'],
    ['zigbee2mqtt/front_door/availability', '{"state":"online"}'],
  ],
};

/** What a message costs on its way from the broker to the core. */
export const panels: Measurement = {
  name: 'panels',
  title: 'Panel messages through the profile interpreter',
  about: `By preset: pure reading of messages, in one thread, with the memory carried on. All presets: every shipped preset loaded as a
panel of one site, each under a base topic of its own, and a mix of what their bridges send, from the message to the
signals for the core, one after the other. ${zoneCount} zones: one panel whose zones all open and close again and again, and how much
the heap has grown after a full collection.`,
  async run(tell) {
    const byPreset = Object.entries(traffic).map(([id, mix]) => {
      tell(id);
      return { name: id, value: rounded(rate(id, mix)), unit: 'messages/s' };
    });
    tell('all presets');
    const all = allPresets();
    tell(`${zoneCount} zones`);
    return [...byPreset, ...all, manyZones()];
  },
};

function rate(id: string, mix: readonly (readonly [string, string])[]): number {
  const compiled = compileProfile(loadProfile(id, [profiles]));
  const messages = mix.map(([topic, text]) => ({ topic, payload: Buffer.from(text), retain: false }));
  const unread = messages.find((message) => interpret(compiled, emptyMemory(), message).readings.length === 0);
  if (unread !== undefined) throw new Error(`the preset ${id} does not read ${unread.topic}`);
  let memory = emptyMemory();
  return perSecond(messages, (message) => {
    memory = interpret(compiled, memory, message).memory;
  });
}

/** How often a second `act` handles a message, after a fifth of the time to warm up. */
function perSecond(messages: readonly Message[], act: (message: Message) => void): number {
  const runFor = (ms: number) => {
    const end = performance.now() + ms;
    let count = 0;
    while (performance.now() < end) {
      for (let turn = 0; turn < 20; turn += 1) for (const message of messages) act(message);
      count += 20 * messages.length;
    }
    return count;
  };
  runFor(forMs / 5);
  const began = performance.now();
  const count = runFor(forMs);
  return (count / (performance.now() - began)) * 1000;
}

const log = pino({ level: 'silent' });
const clock = systemClock();

/** The site as the panel room runs it: the first panel that knows the topic takes the message. */
function siteOf(runners: readonly Runner[]): (message: Message) => number {
  return (message) => {
    for (const runner of runners) {
      const taken = runner.take(message);
      if (taken !== undefined) return taken.signals.length;
    }
    return -1;
  };
}

function allPresets(): Figure[] {
  const ids = profileIds([profiles]);
  const messages: Message[] = [];
  const given = ids.map((id) => {
    const { vars } = profileSchema.parse(loadProfile(id, [profiles]));
    // A level of its own before each variable keeps presets of one base topic apart.
    const own = Object.fromEntries(Object.entries(vars).map(([name, text]) => [name, `${id}/${text}`]));
    const rows = rowsOf(id).map(([topic, payload]) => ({
      topic: moved(topic, vars, own),
      payload: Buffer.from(payload),
    }));
    messages.push(...rows.map((row) => ({ ...row, retain: false })));
    return panelOptions.parse({ id, profile: id, vars: own, zones: { '1': { type: 'perimeter', key: 'front_door' } } });
  });
  const { built, problems } = buildPanels(given, [profiles]);
  const [problem] = problems.values();
  if (problem !== undefined) throw problem;
  const take = siteOf(built.map((panel) => new Runner(panel, { clock, log })));
  const mix = messages.filter((message) => take(message) >= 0);
  if (mix.length < messages.length * 0.9) throw new Error('the presets do not know most of the mix');
  const value = perSecond(mix, take);

  const door = (contact: boolean): Message => ({
    topic: 'zigbee2mqtt/zigbee2mqtt/front_door',
    payload: Buffer.from(JSON.stringify({ contact, battery: 97, linkquality: 120 })),
    retain: false,
  });
  if (take(door(true)) !== 1) throw new Error('the door gives no signal');
  const took = Array.from({ length: 20_000 }, (_, i) => {
    const message = door(i % 2 === 0);
    const began = performance.now();
    take(message);
    return performance.now() - began;
  });
  const p99 = percentile(took, 0.99);
  const name = `all ${ids.length} presets`;
  return [
    { name, value: rounded(value), unit: 'messages/s', goal: `at least ${rateGoal}`, met: value >= rateGoal },
    {
      name: `${name}, a zone change to its signal, p99`,
      value: rounded(p99),
      unit: 'ms',
      goal: `under ${signalGoalMs} ms`,
      met: p99 < signalGoalMs,
    },
  ];
}

/** What the bridge of a preset sends: the mix above, or the messages its tests are written with. */
function rowsOf(id: string): (readonly [topic: string, payload: string])[] {
  const known = traffic[id];
  if (known !== undefined) return [...known];
  if (!readdirSync(fixtures).includes(`${id}.jsonl`)) return [];
  const lines = readFileSync(join(fixtures, `${id}.jsonl`), 'utf8')
    .trim()
    .split('\n');
  const rows = lines.map((line) => JSON.parse(line) as { dir: string; topic: string; payload: string });
  return rows.filter(({ dir }) => dir === 'from_bridge').map(({ topic, payload }) => [topic, payload]);
}

function moved(topic: string, vars: Readonly<Record<string, string>>, own: Readonly<Record<string, string>>): string {
  const name = Object.keys(vars)
    .filter((one) => topic === vars[one] || topic.startsWith(`${vars[one]}/`))
    .toSorted((a, b) => (vars[b]?.length ?? 0) - (vars[a]?.length ?? 0))[0];
  if (name === undefined) return topic;
  const rest = topic.slice(vars[name]?.length ?? 0);
  // Variables within the rest are moved too, such as a device id after the base topic.
  const inner = Object.keys(vars).filter((one) => one !== name && rest.includes(`/${vars[one]}/`));
  return inner.reduce((text, one) => text.replace(`/${vars[one]}/`, `/${own[one]}/`), `${own[name]}${rest}`);
}

function manyZones(): Figure {
  const zones = Object.fromEntries(Array.from({ length: zoneCount }, (_, i) => [String(i + 1), { type: 'perimeter' }]));
  const { built } = buildPanels([panelOptions.parse({ id: 'main', profile: 'dsc-keybus', zones })], [profiles]);
  const take = siteOf(built.map((panel) => new Runner(panel, { clock, log })));
  const turn = () => {
    for (let zone = 1; zone <= zoneCount; zone += 1) {
      for (const text of ['1', '0']) take({ topic: `dsc/Get/Zone${zone}`, payload: Buffer.from(text), retain: false });
    }
  };
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heapMib = () => {
    collect();
    return process.memoryUsage().heapUsed / 2 ** 20;
  };
  for (let i = 0; i < 20; i += 1) turn();
  const before = heapMib();
  for (let i = 0; i < 200; i += 1) turn();
  const growth = Math.max(0, heapMib() - before);
  return {
    name: `${zoneCount} zones, growth of the heap over ${(200 * 2 * zoneCount).toLocaleString('en')} messages`,
    value: rounded(growth),
    unit: 'MiB',
    goal: `under ${growthGoalMib} MiB`,
    met: growth < growthGoalMib,
  };
}
