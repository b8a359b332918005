import { AlarmPanel, type ArmedState, type CurrentState, type PartitionOptions, type ZoneOptions } from './alarm.ts';
import { type BrokerLogin, connectBridge } from './bridge.ts';

export interface PaiOptions extends BrokerLogin {
  /** First topic level; default `paradox`. */
  readonly prefix?: string;
  readonly partitions: readonly PartitionOptions[];
  readonly zones: readonly ZoneOptions[];
}

export interface SimPanel {
  open(zone: string): void;
  close(zone: string): void;
  tamper(zone: string, on: boolean): void;
  lowBattery(zone: string, on: boolean): void;
  /** A trouble of the panel itself, such as `ac_failure_trouble`. */
  trouble(property: string, on: boolean): void;
  /** As if someone did it at the keypad. */
  arm(partition: string, target: ArmedState): void;
  disarm(partition: string): void;
  state(partition: string): CurrentState | undefined;
  /** Says every state again, as bridges do now and then. */
  tellAll(): void;
  /** Commands that arrived, oldest first; the last 1,000. */
  commands(): readonly string[];
  /** The box loses power: no goodbye, the broker tells the last will. The panel is of no more use then. */
  kill(): void;
  stop(): Promise<void>;
}

const targets: ReadonlyMap<string, ArmedState> = new Map([
  ['arm', 'armed_away'],
  ['arm_stay', 'armed_home'],
  ['arm_sleep', 'armed_night'],
]);

const yesNo = (value: boolean): string => (value ? 'True' : 'False');

/** A Paradox panel behind PAI on a broker. Throws `mqtt_unreachable` when there is no broker. */
export async function startPaiPanel(options: PaiOptions): Promise<SimPanel> {
  const prefix = options.prefix ?? 'paradox';
  const heard: string[] = [];
  let publish: (topic: string, payload: string) => void = () => undefined;
  const panel = new AlarmPanel({
    ...options,
    tell: {
      partition: (key, property, value) => publish(`states/partitions/${key}/${property}`, value),
      zone: (key, property, value) => publish(`states/zones/${key}/${property}`, value),
    },
  });
  const bridge = await connectBridge({
    broker: options,
    availability: { topic: `${prefix}/interface/availability`, online: 'online', offline: 'offline' },
    commands: [`${prefix}/control/partitions/+`, `${prefix}/control/zones/+`],
    onOnline: (own) => {
      publish = (topic, payload) => own.publish(`${prefix}/${topic}`, payload);
      publish('interface/pai_status', 'online');
      panel.tellAll();
    },
    onCommand: (topic, payload) => {
      const [kind, key = ''] = topic.slice(`${prefix}/control/`.length).split('/');
      heard.push(`${kind}/${key} ${payload}`);
      if (heard.length > 1000) heard.shift();
      if (kind === 'partitions') obeyPartition(panel, key, payload);
      else obeyZone(panel, key, payload);
    },
  });
  return {
    open: (zone) => panel.open(zone),
    close: (zone) => panel.close(zone),
    tamper: (zone, on) => publish(`states/zones/${zone}/tamper`, yesNo(on)),
    lowBattery: (zone, on) => publish(`states/zones/${zone}/rf_low_battery_trouble`, yesNo(on)),
    trouble: (property, on) => publish(`states/system/troubles/${property}`, yesNo(on)),
    arm: (partition, target) => panel.arm(partition, target),
    disarm: (partition) => panel.disarm(partition),
    state: (partition) => panel.state(partition),
    tellAll: () => panel.tellAll(),
    commands: () => [...heard],
    kill: () => {
      panel.stop();
      bridge.kill();
    },
    stop: async () => {
      panel.stop();
      await bridge.close('offline');
    },
  };
}

/** `arm`, `arm_stay`, `arm_sleep`, `disarm`, `disarm_all`; a user label may follow after a blank. Others are ignored. */
function obeyPartition(panel: AlarmPanel, key: string, payload: string): void {
  const verb = payload.split(' ')[0] ?? '';
  const keys = key === 'all' || verb === 'disarm_all' ? panel.partitionKeys() : [key];
  const target = targets.get(verb);
  for (const each of keys) {
    if (target !== undefined) panel.arm(each, target);
    else if (verb === 'disarm' || verb === 'disarm_all') panel.disarm(each);
  }
}

function obeyZone(panel: AlarmPanel, key: string, payload: string): void {
  if (!panel.hasZone(key)) return;
  if (payload === 'bypass') panel.bypass(key, true);
  else if (payload === 'clear_bypass') panel.bypass(key, false);
}
