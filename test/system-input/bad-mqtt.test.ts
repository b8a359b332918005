import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { openLan, type Reply, type Rig, replyTo, root, startRig } from './rig.ts';

const sections = `panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: entry_exit_1, name: Front door, key: front_door, partition: p1 } }
  - id: paradox
    profile: pai
    partitions: { p2: Area_1 }
    zones: { "2": { type: perimeter, name: Gate, key: Gate, partition: p2 } }
`;

const nested = (depth: number, open = '[', close = ']') => `${open.repeat(depth)}${close.repeat(depth)}`;
const id = '00000000-0000-4000-8000-00000000000a';
const replyTopic = `${root}/reply/tester/${id}`;
const envelope = `"id":"${id}","reply_to":"${replyTopic}","issued_at":"${new Date().toISOString()}"`;

/** What is sent to `cmd/arm`, and the code of the answer; undefined where no address can be read. */
const badCommands: readonly (readonly [what: string, payload: string | Uint8Array, code: string | undefined])[] = [
  [
    'bytes that are not UTF-8',
    Buffer.concat([Buffer.from(`{${envelope},"partition":"`), Buffer.from([0xc3, 0x28, 0xff])]),
    'NOT_UTF8',
  ],
  ['text that is not JSON', `{${envelope},"partition":p1`, 'BAD_JSON'],
  ['text without any address', 'arm everything', undefined],
  ['a JSON array', '[1,2,3]', undefined],
  ['a number', '42', undefined],
  ['JSON nested 100,000 deep', nested(100_000), undefined],
  ['members nested too deep', `{${envelope},"partition":"p1","mode":"away","bypass":${nested(40)}}`, 'TOO_LARGE'],
  ['a partition that is a number', `{${envelope},"partition":1,"mode":"away"}`, 'SCHEMA'],
  ['a mode that is a list', `{${envelope},"partition":"p1","mode":["away"]}`, 'SCHEMA'],
  ['a code that is a number', `{${envelope},"partition":"p1","mode":"away","code":1234}`, 'SCHEMA'],
  [
    'a time that is none',
    `{"id":"${id}","reply_to":"${replyTopic}","issued_at":"yesterday","partition":"p1","mode":"away"}`,
    'SCHEMA',
  ],
  ['an unknown member', `{${envelope},"partition":"p1","mode":"away","please":true}`, 'SCHEMA'],
  ['a member called __proto__', `{${envelope},"partition":"p1","mode":"away","__proto__":{"mode":"home"}}`, 'SCHEMA'],
];

/** Nothing a bridge may send in place of its own words; none of them is a word of any profile. */
const badPayloads: readonly (readonly [what: string, payload: string | Uint8Array])[] = [
  ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x00])],
  ['text that is not JSON', '{"contact":'],
  ['a list', '[true,false]'],
  ['wrong types', '{"contact":"perhaps","tamper":{"a":1},"battery_low":[1]}'],
  ['JSON nested 30,000 deep', nested(30_000)],
  ['null', 'null'],
  ['nothing', ''],
];

describe.each(['mosquitto', 'embedded'] as const)('bad MQTT messages over %s', (broker) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig({ broker, cloud: false, sections });
    await eventually('the panels subscribed', () =>
      rig.daemon.stdout.some((line) => line.includes('listening to the panels')) ? true : undefined,
    );
    await rig.lan.publish('zigbee2mqtt/front_door', '{"contact":true}');
    await rig.lan.shows('zone/1/state', 'OFF');
  });
  afterAll(() => rig?.close());

  /** The daemon lives, has armed nothing, and takes the next good command and the next good panel message. */
  async function worksOn(): Promise<void> {
    expect(rig.daemon.ended()).toBeUndefined();
    expect(rig.lan.topics.get('partition/p1/state')).toBe('disarmed');
    const reply = await rig.lan.command('query', { what: 'partitions' });
    expect(reply).toMatchObject({ outcome: 'done' });
    await rig.lan.publish('zigbee2mqtt/front_door', '{"contact":false}');
    await rig.lan.shows('zone/1/state', 'ON');
    await rig.lan.publish('zigbee2mqtt/front_door', '{"contact":true}');
    await rig.lan.shows('zone/1/state', 'OFF');
  }

  it.each(badCommands)('cmd/arm with %s is refused and the next command works', async (_, payload, code) => {
    const before = rig.lan.heard.length;
    await rig.lan.publish(`${root}/cmd/arm`, payload);
    if (code !== undefined) {
      const reply = await eventually(
        'the refusal',
        () =>
          rig.lan.heard
            .slice(before)
            .filter(({ topic }) => topic === replyTopic.slice(root.length + 1))
            .map(({ payload: text }) => JSON.parse(text) as Reply)[0],
      );
      expect(reply).toMatchObject({ outcome: 'refused', error: { code }, final: true });
    }
    await worksOn();
    expect(await rig.metrics()).toMatch(
      /siteward_mqtt_commands_total\{[^}]*result="(NOT_UTF8|BAD_JSON|TOO_LARGE|SCHEMA)"/,
    );
  });

  it('a verb that does not exist is answered', async () => {
    const reply = await rig.lan.command('selfdestruct', { partition: 'p1' });
    expect(reply).toMatchObject({ outcome: 'refused', error: { code: 'UNKNOWN_VERB' } });
  });

  it('a command of 1 MiB is refused and disturbs nobody else', async () => {
    const other = await openLan(rig.mqttUrl);
    try {
      const big = `{${envelope},"partition":"p1","mode":"away","actor":"${'x'.repeat(1024 * 1024)}"}`;
      // The embedded broker ends the connection of whoever sends so much; mosquitto keeps it from siteward, which takes 64 KiB.
      await Promise.race([
        other.publish(`${root}/cmd/arm`, big).catch(() => undefined),
        new Promise<void>((resolve) => other.client.once('close', () => resolve())),
      ]);
    } finally {
      await other.close();
    }
    await worksOn();
  });

  if (broker === 'mosquitto')
    it('a command kept by the broker is refused at the next start, not executed, and cleared away', async () => {
      await rig.daemon.stop();
      const kept = randomUUID();
      const reply_to = `${root}/reply/tester/${kept}`;
      const command = { id: kept, issued_at: new Date().toISOString(), reply_to, partition: 'p3', mode: 'away' };
      await rig.lan.publish(`${root}/cmd/arm`, JSON.stringify(command), true);
      await rig.start();
      expect(await replyTo(rig.lan.heard, kept)).toMatchObject({ outcome: 'refused', error: { code: 'RETAINED' } });
      expect(rig.lan.topics.get('partition/p3/state')).toBe('disarmed');
      await eventually('the command cleared away', async () =>
        (await keptCommands()).length === 0 ? true : undefined,
      );
      await worksOn();
    });

  if (broker === 'embedded')
    it('a retained command is never kept for later', async () => {
      const kept = randomUUID();
      const reply_to = `${root}/reply/tester/${kept}`;
      const command = { id: kept, issued_at: new Date().toISOString(), reply_to, partition: 'p3', mode: 'sideways' };
      await rig.lan.publish(`${root}/cmd/arm`, JSON.stringify(command), true);
      expect(await replyTo(rig.lan.heard, kept)).toMatchObject({ outcome: 'refused' });
      expect(await keptCommands()).toEqual([]);
      expect(await rig.metrics()).toMatch(/retained_command"\} [1-9]/);
      await worksOn();
    });

  /** Commands a client that subscribes now is given by the broker. */
  async function keptCommands(): Promise<string[]> {
    const late = await openLan(rig.mqttUrl);
    try {
      const found: string[] = [];
      late.client.on('message', (topic, payload) => {
        if (topic.startsWith(`${root}/cmd/`) && payload.length > 0) found.push(payload.toString('utf8'));
      });
      await late.client.subscribeAsync(`${root}/cmd/#`, { qos: 1 }).catch(() => undefined);
      // What is retained comes before the answer to a later subscription.
      await late.client.subscribeAsync(`${root}/status`, { qos: 1 });
      await late.shows('status', 'online');
      return found;
    } finally {
      await late.close();
    }
  }

  it.each(badPayloads)('a panel topic with %s changes no state, and the next message is heard', async (_, payload) => {
    await rig.lan.publish('zigbee2mqtt/front_door', '{"contact":true}');
    await rig.lan.shows('zone/1/state', 'OFF');
    await rig.lan.publish('paradox/states/partitions/Area_1/current_state', 'disarmed');
    await rig.lan.shows('partition/p2/state', 'disarmed');
    const before = rig.lan.heard.filter(({ topic }) => topic === 'zone/1/state').length;
    await rig.lan.publish('zigbee2mqtt/front_door', payload);
    await rig.lan.publish('paradox/states/partitions/Area_1/current_state', payload);
    await rig.lan.publish('paradox/states/zones/Gate/open', payload);
    await rig.lan.publish('paradox/states/zones/Gate/open', 'True');
    await rig.lan.shows('zone/2/state', 'ON');
    expect(rig.lan.heard.filter(({ topic }) => topic === 'zone/1/state').length).toBe(before);
    expect(rig.lan.topics.get('partition/p2/state')).toBe('disarmed');
    await rig.lan.publish('paradox/states/zones/Gate/open', 'False');
    await rig.lan.shows('zone/2/state', 'OFF');
    expect(rig.daemon.ended()).toBeUndefined();
  });

  it('a panel message of 1 MiB is dropped and counted', async () => {
    const other = await openLan(rig.mqttUrl);
    try {
      await Promise.race([
        other
          .publish('zigbee2mqtt/front_door', `{"contact":false,"x":"${'y'.repeat(1024 * 1024)}"}`)
          .catch(() => undefined),
        new Promise<void>((resolve) => other.client.once('close', () => resolve())),
      ]);
    } finally {
      await other.close();
    }
    await rig.lan.publish('paradox/states/zones/Gate/open', 'True');
    await rig.lan.shows('zone/2/state', 'ON');
    expect(rig.lan.topics.get('zone/1/state')).toBe('OFF');
    expect(await rig.metrics()).toMatch(/siteward_panel\w*_total\{[^}]*\} [1-9]/);
  });
});
