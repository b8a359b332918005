import { connect, connectAsync, type MqttClient } from 'mqtt';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import { Secret } from '#lib/secret.ts';
import type { ArmAction } from '#site/model/index.ts';
import { type Broker, startBroker, until } from './broker.ts';
import { panel, type Rig, startPanels } from './helpers.ts';

let broker: Broker;
const rigs: Rig[] = [];
beforeAll(async () => {
  broker = await startBroker();
});
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.stop();
});
afterAll(() => broker.close());

async function listening(given: Omit<Parameters<typeof startPanels>[0], 'url'>): Promise<Rig> {
  const rig = await startPanels({ url: broker.url, ...given });
  rigs.push(rig);
  await until(() => rig.panels.health().state === 'ok', 'the subscription');
  return rig;
}

/** Everything that is said on a topic from now on. */
async function overhear(topic: string): Promise<{ got: string[]; client: MqttClient }> {
  const client = await broker.client();
  const got: string[] = [];
  client.on('message', (_topic, payload, packet) => got.push(`${payload}${packet.retain ? ' retained' : ''}`));
  await client.subscribeAsync(topic, { qos: 1 });
  return { got, client };
}

const states = (rig: Rig) =>
  rig.signals.flatMap((signal) =>
    signal.kind === 'partition' ? [`${signal.state}${signal.replay ? ' again' : ''}`] : [],
  );
const refusals = (rig: Rig) => rig.signals.filter(({ kind }) => kind === 'refusal');
const sender =
  (rig: Rig) =>
  (action: ArmAction, commandId = 'c'): void =>
    rig.panels.send({ panel: 'main', partition: 'p1', action, commandId });
const counted = async (rig: Rig, result: string) => {
  const metric = await rig.metrics.getSingleMetric('siteward_panel_commands_total')?.get();
  return metric?.values.find(({ labels }) => labels.result === result)?.value ?? 0;
};

describe('a panel whose keys turn its state round', () => {
  const code = () => new Secret('25804713');
  const jablotron = panel({ id: 'main', profile: 'jablotron2mqtt' });

  it('gets one key sequence for two identical disarms, and none when it is disarmed already', async () => {
    const clock = manualClock();
    const rig = await listening({ panels: [jablotron], siteSlug: 'toggle', code, clock });
    clock.advance(10_000);
    const { got } = await overhear('alarm/key/press');
    const send = sender(rig);
    await broker.publish('alarm/mode', 'armed_away');
    await until(() => states(rig).includes('armed_away'), 'the state');
    await until(async () => {
      if (got.length === 0) send('disarm', 'first');
      return got.length > 0;
    }, 'the keys');
    send('disarm', 'second');
    send('disarm', 'third');
    await broker.publish('alarm/mode', 'disarmed');
    await until(() => states(rig).at(-1) === 'disarmed', 'the disarming');
    send('disarm', 'fourth');
    await until(() => states(rig).at(-1) === 'disarmed again', 'the answer to the fourth');
    // A command that goes through shows that nothing else was on its way.
    send('arm_home', 'marker');
    await until(() => got.includes('F1'), 'the marker');
    expect(got).toEqual(['25804713', 'F1']);
    expect(await counted(rig, 'under_way')).toBeGreaterThanOrEqual(2);
    expect(await counted(rig, 'there')).toBe(1);
    expect(refusals(rig)).toEqual([]);
    expect(rig.logged()).not.toContain('25804713');
  });

  it('gets no keys while its state is only remembered by the broker', async () => {
    await broker.publish('alarm/mode', 'armed_away', true);
    const clock = manualClock();
    const rig = await listening({ panels: [jablotron], siteSlug: 'stale', code, clock });
    clock.advance(10_000);
    await until(() => states(rig).includes('armed_away again'), 'the retained state');
    const { got } = await overhear('alarm/key/press');
    sender(rig)('disarm');
    await until(() => refusals(rig).length === 1, 'the refusal');
    // Another live message is no word about the state: a power LED says nothing of what a key would do.
    await broker.publish('alarm/leds/power', '0');
    await until(() => rig.signals.some(({ kind }) => kind === 'trouble'), 'the LED');
    sender(rig)('disarm');
    await until(() => refusals(rig).length === 2, 'the second refusal');
    expect(got).toEqual([]);
    await broker.publish('alarm/mode', 'armed_away');
    await until(() => {
      if (got.length === 0) sender(rig)('disarm');
      return got.length > 0;
    }, 'the keys');
    expect(got[0]).toBe('25804713');
    await broker.publish('alarm/mode', '', true);
  });
});

describe('a bridge that is away for a moment, with a persistent session', () => {
  it('finds no command when it is back', async () => {
    const dsc = panel({ id: 'main', profile: 'dsc-keybus' });
    const rig = await listening({ panels: [dsc], siteSlug: 'queue' });
    const options = { clientId: 'the-bridge', clean: false, reconnectPeriod: 0 };
    const bridge = await connectAsync(broker.url, options);
    await bridge.subscribeAsync('dsc/Set', { qos: 1 });
    await bridge.endAsync(true);
    const { got: passed } = await overhear('dsc/Set');
    await until(() => {
      if (passed.length === 0) sender(rig)('disarm');
      return passed.length > 0;
    }, 'the command to pass');
    const got: string[] = [];
    const back = connect(broker.url, options);
    back.on('message', (_, payload) => got.push(String(payload)));
    await broker.publish('dsc/Set', 'marker');
    await until(() => got.includes('marker'), 'the bridge to be back');
    expect(got).toEqual(['marker']);
    await back.endAsync(true);
  });

  it('is told by MQTT 5 how long the command lives', async () => {
    const dsc = panel({ id: 'main', profile: 'dsc-keybus' });
    const rig = await listening({ panels: [dsc], siteSlug: 'five', connect: { url: broker.url, protocolVersion: 5 } });
    const bridge = await connectAsync(broker.url, { protocolVersion: 5, reconnectPeriod: 0 });
    const lives: unknown[] = [];
    bridge.on('message', (_, __, packet) => lives.push(packet.properties?.messageExpiryInterval));
    await bridge.subscribeAsync('dsc/Set', { qos: 1 });
    await until(() => {
      if (lives.length === 0) sender(rig)('disarm');
      return lives.length > 0;
    }, 'the command');
    expect(lives[0]).toBeGreaterThan(0);
    expect(lives[0]).toBeLessThanOrEqual(5);
    await bridge.endAsync(true);
  });
});

describe('a gateway that wants its session token back', () => {
  it('is refused until the token was heard, and gets it then; no log has it', async () => {
    const qolsys = panel({ id: 'main', profile: 'qolsysgw', partitions: { p1: ['0', 'partition1'] } });
    const rig = await listening({ panels: [qolsys], siteSlug: 'token' });
    const base = 'homeassistant/alarm_control_panel/qolsys_panel';
    const { got } = await overhear(`${base}/set`);
    await broker.publish(`${base}/partition1/state`, 'armed_home');
    await until(() => states(rig).includes('armed_home'), 'the state');
    await until(() => {
      sender(rig)('disarm');
      return rig.logged().includes('needs a session_token');
    }, 'the refusal');
    const template = '{"partition_id": "0", "action": "{{ action }}", "session_token": "5f0c-tok3n"}';
    await broker.publish(
      `${base}/partition1/config`,
      JSON.stringify({ command_template: template, code: '25804713' }),
      true,
    );
    await until(() => {
      if (got.length === 0) sender(rig)('disarm');
      return got.length > 0;
    }, 'the command');
    expect(JSON.parse(got[0] ?? '')).toEqual({ action: 'DISARM', partition_id: 0, session_token: '5f0c-tok3n' });
    await broker.publish(`${base}/partition1/state`, 'disarmed');
    await until(() => states(rig).at(-1) === 'disarmed', 'the disarming');
    expect(rig.logged() + JSON.stringify([rig.signals, rig.panels.hints()])).not.toMatch(/tok3n|25804713/);
    await broker.publish(`${base}/partition1/config`, '', true);
  });
});

describe('a zone that a panel is to leave out', () => {
  const pai = panel({
    ...{ id: 'main', profile: 'pai', partitions: { p1: 'Area_1' } },
    zones: { '7': { type: 'perimeter', key: ['Back_door', 'Back'] }, '8': { type: 'perimeter' } },
  });
  const ask = (rig: Rig, action: 'bypass' | 'unbypass', zone: string) =>
    rig.panels.send({ panel: 'main', partition: 'p1', zone, action, commandId: 'c' });

  it('is named by the bridge’s first key, and told to be left out and taken back', async () => {
    const rig = await listening({ panels: [pai], siteSlug: 'zones' });
    const { got } = await overhear('paradox/control/zones/Back_door');
    await until(() => {
      if (got.length === 0) ask(rig, 'bypass', '7');
      return got.length > 0;
    }, 'the bypass');
    ask(rig, 'unbypass', '7');
    await until(() => got.includes('clear_bypass'), 'the end of it');
    expect(new Set(got)).toEqual(new Set(['bypass', 'clear_bypass']));
  });

  it('is refused with its number where the panel does not have it, or its profile has no such command', async () => {
    const dsc = panel({ id: 'main', profile: 'dsc-keybus', zones: { '7': { type: 'perimeter' } } });
    const rig = await listening({ panels: [pai], siteSlug: 'no-zone' });
    ask(rig, 'bypass', '99');
    await until(() => refusals(rig).length > 0, 'the refusal');
    expect(refusals(rig)).toContainEqual(expect.objectContaining({ partition: 'p1', zone: '99', reason: 'other' }));
    const other = await listening({ panels: [dsc], siteSlug: 'no-command' });
    await until(() => {
      ask(other, 'bypass', '7');
      return other.logged().includes('its profile has no command bypass');
    }, 'the refusal');
    expect(refusals(other)).toContainEqual(expect.objectContaining({ zone: '7', reason: 'no_command' }));
  });
});

describe('a panel that wants a code', () => {
  const alarm = panel({ id: 'main', profile: 'alarmdecoder-mqtt' });

  it('is refused without one, and status says what to do', async () => {
    const rig = await listening({ panels: [alarm], siteSlug: 'codeless' });
    await until(() => {
      sender(rig)('disarm');
      return rig.logged().includes('needs a code');
    }, 'the refusal');
    expect(rig.panels.hints()).toContainEqual(expect.objectContaining({ panel: 'main', kind: 'no_code' }));
  });

  it('gets it in the command, not retained, and its own refusals reach the command', async () => {
    const alarmo = panel({ id: 'main', profile: 'alarmo', partitions: { p1: 'attic' } });
    const rig = await listening({ panels: [alarmo], siteSlug: 'coded', code: () => new Secret('25804713') });
    const { got } = await overhear('alarmo/command');
    await until(() => {
      if (got.length === 0) sender(rig)('arm_night');
      return got.length > 0;
    }, 'the command');
    expect(got[0]).toBe('{"command":"arm_night","area":"attic","code":"25804713"}');
    await broker.publish('alarmo/attic/event', '{"event":"INVALID_CODE_PROVIDED"}');
    await until(() => refusals(rig).length > 0, 'the refusal');
    expect(refusals(rig)).toMatchObject([{ partition: 'p1', reason: 'wrong_code' }]);
    expect(rig.logged()).not.toContain('25804713');
  });
});
