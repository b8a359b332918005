import { type BrokerLogin, connectBridge } from './bridge.ts';

export interface ZigbeeDevice {
  /** Friendly name, a topic level. */
  readonly name: string;
  readonly kind: 'contact' | 'motion' | 'smoke' | 'water_leak' | 'keypad';
}

export interface SimSensors {
  /** A contact opens (zigbee2mqtt says `contact: false`), motion is seen, smoke or water is there. */
  open(name: string): void;
  close(name: string): void;
  /** Any other members, such as `battery_low` or `tamper`. */
  set(name: string, members: Readonly<Record<string, unknown>>): void;
  /** A keypad sends an action; the code travels in clear text, as the real thing does. */
  action(name: string, action: string, code?: string): void;
  /** The device goes out of reach, or comes back. */
  reachable(name: string, on: boolean): void;
  kill(): void;
  stop(): Promise<void>;
}

/** The member that means "active", and its value then. */
const activeMember = {
  contact: { contact: false },
  motion: { occupancy: true },
  smoke: { smoke: true },
  water_leak: { water_leak: true },
  keypad: {},
} as const satisfies Record<ZigbeeDevice['kind'], Readonly<Record<string, boolean>>>;

/** Sensors behind zigbee2mqtt on a broker. Throws `mqtt_unreachable` when there is no broker. */
export async function startZigbeeSensors(
  options: BrokerLogin & { readonly prefix?: string; readonly devices: readonly ZigbeeDevice[] },
): Promise<SimSensors> {
  const prefix = options.prefix ?? 'zigbee2mqtt';
  const states = new Map<string, Record<string, unknown>>();
  const kinds = new Map(options.devices.map((device) => [device.name, device.kind]));
  for (const { name, kind } of options.devices) {
    states.set(
      name,
      kind === 'keypad'
        ? { battery: 97 }
        : { ...activate(kind, false), tamper: false, battery: 97, battery_low: false },
    );
  }
  const away = new Set<string>();
  const state = (on: boolean) => JSON.stringify({ state: on ? 'online' : 'offline' });
  const bridge = await connectBridge({
    broker: options,
    availability: { topic: `${prefix}/bridge/state`, online: state(true), offline: state(false) },
    commands: [],
    onOnline: (own) => {
      for (const name of kinds.keys()) own.publish(`${prefix}/${name}/availability`, state(!away.has(name)));
    },
    onCommand: () => undefined,
  });
  const kindOf = (name: string) => {
    const kind = kinds.get(name);
    if (kind === undefined)
      throw new RangeError(`there is no device ${name}; there are ${[...kinds.keys()].join(', ')}`);
    return kind;
  };
  // zigbee2mqtt tells the whole state each time, by default not retained.
  const set = (name: string, members: Readonly<Record<string, unknown>>) => {
    kindOf(name);
    states.set(name, { ...states.get(name), ...members });
    bridge.publish(`${prefix}/${name}`, JSON.stringify({ ...states.get(name), linkquality: 120 }), false);
  };
  return {
    open: (name) => set(name, activate(kindOf(name), true)),
    close: (name) => set(name, activate(kindOf(name), false)),
    set,
    action: (name, action, code) => {
      kindOf(name);
      const body = { action, action_code: code ?? null, action_zone: 0, action_transaction: 1 };
      bridge.publish(`${prefix}/${name}`, JSON.stringify(body), false);
    },
    reachable: (name, on) => {
      kindOf(name);
      if (on) away.delete(name);
      else away.add(name);
      bridge.publish(`${prefix}/${name}/availability`, state(on));
    },
    kill: () => bridge.kill(),
    stop: () => bridge.close(state(false)),
  };
}

function activate(kind: ZigbeeDevice['kind'], on: boolean): Record<string, boolean> {
  return Object.fromEntries(Object.entries(activeMember[kind]).map(([member, active]) => [member, active === on]));
}
