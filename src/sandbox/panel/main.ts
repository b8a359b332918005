import { parseArgs } from 'node:util';
import { lineCommands } from '../lines.ts';
import { orUsage } from '../usage.ts';
import { startPaiPanel } from './pai.ts';
import { startZigbeeSensors, type ZigbeeDevice } from './zigbee.ts';

const usage = `A simulated panel bridge as a process. It prints {"kind":...} when it is connected, then takes a command a line.

  --kind pai               with --partition Area_1:EXIT_MS:ENTRY_MS and --zone Front_door:Area_1:delay, each as often as wanted;
                           open|close ZONE, tamper ZONE on|off, trouble PROPERTY on|off, arm PARTITION [armed_home],
                           disarm PARTITION, state PARTITION, commands, kill, quit
  --kind zigbee            with --device front_door:contact, as often as wanted;
                           open|close NAME, set NAME JSON, reachable NAME on|off, kill, quit
  --url URL                the broker: mqtt://127.0.0.1:1883
  --prefix TOPIC           what its topics begin with
  --username NAME          its user at the broker
  --password-env VARIABLE  environment variable with the password`;

const { values } = orUsage(usage, () =>
  parseArgs({
    options: {
      kind: { type: 'string', default: 'pai' },
      url: { type: 'string', default: 'mqtt://127.0.0.1:1883' },
      prefix: { type: 'string' },
      username: { type: 'string' },
      'password-env': { type: 'string' },
      partition: { type: 'string', multiple: true, default: ['Area_1:1000:1000'] },
      zone: { type: 'string', multiple: true, default: ['Front_door:Area_1:delay'] },
      device: { type: 'string', multiple: true, default: ['front_door:contact'] },
    },
  }),
);

const password = values['password-env'] === undefined ? undefined : process.env[values['password-env']];
const broker = {
  url: values.url,
  ...(values.prefix === undefined ? {} : { prefix: values.prefix }),
  ...(values.username === undefined ? {} : { username: values.username }),
  ...(password === undefined ? {} : { password }),
};
const isOn = (word: string | undefined) => word === 'on';
const need = (word: string | undefined) => {
  if (word === undefined) throw new RangeError('a word is missing after the command');
  return word;
};

async function runPai(): Promise<void> {
  const panel = await startPaiPanel({
    ...broker,
    partitions: values.partition.map((text) => {
      const [key = '', exit = '0', entry = '0'] = text.split(':');
      return { key, exitDelayMs: Number(exit), entryDelayMs: Number(entry) };
    }),
    zones: values.zone.map((text) => {
      const [key = '', partition = '', word] = text.split(':');
      return { key, partition, kind: (['delay', 'follow', '24h'] as const).find((kind) => kind === word) ?? 'instant' };
    }),
  });
  await lineCommands({
    ready: { kind: 'pai' },
    commands: {
      open: (zone) => panel.open(need(zone)),
      close: (zone) => panel.close(need(zone)),
      tamper: (zone, on) => panel.tamper(need(zone), isOn(on)),
      trouble: (property, on) => panel.trouble(need(property), isOn(on)),
      arm: (partition, word) =>
        panel.arm(
          need(partition),
          (['armed_home', 'armed_night'] as const).find((state) => state === word) ?? 'armed_away',
        ),
      disarm: (partition) => panel.disarm(need(partition)),
      state: (partition) => ({ state: panel.state(need(partition)) ?? null }),
      commands: () => ({ commands: panel.commands() }),
      kill: () => panel.kill(),
    },
  });
  await panel.stop();
}

async function runZigbee(): Promise<void> {
  const sensors = await startZigbeeSensors({
    ...broker,
    devices: values.device.map((text): ZigbeeDevice => {
      const [name = '', word] = text.split(':');
      const kind = (['motion', 'smoke', 'water_leak', 'keypad'] as const).find((each) => each === word) ?? 'contact';
      return { name, kind };
    }),
  });
  await lineCommands({
    ready: { kind: 'zigbee' },
    commands: {
      open: (name) => sensors.open(need(name)),
      close: (name) => sensors.close(need(name)),
      set: (name, ...json) => sensors.set(need(name), JSON.parse(json.join(' '))),
      reachable: (name, on) => sensors.reachable(need(name), isOn(on)),
      kill: () => sensors.kill(),
    },
  });
  await sensors.stop();
}

await (values.kind === 'zigbee' ? runZigbee() : runPai());
