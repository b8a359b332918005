import { connect as tcp } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import mqtt from 'mqtt';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isLoopback } from '#lib/host.ts';
import { type Broker, createBroker } from '../../../src/lan/mqtt/index.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { memoryLog, root, slug, until, type Watcher, watch } from './harness.ts';

const users = [
  { id: 'kp1', role: 'keypad', password: new Secret('keypad-password-1') },
  { id: 'tablet', role: 'viewer', password: new Secret('viewer-password-1') },
] as const;

describe('the embedded broker', () => {
  let broker: Broker;
  let metrics: Registry;
  let watchers: Watcher[] = [];

  const start = async (host: string) => {
    metrics = new Registry();
    const options = { slug, users, log: memoryLog().log, metrics };
    broker = createBroker({ ...options, listen: { host, port: 0 } });
    await broker.start(new AbortController().signal);
  };
  const observe = async (...rest: [mqtt.IClientOptions?, string[]?]) => {
    const watcher = await watch(broker.url(), ...rest);
    watchers.push(watcher);
    return watcher;
  };
  const siteward = async (filters: string[] = [], options: mqtt.IClientOptions = {}) => {
    const own = { clientId: 'siteward-test', ...options };
    const watcher = await watch({ url: broker.url(), dial: broker.dial }, own, filters);
    watchers.push(watcher);
    return watcher;
  };
  const user = (index: 0 | 1, change: mqtt.IClientOptions = {}) => {
    const { id, password } = users[index];
    return { clientId: id, username: id, password: password.reveal(), ...change };
  };
  const refusalOf = (options: mqtt.IClientOptions) =>
    new Promise<number | undefined>((resolve) => {
      const client = mqtt.connect(broker.url(), { reconnectPeriod: 0, ...options });
      client.once('connect', () => client.end(true, () => resolve(undefined)));
      client.once('error', (error) => client.end(true, () => resolve('code' in error ? Number(error.code) : -1)));
    });

  beforeEach(() => start('127.0.0.1'));
  afterEach(async () => {
    for (const { client } of watchers) await client.endAsync(true);
    watchers = [];
    await broker.stop();
  });

  it('knows loopback by its address only', () => {
    expect(['127.0.0.1', '127.1.2.3', '::1', 'localhost'].map(isLoopback)).toEqual([true, true, true, true]);
    expect(['0.0.0.0', '::', '192.0.2.1', '127.0.0.1.example.net'].map(isLoopback)).not.toContain(true);
  });

  it('lets nobody in without a name beyond loopback, and nobody with a wrong password anywhere', async () => {
    expect(await refusalOf({})).toBeUndefined();
    expect(await refusalOf({ username: 'kp1', password: 'wrong' })).toBe(4);
    expect(await refusalOf({ username: 'nobody', password: 'keypad-password-1' })).toBe(4);
    expect(await refusalOf({ username: 'siteward' })).toBe(4);
    await broker.stop();
    await start('0.0.0.0');
    expect(await refusalOf({})).toBe(5);
    expect(await refusalOf(user(0))).toBeUndefined();
  });

  it('gives no one the id of another, least of all of siteward', async () => {
    const keypad = await observe(user(0, { reconnectPeriod: 0 }), []);
    expect(await refusalOf(user(1, { clientId: 'kp1' }))).toBeUndefined();
    expect(await refusalOf({ clientId: 'kp1' })).toBeUndefined();
    expect(keypad.client.connected).toBe(true);
    const closed = new Promise<void>((resolve) => keypad.client.once('close', () => resolve()));
    expect(await refusalOf(user(0))).toBeUndefined();
    await closed;
    expect(await refusalOf({ clientId: 'siteward-hq' })).toBe(2);
    expect(await refusalOf({ clientId: 'siteward' })).toBe(2);
  });

  it('connects siteward inside the process and only while it listens', async () => {
    const daemon = await siteward([`${root}/cmd/#`]);
    await broker.stop();
    await until(() => !daemon.client.connected, 'the end of the connection');
    await expect(broker.dial()).rejects.toThrow('the embedded MQTT broker was stopped');
  });

  it('delivers to each role what it may read', async () => {
    const keypad = await observe(user(0), [`${root}/status`, `${root}/reply/+/#`, `${root}/event/+`]);
    const daemon = await siteward();
    for (const topic of ['reply/tablet/1', 'event/alarm', 'reply/kp1/1', 'event/arming', 'status']) {
      await daemon.client.publishAsync(`${root}/${topic}`, 'x', { qos: 1 });
    }
    await until(() => keypad.texts('status').length > 0, 'the last message');
    expect(keypad.packets.map((packet) => packet.topic)).toEqual(
      ['reply/kp1/1', 'event/arming', 'status'].map((topic) => `${root}/${topic}`),
    );
  });

  it('refuses filters that could see a command', async () => {
    const { client } = await observe({}, []);
    for (const filter of ['#', `${root}/#`, `${root}/cmd/#`, `${root}/cmd/arm`, '+/+/+/cmd/+', `${root}/+/arm`]) {
      const [grant] = await client.subscribeAsync(filter).catch(() => [{ qos: 128 }]);
      expect([filter, grant?.qos]).toEqual([filter, 128]);
    }
  });

  it('cuts a client that publishes what it may not, without effect', async () => {
    const daemon = await siteward([`${root}/#`]);
    const tablet = await observe(user(1, { reconnectPeriod: 0 }), []);
    const closed = new Promise<void>((resolve) => tablet.client.once('close', () => resolve()));
    tablet.client.publish(`${root}/cmd/disarm`, '{}');
    await closed;
    await daemon.client.publishAsync(`${root}/status`, 'end', { qos: 1 });
    await until(() => daemon.texts('status').length > 0, 'the end');
    expect(daemon.texts('cmd/disarm')).toEqual([]);
    expect(await metrics.metrics()).toContain('siteward_mqtt_broker_refused_total{reason="publish"} 1');
  });

  it('takes a retained command once, live, and keeps nothing of it', async () => {
    const daemon = await siteward([`${root}/cmd/#`]);
    const keypad = await observe(user(0), []);
    await keypad.client.publishAsync(`${root}/cmd/arm`, '{"x":1}', { qos: 1, retain: true });
    await until(() => daemon.texts('cmd/arm').length === 1, 'the command');
    await daemon.client.endAsync(true);
    const again = await siteward([`${root}/cmd/#`]);
    await keypad.client.publishAsync(`${root}/cmd/arm`, '{"x":2}', { qos: 1 });
    await until(() => again.packets.length > 0, 'the next command');
    expect(again.texts('cmd/arm')).toEqual(['{"x":2}']);
  });

  it('tells siteward who sent a command', async () => {
    const daemon = await siteward([`${root}/cmd/#`]);
    const keypad = await observe(user(0), []);
    const local = await observe({ clientId: 'shell' }, []);
    await keypad.client.publishAsync(`${root}/cmd/arm`, 'a', { qos: 1 });
    await local.client.publishAsync(`${root}/cmd/arm`, 'b', { qos: 1 });
    await until(() => daemon.packets.length === 2, 'both commands');
    expect(broker.senderOf(`${root}/cmd/arm`, Buffer.from('a'))).toEqual({
      client: 'kp1',
      proven: true,
      role: 'keypad',
    });
    expect(broker.senderOf(`${root}/cmd/arm`, Buffer.from('b'))).toEqual({
      client: 'shell',
      proven: false,
      role: 'local',
    });
    expect(broker.senderOf(`${root}/cmd/arm`, Buffer.from('c'))).toBeUndefined();
  });

  it('leaves panel bridges their own topics, retained ones too', async () => {
    const bridge = await observe({}, []);
    await bridge.client.publishAsync('paradox/states/zones/1/open', 'True', { qos: 1, retain: true });
    const panels = await siteward(['paradox/#']);
    await until(() => panels.packets.length > 0, 'the state');
    expect(panels.packets[0]).toMatchObject({ topic: 'paradox/states/zones/1/open', retain: true });
  });

  it('keeps messages for a session that is away, up to its cap', async () => {
    const options = { clientId: 'siteward-panels', clean: false };
    const first = await siteward(['paradox/#'], options);
    await first.client.endAsync();
    const bridge = await observe({}, []);
    for (let n = 0; n < 1100; n += 1) bridge.client.publish('paradox/x', String(n), { qos: 1 });
    await bridge.client.publishAsync('paradox/x', 'end', { qos: 1 });
    const second = await siteward([], options);
    await until(() => second.packets.length >= 1000, 'what waited');
    expect(second.packets.map((packet) => packet.payload.toString())).toEqual(
      Array.from({ length: 1000 }, (_, n) => String(n)),
    );
    expect(await metrics.metrics()).toContain('siteward_mqtt_broker_dropped_total{reason="queue_full"} 101');
  });

  it('never sends an old retained value after a newer live one', async () => {
    const daemon = await siteward();
    for (let n = 0; n < 300; n += 1) daemon.client.publish(`${root}/zone/${n}/state`, 'OFF', { qos: 0, retain: true });
    await daemon.client.publishAsync(`${root}/status`, 'online', { qos: 1, retain: true });
    const late = await observe({}, [`${root}/zone/+/state`]);
    for (let n = 0; n < 300; n += 1) daemon.client.publish(`${root}/zone/${n}/state`, 'ON', { qos: 0, retain: true });
    await until(() => late.texts('zone/299/state').includes('ON') && late.texts('zone/0/state').includes('ON'), 'news');
    await daemon.client.publishAsync(`${root}/zone/0/state`, 'END', { qos: 1 });
    await until(() => late.texts('zone/0/state').includes('END'), 'the end');
    for (let n = 1; n < 300; n += 1) expect(late.texts(`zone/${n}/state`).at(-1)).toBe('ON');
  });

  it('cuts whoever announces a packet over the cap, before it is collected', async () => {
    const { client } = await observe({ reconnectPeriod: 0 }, []);
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
    client.publish('paradox/x', Buffer.alloc(300 * 1024));
    await closed;
    expect(await metrics.metrics()).toContain('siteward_mqtt_broker_refused_total{reason="packet_too_large"} 1');
  });

  it('is held up by no client that does not read', async () => {
    const reader = await observe({}, ['paradox/#']);
    const stuck = await observe({ reconnectPeriod: 0 }, ['paradox/#']);
    stuck.client.stream.pause();
    const source = await observe({}, []);
    const block = Buffer.alloc(200 * 1024, 'x');
    for (let n = 0; n < 60; n += 1) await source.client.publishAsync('paradox/x', block, { qos: 1 });
    await source.client.publishAsync('paradox/end', 'end', { qos: 1 });
    await until(() => reader.packets.some((packet) => packet.topic === 'paradox/end'), 'the end', 5000);
    expect(await metrics.metrics()).toContain('siteward_mqtt_broker_dropped_total{reason="slow_client"}');
  });

  it('survives what is not MQTT, and stops while strangers hang on', async () => {
    const socket = tcp(broker.port(), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const idle = tcp(broker.port(), '127.0.0.1');
    idle.on('error', () => undefined);
    const gone = new Promise((resolve) => idle.once('close', resolve));
    const { client } = await observe({}, []);
    await client.publishAsync('paradox/x', 'still here', { qos: 1 });
    await broker.stop();
    await gone;
    socket.destroy();
    expect(broker.health().state).toBe('down');
  });

  it('says why it cannot listen and tries again', async () => {
    const options = { slug, log: memoryLog().log, metrics: new Registry() };
    const second = createBroker({ ...options, listen: { host: '127.0.0.1', port: broker.port() } });
    await second.start(new AbortController().signal);
    expect(second.health().reason).toContain('EADDRINUSE');
    await broker.stop();
    await until(() => second.health().state === 'ok', 'the port is free');
    await second.stop();
    await pause(0);
  });
});
