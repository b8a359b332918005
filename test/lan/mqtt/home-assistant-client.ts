import mqtt, { type MqttClient } from 'mqtt';
import { matches } from '../../../src/lan/mqtt/topics.ts';

/**
 * A Home Assistant in small, written after its own documentation and not after siteward: it subscribes as it does, makes
 * entities of what it discovers, and follows their states and availability.
 */

interface Component {
  readonly platform: string;
  readonly unique_id?: string;
  readonly [key: string]: unknown;
}
interface Discovery {
  readonly device: { readonly identifiers: readonly string[] };
  readonly availability?: readonly { readonly topic: string }[];
  readonly components: Readonly<Record<string, Component>>;
  readonly migrate_discovery?: boolean;
}

export interface Entity {
  readonly device: string;
  readonly component: Component;
  state: string | undefined;
  attributes: Record<string, unknown>;
  available: boolean;
}

/** Each template siteward uses, by hand; another one fails the test. */
const templates: Readonly<Record<string, (value: string) => string>> = {
  "{{ value or 'None' }}": (value) => (value === '' ? 'None' : value),
  "{{ 'ON' if value_json.alarm or value_json.open else 'None' if value_json.open is none else 'OFF' }}": (value) => {
    const { alarm, open } = JSON.parse(value);
    return alarm || open ? 'ON' : open === null ? 'None' : 'OFF';
  },
  '{{ value_json.depth }}': (value) => String(JSON.parse(value).depth),
};
const commandTemplate =
  '{"action":"{{ action }}","code":"{{ code or \'\' }}","issued_at":"{{ utcnow().isoformat() }}"}';

export interface HomeAssistantClient {
  readonly entities: ReadonlyMap<string, Entity>;
  /** Config messages and states in the order they came, live ones with `!` in front. */
  readonly story: string[];
  readonly events: Record<string, unknown>[];
  readonly configs: { topic: string; text: string }[];
  entity(uniqueId: string): Entity | undefined;
  birth(): Promise<void>;
  /** As its keypad does. */
  press(uniqueId: string, action: string, code?: string): Promise<void>;
  /** As its list and its slider do. */
  set(uniqueId: string, value: string): Promise<void>;
  send(topic: string, payload: string, retain?: boolean): Promise<void>;
  stop(): Promise<void>;
}

export async function homeAssistant(
  url: string,
  options: { username?: string; password?: string } = {},
): Promise<HomeAssistantClient> {
  const client: MqttClient = await mqtt.connectAsync(url, {
    clientId: `ha-${Math.random()}`,
    reconnectPeriod: 0,
    ...options,
  });
  const entities = new Map<string, Entity>();
  /** By unique id: where it was discovered. */
  const homes = new Map<string, string>();
  const handedOver = new Set<string>();
  const availability = new Map<string, Map<string, boolean>>();
  const story: string[] = [];
  const events: Record<string, unknown>[] = [];
  const configs: { topic: string; text: string }[] = [];

  function remove(home: string): void {
    for (const [id, where] of homes) {
      if (where !== home) continue;
      homes.delete(id);
      entities.delete(id);
    }
  }

  function discovered(topic: string, text: string): void {
    configs.push({ topic, text });
    if (text === '') {
      for (const home of [...homes.values()]) if (home.startsWith(`${topic} `)) remove(home);
      return;
    }
    const config: Discovery = JSON.parse(text);
    if (config.migrate_discovery === true) {
      handedOver.add(topic);
      for (const [id, home] of homes) if (home.startsWith(`${topic} `)) homes.set(id, `handed over`);
      return;
    }
    for (const [key, component] of Object.entries(config.components)) {
      const { unique_id: id } = component;
      const home = `${topic} ${key}`;
      if (id === undefined) {
        remove(home);
        continue;
      }
      const other = homes.get(id);
      if (other !== undefined && other !== home && other !== 'handed over')
        throw new Error(`${id} is not unique: ${other}, ${home}`);
      homes.set(id, home);
      add(id, config, component);
    }
  }

  function add(id: string, config: Discovery, component: Component): void {
    const [device = ''] = config.device.identifiers;
    const before = entities.get(id);
    entities.set(id, {
      device,
      component,
      state: before?.state,
      attributes: {},
      available: before?.available ?? false,
    });
    const own = (component.availability as typeof config.availability) ?? config.availability ?? [];
    const topics = own.map(({ topic }) => topic);
    availability.set(id, new Map(topics.map((topic) => [topic, availability.get(id)?.get(topic) ?? false])));
    const wanted = [component.state_topic, component.json_attributes_topic, component.image_topic, ...topics];
    client.subscribe(
      wanted.filter((topic): topic is string => typeof topic === 'string'),
      { qos: 1 },
    );
  }

  function followed(topic: string, text: string): void {
    for (const [id, entity] of entities) {
      const { component } = entity;
      const known = availability.get(id);
      if (known?.has(topic)) {
        known.set(topic, text === 'online');
        entity.available = [...known.values()].every(Boolean);
      }
      if (component.json_attributes_topic === topic && text !== '') entity.attributes = JSON.parse(text);
      if (component.state_topic === topic) take(entity, text);
      if (component.image_topic === topic) entity.state = `picture ${text}`;
    }
  }

  function take(entity: Entity, text: string): void {
    const { value_template: template, platform, payload_on: on = 'ON', payload_off: off = 'OFF' } = entity.component;
    const render = typeof template === 'string' ? templates[template] : (value: string) => value;
    if (render === undefined) throw new Error(`unknown template: ${String(template)}`);
    const value = render(text);
    if (value === '') return;
    const { options, min = 1, max = 100 } = entity.component;
    if (Array.isArray(options) && !options.includes(value)) throw new Error(`not one of its options: ${value}`);
    if (platform === 'number' && !(Number(value) >= Number(min) && Number(value) <= Number(max)))
      throw new Error(`not a number it takes: ${value}`);
    if (platform === 'event') events.push(JSON.parse(value));
    else if (value === 'None') entity.state = 'unknown';
    else if (platform !== 'binary_sensor') entity.state = value;
    else if (value === on || value === off) entity.state = value === on ? 'on' : 'off';
    else throw new Error(`a binary sensor cannot be ${value}`);
  }

  client.on('message', (topic, payload, { retain }) => {
    const text = payload.toString();
    story.push(`${retain ? '' : '!'}${topic}`);
    if (matches('homeassistant/+/+/config', topic)) discovered(topic, text);
    else followed(topic, text);
  });
  const granted = await client.subscribeAsync(['homeassistant/+/+/config', 'homeassistant/+/+/+/config']);
  for (const { topic, qos } of granted) if (qos > 2) throw new Error(`not granted: ${topic}`);
  const send = async (topic: string, payload: string, retain = false) => {
    await client.publishAsync(topic, payload, { qos: 1, retain });
  };

  return {
    entities,
    story,
    events,
    configs,
    entity: (id) => entities.get(id),
    birth: () => send('homeassistant/status', 'online'),
    send,
    async press(id, action, code) {
      const component = entities.get(id)?.component;
      if (component === undefined) throw new Error(`no entity ${id}`);
      const topic = String(component.command_topic);
      if (component.platform === 'button') return send(topic, String(component.payload_press));
      if (component.command_template !== commandTemplate) throw new Error('unknown command template');
      // isoformat() has microseconds and an offset.
      const issued = new Date().toISOString().replace('Z', '123+00:00');
      await send(topic, `{"action":"${action}","code":"${code ?? ''}","issued_at":"${issued}"}`);
    },
    set: (id, value) => send(String(entities.get(id)?.component.command_topic), value),
    async stop() {
      await client.endAsync(true);
    },
  };
}
