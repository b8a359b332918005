import { AlarmPanel, type CurrentState, type PartitionOptions, type ZoneOptions } from '#sandbox/panel/alarm.ts';
import { connectBridge } from '#sandbox/panel/bridge.ts';
import type { SimPanel } from '#sandbox/panel/index.ts';

/** What the panel of the store does, and its record of what it was told. */
export type Texecom = Pick<SimPanel, 'open' | 'close' | 'arm' | 'disarm' | 'state' | 'tellAll' | 'commands' | 'stop'>;

const words: Readonly<Record<CurrentState, string>> = {
  disarmed: 'disarmed',
  arming: 'in_exit',
  armed_away: 'full_armed',
  armed_night: 'part_armed_1',
  armed_home: 'part_armed_2',
  triggered: 'triggered',
};
const targets = { full_arm: 'armed_away', part_arm_1: 'armed_night', part_arm_2: 'armed_home' } as const;

/** A Texecom panel behind texecom2mqtt (`texecom2mqtt` of the presets): areas and zones as JSON, retained. */
export async function startTexecom(options: {
  url: string;
  partitions: readonly PartitionOptions[];
  zones: readonly ZoneOptions[];
}): Promise<Texecom> {
  const heard: string[] = [];
  const last = new Map<string, string>();
  let publish: (topic: string, body: object) => void = () => undefined;
  const partitionOf = new Map(options.zones.map(({ key, partition }) => [key, partition]));
  const panel = new AlarmPanel({
    ...options,
    tell: {
      partition(key, property, value) {
        if (property !== 'current_state') return;
        const number = last.get(key);
        const zone = number === undefined ? {} : { last_active_zone: { number: Number(number) } };
        publish(`area/${key}`, { status: words[value as CurrentState], ...zone });
      },
      zone(key, property, value) {
        if (property === 'alarm' && value === 'True') last.set(partitionOf.get(key) ?? '', key);
        if (property === 'open') publish(`zone/${key}`, { number: Number(key), status: value === 'True' ? 1 : 0 });
      },
    },
  });
  const bridge = await connectBridge({
    broker: { url: options.url },
    availability: { topic: 'texecom2mqtt/status', online: 'online', offline: 'offline' },
    commands: ['texecom2mqtt/area/+/command'],
    onOnline: (own) => {
      publish = (topic, body) => own.publish(`texecom2mqtt/${topic}`, JSON.stringify(body));
      panel.tellAll();
    },
    onCommand: (topic, payload) => {
      const key = topic.split('/')[2] ?? '';
      heard.push(`${key} ${payload}`);
      if (heard.length > 1000) heard.shift();
      if (payload === 'disarm') panel.disarm(key);
      else if (payload in targets) panel.arm(key, targets[payload as keyof typeof targets]);
    },
  });
  return {
    open: (zone) => panel.open(zone),
    close: (zone) => panel.close(zone),
    arm: (partition, target) => panel.arm(partition, target),
    disarm: (partition) => panel.disarm(partition),
    state: (partition) => panel.state(partition),
    tellAll: () => panel.tellAll(),
    commands: () => [...heard],
    async stop() {
      panel.stop();
      await bridge.close('offline');
    },
  };
}
