import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type SimPanel, startPaiPanel, startZigbeeSensors } from '../../../src/sandbox/index.ts';
import { type Broker, startBroker } from '../../devices/panels/broker.ts';
import { type Watcher, watch } from './watcher.ts';

let broker: Broker;
let watcher: Watcher;
beforeAll(async () => {
  broker = await startBroker();
});
beforeEach(async () => {
  watcher = await watch(broker);
});
afterEach(() => watcher.client.endAsync(true));
afterAll(() => broker.close());

const becomes = (topic: string, payload: string) => expect.poll(() => watcher.last.get(topic)).toBe(payload);

describe('PAI panel', () => {
  let panel: SimPanel;
  const area = 'paradox/states/partitions/Area_1';
  const command = (payload: string, retain = false, topic = 'partitions/Area_1') =>
    watcher.client.publishAsync(`paradox/control/${topic}`, payload, { qos: 1, retain });
  const start = (exitDelayMs = 0, entryDelayMs = 0) =>
    startPaiPanel({
      url: broker.url,
      partitions: [{ key: 'Area_1', exitDelayMs, entryDelayMs }],
      zones: [
        { key: 'Front_door', partition: 'Area_1', kind: 'delay' },
        { key: 'Hall', partition: 'Area_1', kind: 'follow' },
        { key: 'Window', partition: 'Area_1' },
        { key: 'Smoke', partition: 'Area_1', kind: '24h' },
      ],
    });
  afterEach(() => panel.stop());

  it('tells availability and every state, retained', async () => {
    panel = await start();
    await becomes('paradox/interface/availability', 'online');
    await becomes(`${area}/current_state`, 'disarmed');
    const late = await watch(broker);
    await expect.poll(() => late.last.get('paradox/states/zones/Front_door/open')).toBe('False');
    expect(late.last.get(`${area}/entry_delay`)).toBe('False');
    await late.client.endAsync(true);
  });
  it('arms with an exit delay, waits out the entry delay and triggers', async () => {
    panel = await start(20, 20);
    await becomes('paradox/interface/availability', 'online');
    await command('arm');
    await becomes(`${area}/current_state`, 'armed_away');
    panel.open('Front_door');
    panel.open('Hall');
    await becomes(`${area}/current_state`, 'triggered');
    await becomes(`${area}/alarms_in_memory`, 'True');
    const from = watcher.seen.indexOf(`${area}/current_state arming`);
    expect(watcher.seen.slice(from).filter((line) => /current_state|entry_delay|alarm /.test(line))).toEqual([
      `${area}/current_state arming`,
      `${area}/current_state armed_away`,
      `${area}/entry_delay True`,
      'paradox/states/zones/Front_door/alarm True',
      `${area}/entry_delay False`,
      `${area}/current_state triggered`,
    ]);
  });
  it('stands down when it is disarmed within the entry delay', async () => {
    panel = await start(0, 60_000);
    await command('arm');
    await becomes(`${area}/current_state`, 'armed_away');
    panel.open('Front_door');
    await becomes(`${area}/entry_delay`, 'True');
    await command('disarm ANNA');
    await becomes(`${area}/current_state`, 'disarmed');
    await becomes(`${area}/entry_delay`, 'False');
    expect(panel.state('Area_1')).toBe('disarmed');
  });
  it('triggers at once for an instant zone, and in any state for a 24 h zone', async () => {
    panel = await start(0, 60_000);
    await command('arm_stay');
    await becomes(`${area}/current_state`, 'armed_home');
    panel.open('Hall');
    expect(panel.state('Area_1')).toBe('armed_home');
    panel.open('Window');
    await becomes(`${area}/current_state`, 'triggered');
    await command('disarm_all', false, 'partitions/all');
    await becomes(`${area}/current_state`, 'disarmed');
    panel.open('Smoke');
    await becomes(`${area}/current_state`, 'triggered');
  });
  it('does not arm while a zone is open, unless it is bypassed', async () => {
    panel = await start();
    panel.open('Window');
    await command('arm');
    await expect.poll(() => panel.commands()).toHaveLength(1);
    expect(panel.state('Area_1')).toBe('disarmed');
    await becomes(`${area}/ready_status`, 'False');
    await command('bypass', false, 'zones/Window');
    await becomes('paradox/states/zones/Window/bypassed', 'True');
    await command('arm_sleep');
    await becomes(`${area}/current_state`, 'armed_night');
  });
  it('ignores a retained command', async () => {
    await command('arm', true);
    panel = await start();
    await command('nothing');
    await expect.poll(() => panel.commands()).toEqual(['partitions/Area_1 nothing']);
    expect(panel.state('Area_1')).toBe('disarmed');
    await command('', true);
  });
  it('is told offline by the broker when it dies, and by itself when it stops', async () => {
    panel = await start();
    await becomes('paradox/interface/availability', 'online');
    panel.kill();
    await becomes('paradox/interface/availability', 'offline');
    await panel.stop();
    panel = await start();
    await becomes('paradox/interface/availability', 'online');
    await panel.stop();
    await becomes('paradox/interface/availability', 'offline');
  });
});

describe('zigbee2mqtt sensors', () => {
  it('speak in whole states, contact false meaning open', async () => {
    const sensors = await startZigbeeSensors({
      url: broker.url,
      devices: [
        { name: 'front_door', kind: 'contact' },
        { name: 'hall_pir', kind: 'motion' },
        { name: 'keypad_1', kind: 'keypad' },
      ],
    });
    const json = (topic: string) => JSON.parse(watcher.last.get(topic) ?? '{}');
    await becomes('zigbee2mqtt/bridge/state', '{"state":"online"}');
    await becomes('zigbee2mqtt/front_door/availability', '{"state":"online"}');
    sensors.open('front_door');
    await expect.poll(() => json('zigbee2mqtt/front_door')).toMatchObject({ contact: false, battery_low: false });
    sensors.set('front_door', { battery_low: true });
    sensors.close('front_door');
    await expect.poll(() => json('zigbee2mqtt/front_door')).toMatchObject({ contact: true, battery_low: true });
    sensors.open('hall_pir');
    await expect.poll(() => json('zigbee2mqtt/hall_pir')).toMatchObject({ occupancy: true });
    sensors.action('keypad_1', 'disarm', '1234');
    await expect.poll(() => json('zigbee2mqtt/keypad_1')).toMatchObject({ action: 'disarm', action_code: '1234' });
    sensors.reachable('hall_pir', false);
    await becomes('zigbee2mqtt/hall_pir/availability', '{"state":"offline"}');
    expect(() => sensors.open('nothing')).toThrow(/front_door/);
    await sensors.stop();
    await becomes('zigbee2mqtt/bridge/state', '{"state":"offline"}');
  });
  it('say what is wrong when there is no broker', async () => {
    await expect(startZigbeeSensors({ url: 'mqtt://127.0.0.1:1', devices: [] })).rejects.toMatchObject({
      code: 'mqtt_unreachable',
    });
  });
});

describe('panel process', () => {
  const main = new URL('../../../src/sandbox/panel/main.ts', import.meta.url).pathname;

  it.each([
    [['--kind', 'pai', '--zone', 'Door:Area_1:delay'], 'open Door', 'paradox/states/zones/Door/open', /^True$/],
    [['--kind', 'zigbee', '--device', 'gate:contact'], 'open gate', 'zigbee2mqtt/gate', /"contact":false/],
  ])('%j obeys lines and says goodbye at quit', async (flags, line, topic, payload) => {
    const child = spawn(process.execPath, [main, '--url', broker.url, ...flags], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    expect(JSON.parse((await lines.next()).value as string)).toEqual({ kind: flags[1] });
    child.stdin.write(`${line}\nopen nowhere\n`);
    expect(JSON.parse((await lines.next()).value as string)).toEqual({ ok: true, command: 'open' });
    expect(JSON.parse((await lines.next()).value as string)).toMatchObject({ ok: false });
    await expect.poll(() => watcher.last.get(topic)).toMatch(payload);
    child.stdin.end('quit\n');
    expect((await once(child, 'exit'))[0]).toBe(0);
  });
});
