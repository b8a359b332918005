import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Aedes } from 'aedes';
import { connectAsync } from 'mqtt';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import type { Signal } from '#site/model/index.ts';
import { type Broker, startBroker, until } from './broker.ts';
import { panel, presets, type Rig, startPanels } from './helpers.ts';

const dsc = panel({
  id: 'main',
  profile: 'dsc-keybus',
  partitions: { p1: '1', p2: '2' },
  zones: { '1': { type: 'entry_exit_1' }, '2': { type: 'perimeter' } },
});

let broker: Broker;
const rigs: Rig[] = [];
beforeAll(async () => {
  broker = await startBroker(['max_inflight_messages 0']);
});
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.stop();
});
afterAll(() => broker.close());

/** Panels that listen already, each test under a session of its own. */
async function listening(given: Omit<Parameters<typeof startPanels>[0], 'url'>, at = broker): Promise<Rig> {
  const rig = await startPanels({ url: at.url, ...given });
  rigs.push(rig);
  await until(() => rig.panels.health().state !== 'down', 'the subscription');
  return rig;
}

const zones = (signals: readonly Signal[]) => signals.filter((signal) => signal.kind === 'zone');
const links = (signals: readonly Signal[]) =>
  signals.flatMap((signal) => (signal.kind === 'link' ? [`${signal.source.id} ${signal.layer} ${signal.up}`] : []));
const refusals = (rig: Rig) => rig.signals.filter((signal) => signal.kind === 'refusal');
/** Sends a message whose signal shows that everything before it was handled. */
async function marker(rig: Rig, topic = 'dsc/Get/Zone1'): Promise<void> {
  const before = rig.signals.length;
  await broker.publish(topic, '1');
  await until(() => zones(rig.signals.slice(before)).length > 0, 'the marker');
}
const counted = async (rig: Rig, result: string) => {
  const metric = await rig.metrics.getSingleMetric('siteward_panel_messages_total')?.get();
  return (metric?.values ?? [])
    .filter(({ labels }) => labels.result === result)
    .reduce((sum, { value }) => sum + value, 0);
};

describe('malformed messages', () => {
  it('are counted, logged once per topic and hour, and change nothing', async () => {
    const rig = await listening({ panels: [dsc, panel({ id: 'zb', profile: 'zigbee2mqtt' })], siteSlug: 'bad' });
    for (let i = 0; i < 3; i += 1) {
      await broker.publish('dsc/Get/Partition1', new Uint8Array([0xff, 0xd8, 0xff, 0xe0]));
      await broker.publish('dsc/Get/Partition1', new Uint8Array(1024 * 1024).fill(0x31));
      await broker.publish('zigbee2mqtt/door', '{"contact":fal');
      await broker.publish('zigbee2mqtt/door', '17');
      await broker.publish('zigbee2mqtt/door', '{"contact":{"deep":[1]},"tamper":"maybe"}');
    }
    await marker(rig);
    expect(rig.signals.filter((signal) => signal.kind === 'partition')).toEqual([]);
    expect(await counted(rig, 'dropped')).toBe(12);
    expect(await counted(rig, 'unmapped')).toBe(3);
    expect(rig.lines.filter((line) => line.includes('message dropped'))).toHaveLength(2);
    expect(rig.panels.hints()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'dropped', about: 'dsc/Get/Partition1', count: 6 }),
        expect.objectContaining({ kind: 'unknown_value', values: ['maybe'] }),
      ]),
    );
  });

  it('of ten thousand kinds keep hints and log within their bounds', async () => {
    const rig = await listening({ panels: [dsc], siteSlug: 'storm' });
    const client = await broker.client();
    const send = (topic: string, payload: string) => client.publishAsync(topic, payload, { qos: 1 });
    const before = rig.lines.length;
    for (let i = 0; i < 100; i += 1) {
      await Promise.all(Array.from({ length: 100 }, (_, j) => send('dsc/Get/Partition1', `nonsense ${i}-${j}`)));
    }
    for (let i = 0; i < 10; i += 1) {
      await Promise.all(Array.from({ length: 100 }, (_, j) => send(`dsc/Get/Zone9${i}x${j}`, '1')));
      await Promise.all(Array.from({ length: 100 }, (_, j) => send(`dsc/Get/Partition9${i}x${j}`, 'armed_away')));
    }
    await marker(rig);
    expect(await counted(rig, 'unmapped')).toBe(10_000);
    expect(rig.lines.length - before).toBeLessThan(10);
    expect(rig.panels.hints().length).toBeLessThanOrEqual(64 + 2);
    for (const hint of rig.panels.hints()) {
      expect(hint.values.length).toBeLessThanOrEqual(8);
      // In `siteward status` a time of 1970 would look like a broken clock.
      expect(hint.lastAt).toBeGreaterThan(0);
    }
    expect(rig.signals.filter((signal) => signal.kind === 'partition')).toEqual([]);
    // And the panel is still read.
    await broker.publish('dsc/Get/Partition1', 'armed_away');
    await until(
      () => rig.signals.some((signal) => signal.kind === 'partition' && signal.state === 'armed_away'),
      'the state',
    );
  }, 60_000);
});

describe('codes typed on a keypad', () => {
  it('are in no signal, log line, hint or metric', async () => {
    const rig = await listening({ panels: [dsc, panel({ id: 'zb', profile: 'zigbee2mqtt' })], siteSlug: 'pin' });
    await broker.publish('zigbee2mqtt/pad', '{"action":"disarm","action_code":"77310482","action_zone":0}');
    await broker.publish('zigbee2mqtt/pad', '{"action":"disarm","action_code":"77310482"');
    await broker.publish('zigbee2mqtt/pad', '{"contact":"77310482","action_code":77310482}');
    await broker.publish('dsc/Get/Partition1', '77310482');
    await marker(rig);
    const everything = [
      rig.logged(),
      JSON.stringify(rig.signals),
      JSON.stringify(rig.panels.hints()),
      await rig.metrics.metrics(),
    ];
    for (const text of everything) expect(text).not.toContain('77310482');
    expect(rig.logged()).toContain('****');
  });
});

describe('retained messages', () => {
  it('set the state after a start as replay, and later ones are live', async () => {
    await broker.publish('kept/Get/Zone1', '1', true);
    await broker.publish('kept/Get/Partition1', 'armed_away', true);
    await broker.publish('kept/Get/Partition1/Message', 'Failed to arm', true);
    const rig = await listening({ panels: [panel({ ...dsc, vars: { b: 'kept' } })], siteSlug: 'kept' });
    await until(
      () => zones(rig.signals).length > 0 && rig.signals.some((signal) => signal.kind === 'partition'),
      'the retained burst',
    );
    await broker.publish('kept/Get/Zone1', '0', true);
    await until(() => zones(rig.signals).length > 1, 'the change');
    expect(zones(rig.signals)).toMatchObject([
      { open: true, replay: true },
      { open: false, replay: false },
    ]);
    expect(rig.signals.find((signal) => signal.kind === 'partition')).toMatchObject({
      state: 'armed_away',
      replay: true,
    });
    expect(refusals(rig)).toEqual([]);
  });

  it('that are cleared say nothing', async () => {
    const rig = await listening({ panels: [dsc], siteSlug: 'clear' });
    await broker.publish('dsc/Get/Zone2', '', true);
    await broker.publish('dsc/Get/Partition2', '', true);
    await marker(rig);
    expect(zones(rig.signals)).toHaveLength(1);
    expect(rig.panels.hints().filter(({ kind }) => kind === 'unknown_value')).toEqual([]);
    // Of a zone that is configured it may be a new name.
    expect(rig.panels.hints()).toContainEqual(expect.objectContaining({ kind: 'vanished', about: '2', count: 1 }));
  });
});

describe('two panels of one profile', () => {
  it('stay apart by their base topics', async () => {
    const annex = panel({
      ...dsc,
      id: 'annex',
      vars: { b: 'annex' },
      partitions: { p3: '1' },
      zones: { '31': { type: 'perimeter', key: '1' } },
    });
    const rig = await listening({ panels: [dsc, annex], siteSlug: 'two' });
    await broker.publish('annex/Get/Zone1', '1');
    await broker.publish('annex/Get/Partition1', 'armed_home');
    await marker(rig);
    expect(rig.signals.filter(({ kind }) => kind !== 'link')).toMatchObject([
      { kind: 'zone', source: { id: 'annex' }, zone: '31' },
      { kind: 'partition', source: { id: 'annex' }, partition: 'p3', state: 'armed_home' },
      { kind: 'zone', source: { id: 'main' }, zone: '1' },
    ]);
  });

  it('of which one is wrong cost only that one', async () => {
    const rig = await listening({ panels: [dsc, panel({ ...dsc, id: 'copy' })], siteSlug: 'copy' });
    expect(rig.panels.health()).toMatchObject({ state: 'degraded', reason: expect.stringContaining('panel copy') });
    expect(rig.panels.hints()).toContainEqual(expect.objectContaining({ kind: 'not_running', panel: 'copy' }));
    await marker(rig);
  });
});

describe('commands', () => {
  it('reach the bridge, not retained, under a client of their own', async () => {
    const rig = await listening({ panels: [dsc], siteSlug: 'send' });
    const client = await broker.client();
    const got: string[] = [];
    client.on('message', (topic, payload, packet) => got.push(`${topic} ${payload} ${packet.retain}`));
    await client.subscribeAsync('dsc/Set', { qos: 1 });
    const send = () => rig.panels.send({ panel: 'main', partition: 'p2', action: 'arm_away', commandId: 'c1' });
    await until(() => {
      if (got.length === 0) send();
      return got.length > 0;
    }, 'the command');
    expect(got[0]).toBe('dsc/Set 2A false');
  });

  it('are refused, not kept, for what the panel lacks and while its bridge is away', async () => {
    const rig = await listening({ panels: [dsc], siteSlug: 'refuse' });
    rig.panels.send({ panel: 'other', partition: 'p1', action: 'disarm', commandId: 'c1' });
    rig.panels.send({ panel: 'main', partition: 'p9', action: 'disarm', commandId: 'c2' });
    rig.panels.send({ panel: 'main', partition: 'p1', action: 'arm_vacation', commandId: 'c3' });
    await broker.publish('dsc/Status', 'offline');
    await until(() => links(rig.signals).includes('main device false'), 'the link');
    rig.panels.send({ panel: 'main', partition: 'p1', action: 'disarm', commandId: 'c4' });
    expect(refusals(rig)).toMatchObject([
      { source: { id: 'other' }, partition: 'p1', reason: 'no_command' },
      { source: { id: 'main' }, partition: 'p9', reason: 'other' },
      { source: { id: 'main' }, partition: 'p1', reason: 'no_command' },
      { source: { id: 'main' }, partition: 'p1', reason: 'other' },
    ]);
  });
});

describe('a broker that hangs', () => {
  it('gets no command that it would carry out later', async () => {
    const own = await startBroker();
    try {
      const rig = await listening({ panels: [dsc], siteSlug: 'hang' }, own);
      const client = await own.client();
      const got: string[] = [];
      client.on('message', (topic, payload) => got.push(`${topic} ${payload}`));
      await client.subscribeAsync(['dsc/Set', 'done'], { qos: 1 });
      const send = (commandId: string) =>
        rig.panels.send({ panel: 'main', partition: 'p2', action: 'disarm', commandId });
      send('first');
      await until(() => got.length === 1 || refusals(rig).length > 0, 'the first');
      const before = got.length;
      const refusedBefore = refusals(rig).length;
      own.hang();
      send('late');
      await until(() => refusals(rig).length > refusedBefore, 'the refusal');
      expect(rig.logged()).toContain('the broker does not answer');
      own.goOn();
      await own.publish('done', '1');
      await until(() => got.includes('done 1'), 'what came behind it');
      expect(got.slice(before)).toEqual(['done 1']);
      send('again');
      await until(() => got.includes('dsc/Set 2D'), 'the command');
    } finally {
      for (const rig of rigs.splice(0)) await rig.stop();
      await own.close();
    }
  });
});

describe('a panel whose own profile is broken at a start', () => {
  it('is told as not reachable, with its reason', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-broken-'));
    writeFileSync(join(folder, 'own.json'), '{"id":"own","in":[]}');
    const rig = await startPanels({
      url: broker.url,
      siteSlug: 'broken',
      panels: [panel({ id: 'annex', profile: 'own' }), dsc],
      profiles: [folder, presets],
    });
    rigs.push(rig);
    rmSync(folder, { recursive: true, force: true });
    await until(() => links(rig.signals).includes('annex bridge false'), 'the loss');
    const lost = rig.signals.find((signal) => signal.kind === 'link' && signal.source.id === 'annex');
    expect(lost).toMatchObject({ reason: expect.stringContaining('profile own') });
  });
});

describe('the connection to the broker', () => {
  it('lost is the bridge down for each panel, a refused command, and up again when the bridge says so', async () => {
    const own = await startBroker();
    try {
      const rig = await listening(
        { panels: [dsc, panel({ id: 'zb', profile: 'zigbee2mqtt' })], siteSlug: 'lost' },
        own,
      );
      await own.publish('dsc/Status', 'online', true);
      await until(() => links(rig.signals).includes('main bridge true'), 'the bridge');
      await own.kill();
      await until(
        () => links(rig.signals).includes('main bridge false') && links(rig.signals).includes('zb bridge false'),
        'the loss',
      );
      expect(rig.panels.health()).toMatchObject({ state: 'down', reason: expect.stringContaining('broker') });

      rig.panels.send({ panel: 'main', partition: 'p1', action: 'disarm', commandId: 'stale' });
      expect(refusals(rig)).toHaveLength(1);

      await own.restart();
      await until(() => rig.panels.health().state === 'ok', 'the reconnect');
      const client = await own.client();
      const got: string[] = [];
      client.on('message', (topic) => got.push(topic));
      await client.subscribeAsync('dsc/#', { qos: 1 });
      const before = rig.signals.length;
      // Heard again is up again, also when the broker has lost the bridge's own word.
      await own.publish('zigbee2mqtt/door', '{"contact":true}');
      await until(() => links(rig.signals.slice(before)).includes('zb bridge true'), 'the silent bridge');
      await own.publish('dsc/Status', 'online', true);
      await until(() => links(rig.signals.slice(before)).includes('main bridge true'), 'the bridge again');
      await until(() => got.length > 0, 'the message to arrive here too');
      expect(got).toEqual(['dsc/Status']);
    } finally {
      for (const rig of rigs.splice(0)) await rig.stop();
      await own.close();
    }
  });

  it('that comes back with older words than were heard disarms nothing, and ends no alarm', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-older-'));
    const saved = [
      'persistence true',
      `persistence_location ${folder}/`,
      'autosave_on_changes true',
      'autosave_interval 1',
    ];
    const own = await startBroker(saved);
    try {
      const retained = [
        ['1', 'disarmed'],
        ['2', 'armed_away'],
        ['3', 'armed_home'],
      ] as const;
      for (const [number, state] of retained) await own.publish(`dsc/Get/Partition${number}`, state, true);
      const dsc3 = panel({ id: 'main', profile: 'dsc-keybus', partitions: { p1: '1', p2: '2', p3: '3' } });
      const rig = await listening({ panels: [dsc3], siteSlug: 'older' }, own);
      // With what the site takes it for: a retained or queued word is no live one.
      const mark = ({ replay, waited }: { replay: boolean; waited?: unknown }) => (replay || waited ? '?' : '');
      const states = (from: number) =>
        rig.signals
          .slice(from)
          .flatMap((one) => (one.kind === 'partition' ? [`${one.partition} ${one.state}${mark(one)}`] : []));
      await until(() => states(0).length >= 3, 'the retained states at the start');
      // Told live and not retained: as if the broker had saved nothing since.
      await own.publish('dsc/Get/Partition1', 'armed_away');
      await own.publish('dsc/Get/Partition2', 'triggered');
      await own.publish('dsc/Get/Partition3', 'disarmed');
      await until(() => states(0).includes('p3 disarmed'), 'the live states');
      await own.kill();
      await until(() => links(rig.signals).includes('main bridge false'), 'the loss');
      const before = rig.signals.length;
      await own.restart();
      // In whatever order, and not in one packet.
      const again = ['p1 disarmed?', 'p2 armed_away?', 'p3 armed_home?'];
      await until(() => again.every((one) => states(before).includes(one)), 'the retained states again');
      expect(states(before).every((one) => one.endsWith('?'))).toBe(true);
      // The session's queue must be empty first.
      await until(async () => {
        await own.publish('dsc/Get/Partition1', 'disarmed');
        await new Promise((resolve) => setTimeout(resolve, 100));
        return states(before).includes('p1 disarmed');
      }, 'the live word');
    } finally {
      for (const rig of rigs.splice(0)) await rig.stop();
      await own.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('absent at the start says so, and the part stops at once', async () => {
    const rig = await startPanels({ url: 'mqtt://127.0.0.1:9', panels: [dsc] });
    await until(() => links(rig.signals).includes('main bridge false'), 'the report');
    expect(rig.panels.health()).toMatchObject({ state: 'down' });
    await rig.stop();
    expect(rig.lines.filter((line) => line.includes('cannot be heard'))).toHaveLength(1);
  });
});

describe('a panel that tells nothing about itself', () => {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-profile-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('counts as down after its silence and as up with its next live message', async () => {
    const quiet = {
      id: 'quiet',
      title: 'Quiet',
      version: 1,
      hardware: [],
      vars: { b: 'quiet' },
      identity: { partition: 'number', zone: 'number' },
      code: { mode: 'none' },
      caps: [],
      liveness: { stale_after_s: 60 },
      in: [{ topic: '$b/{zone}', read: [{ for: 'zone', set: 'open' }] }],
    };
    writeFileSync(join(folder, 'quiet.json'), JSON.stringify(quiet));
    const clock = manualClock();
    const panels = [panel({ id: 'q', profile: 'quiet', zones: { '1': { type: 'perimeter' } } })];
    const rig = await listening({ panels, profiles: [folder, presets], siteSlug: 'quiet', clock });
    expect(links(rig.signals)).toEqual(['q bridge true']);
    clock.advance(61_000);
    await until(() => links(rig.signals).length === 2, 'the silence');
    await marker(rig, 'quiet/1');
    expect(links(rig.signals)).toEqual(['q bridge true', 'q device false', 'q device true']);
  });

  it('may be silent for as long as its configuration says, whatever its profile says', async () => {
    const clock = manualClock();
    const panels = [panel({ id: 'q', profile: 'quiet', stale_after: '10m', zones: { '1': { type: 'perimeter' } } })];
    const rig = await listening({ panels, profiles: [folder, presets], siteSlug: 'patient', clock });
    clock.advance(599_000);
    await marker(rig, 'quiet/1');
    clock.advance(599_000);
    await marker(rig, 'quiet/1');
    expect(links(rig.signals)).toEqual(['q bridge true']);
    clock.advance(600_000);
    await until(() => links(rig.signals).length === 2, 'the silence');
    expect(links(rig.signals).at(-1)).toBe('q device false');
  });

  it('is down after its silence over restarts too', async () => {
    const clock = manualClock();
    const kept = new Map<string, string>();
    const memory = {
      get: async (key: string) => kept.get(key),
      set: async (key: string, value: string) => void kept.set(key, value),
    };
    const panels = [panel({ id: 'q', profile: 'quiet', stale_after: '10m', zones: { '1': { type: 'perimeter' } } })];
    const given = { panels, profiles: [folder, presets], siteSlug: 'restarted', clock, memory };
    const first = await listening(given);
    await marker(first, 'quiet/1');
    clock.advance(400_000);
    await first.panels.stop();
    const second = await listening(given);
    clock.advance(201_000);
    await until(() => links(second.signals).at(-1) === 'q device false', 'the silence');
    await marker(second, 'quiet/1');
    expect(links(second.signals).at(-1)).toBe('q device true');
  });
});

describe('a supervised detector', () => {
  const supervised = panel({
    id: 'main',
    profile: 'dsc-keybus',
    zones: { '1': { type: 'perimeter', supervised: '4h' }, '2': { type: 'perimeter' } },
  });
  const onlines = (signals: readonly Signal[]) =>
    zones(signals).flatMap((signal) => (signal.online === undefined ? [] : [`${signal.zone} ${signal.online}`]));

  it('is lost after its silence, once, and back with its next live message', async () => {
    const clock = manualClock();
    const rig = await listening({ panels: [supervised], siteSlug: 'supervised', clock });
    clock.advance(3 * 3_600_000);
    await marker(rig);
    expect(onlines(rig.signals)).toEqual(['1 true']);
    clock.advance(4 * 3_600_000 + 1);
    await until(() => onlines(rig.signals).length === 2, 'the loss');
    clock.advance(3_600_000);
    await broker.publish('dsc/Get/Zone2', '1');
    await marker(rig);
    expect(onlines(rig.signals)).toEqual(['1 true', '1 false', '1 true']);
  });

  it('is not lost because the broker was away', async () => {
    const own = await startBroker();
    const clock = manualClock();
    const rig = await listening({ panels: [supervised], siteSlug: 'supervised', clock }, own);
    clock.advance(3 * 3_600_000);
    await own.kill();
    await until(() => links(rig.signals).at(-1) === 'main bridge false', 'the loss of the broker');
    clock.advance(5 * 3_600_000);
    await own.restart();
    await until(() => rig.panels.health().state === 'ok', 'the broker');
    clock.advance(3_500_000);
    await own.publish('dsc/Get/Zone2', '1');
    await until(() => zones(rig.signals).length > 0, 'the other zone');
    expect(onlines(rig.signals)).toEqual([]);
    clock.advance(200_000);
    await until(() => onlines(rig.signals).length === 1, 'the loss of the detector');
    await rig.stop();
    await own.close();
  });
});

describe('a panel that is gone since before the start', () => {
  it('counts as lost when nothing at all was heard of it, and as up with its first live message', async () => {
    const clock = manualClock();
    const rig = await listening({ panels: [panel({ id: 'zb', profile: 'zigbee2mqtt' })], siteSlug: 'gone', clock });
    expect(links(rig.signals)).toEqual([]);
    clock.advance(121_000);
    await until(() => links(rig.signals).length === 1, 'the loss');
    expect(links(rig.signals)).toEqual(['zb bridge false']);
    await broker.publish('zigbee2mqtt/door', JSON.stringify({ contact: true }));
    await until(() => links(rig.signals).length === 2, 'the panel');
    expect(links(rig.signals)).toEqual(['zb bridge false', 'zb bridge true']);
  });
});

describe('the embedded broker', () => {
  async function embedded(refuse: boolean) {
    const aedes = await Aedes.createBroker({
      authorizeSubscribe: (_client, subscription, done) => done(null, refuse ? null : subscription),
    });
    const server = createServer(aedes.handle);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const url = `mqtt://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const close = async () => {
      await new Promise<void>((resolve) => aedes.close(() => resolve()));
      await new Promise((resolve) => server.close(resolve));
    };
    return { url, close };
  }

  it('keeps what came while the daemon was away', async () => {
    const { url, close } = await embedded(false);
    const first = await startPanels({ url, panels: [dsc] });
    await until(() => first.panels.health().state === 'ok', 'the subscription');
    await first.stop();
    const client = await connectAsync(url, { reconnectPeriod: 0 });
    await client.publishAsync('dsc/Get/Zone1', '1', { qos: 1 });
    await client.publishAsync('dsc/Get/Zone1', '0', { qos: 1 });
    const second = await startPanels({ url, panels: [dsc] });
    await until(() => zones(second.signals).length === 2, 'what came meanwhile');
    expect(zones(second.signals)).toMatchObject([
      { open: true, replay: false },
      { open: false, replay: false },
    ]);
    client.end(true);
    await second.stop();
    await close();
  });

  it('that refuses the subscription is a reason in health', async () => {
    const { url, close } = await embedded(true);
    const rig = await startPanels({ url, panels: [dsc] });
    await until(() => (rig.panels.health().reason ?? '').includes('refused'), 'the reason');
    expect(links(rig.signals)).toContain('main bridge false');
    await rig.stop();
    await close();
  });
});
