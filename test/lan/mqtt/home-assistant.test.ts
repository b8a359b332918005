import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { SitewardError } from '../../../src/errors.ts';
import { haAttributes, haWords } from '../../../src/lan/mqtt/home-assistant-schemas.ts';
import { eventPayload } from '../../../src/lan/mqtt/schemas.ts';
import { fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { bench, brokers, event } from './bench.ts';
import { root, startEmbedded, until } from './harness.ts';
import { type HomeAssistantClient, homeAssistant } from './home-assistant-client.ts';

const told = { prefix: 'homeassistant', siteName: 'Head office', serial: 'sw-1', afterBirthMs: () => 50 };
const config = 'homeassistant/device/siteward_hq/config';

function memory() {
  const kept = new Map<string, string>();
  return {
    kept,
    get: async (key: string) => kept.get(key),
    set: async (key: string, value: string) => void kept.set(key, value),
    delete: async (key: string) => void kept.delete(key),
  };
}

/** A clock that can be put forward: words are taken only a second after the connect. */
function movable() {
  const system = systemClock();
  let aheadMs = 0;
  return {
    clock: { ...system, monotonic: () => system.monotonic() + aheadMs },
    forward: (ms: number) => {
      aheadMs += ms;
    },
  };
}

for (const [name, startBroker, missing] of brokers) {
  describe.skipIf(missing)(`Home Assistant on ${name}`, () => {
    const on = bench(startBroker);
    const clients: HomeAssistantClient[] = [];
    afterEach(async () => {
      for (const client of clients.splice(0)) await client.stop();
    });

    async function home() {
      const client = await homeAssistant(on.broker.url);
      clients.push(client);
      return client;
    }
    const known = (ha: HomeAssistantClient, id: string) => ha.entity(`siteward_hq_${id}`);
    const state = (ha: HomeAssistantClient, id: string) => known(ha, id)?.state;

    async function both(change: Parameters<typeof on.start>[0] = {}) {
      const time = movable();
      const running = await on.start({ homeAssistant: told, clock: time.clock, ...change });
      const ha = await home();
      await until(() => state(ha, 'p1') === 'disarmed' && known(ha, 'p2')?.available, 'the panels');
      time.forward(2000);
      return { ha, running, time };
    }

    it('finds the site, and knows every state', async () => {
      on.site.setLink('camera', 'yard', true);
      const { ha } = await both();
      await until(() => [...ha.entities.values()].every(({ available }) => available), 'everything is there');
      expect([...ha.entities.keys()].sort()).toEqual(
        ['cloud', 'event', 'image_yard', 'outbox', 'p1', 'p2', 'problem', 'shot_yard', 'z1', 'z2', 'z3'].map(
          (key) => `siteward_hq_${key}`,
        ),
      );
      const seen = () => ['z1', 'problem', 'cloud', 'outbox'].map((key) => state(ha, key)).join();
      await until(() => seen() === 'off,off,on,2', 'every state');
      await until(() => known(ha, 'problem')?.attributes.items, 'the troubles');
    });

    it('is told again when it comes back: discovery, then the states', async () => {
      const { ha } = await both();
      ha.story.length = 0;
      await ha.birth();
      await until(() => ha.story.includes(`!${root}/partition/p1/ha`), 'the states');
      const live = ha.story.filter((topic) => topic.startsWith('!'));
      expect(live).toContain(`!${config}`);
      expect(live.indexOf(`!${config}`)).toBeLessThan(live.indexOf(`!${root}/partition/p1/ha`));
      // As after a restart: what the broker has retained is enough, whether siteward hears of it or not.
      const again = await home();
      await until(() => state(again, 'p1') === 'disarmed', 'the panel');
    });

    it('answers many births with one after the other, not with a flood', async () => {
      const { ha } = await both({ homeAssistant: { ...told, afterBirthMs: () => 300 } });
      ha.story.length = 0;
      for (let count = 0; count < 50; count += 1) await ha.birth();
      await until(() => ha.story.filter((topic) => topic === `!${root}/partition/p1/ha`).length >= 2, 'the states');
      expect(ha.story.filter((topic) => topic === `!${config}`).length).toBeLessThan(10);
    });

    it('knows a detector of fire that was never heard from one that tells no alarm', async () => {
      const { zones } = on.site.view().plan;
      on.site.setPlan({ zones: zones.map((zone) => (zone.number === '1' ? { ...zone, type: 'fire' } : zone)) });
      on.site.setZone('1', { open: null });
      const { ha } = await both();
      await until(() => state(ha, 'z1') === 'unknown', 'a detector nobody knows');
      on.site.setZone('1', { heard: true });
      await until(() => state(ha, 'z1') === 'off', 'no alarm');
      on.site.setZone('1', { alarm: true });
      await until(() => state(ha, 'z1') === 'on', 'an alarm');
    });

    it('follows states, availability and what is not known', async () => {
      const { ha, running } = await both();
      on.site.setZone('1', { open: true });
      await until(() => state(ha, 'z1') === 'on', 'an open zone');
      on.site.setZone('1', { open: null });
      await until(() => state(ha, 'z1') === 'unknown', 'a zone nobody knows');
      on.site.setPartition('p2', 'armed_night');
      await until(() => state(ha, 'p2') === 'armed_night', 'armed');
      on.site.setPartition('p2', 'unknown');
      await until(() => state(ha, 'p2') === 'unknown', 'nobody knows');
      on.site.setLink('panel', 'main', false);
      await until(() => known(ha, 'p1')?.available === false, 'the panel is away');
      expect(known(ha, 'p2')?.available).toBe(true);
      on.site.setTrouble(true);
      running.lan.setCloudLink(false);
      await until(() => state(ha, 'problem') === 'on' && state(ha, 'cloud') === 'off', 'troubles');
      await on.stop();
      await until(() => [...ha.entities.values()].every(({ available }) => !available), 'siteward is away');
    });

    it('never sees armed in full what is armed in part', async () => {
      const { ha } = await both();
      on.site.setPartition('p1', 'armed_away');
      await until(() => state(ha, 'p1') === 'armed_away', 'armed');
      on.site.setZone('2', { bypassed: true });
      await until(() => state(ha, 'p1') === 'armed_custom_bypass', 'armed in part');
      await until(() => String(known(ha, 'p1')?.attributes.bypassed) === '2', 'what is left out');
      expect(known(ha, 'p1')?.attributes).toMatchObject({ mode: 'away' });
      expect(haAttributes.safeParse(known(ha, 'p1')?.attributes).error).toBeUndefined();
      expect(haWords).toContain(state(ha, 'p1'));
      const watcher = await on.observe();
      await until(() => watcher.texts('partition/p1/state').includes('armed_away'), 'the word for everybody else');
    });

    it('arms, and disarms with the code typed on it', async () => {
      const { ha, running } = await both();
      await ha.press('siteward_hq_p2', 'ARM_HOME');
      await until(() => state(ha, 'p2') === 'armed_home', 'armed');
      await ha.press('siteward_hq_p2', 'DISARM', '48270391');
      await until(() => state(ha, 'p2') === 'disarmed', 'disarmed');
      expect(on.site.submitted.map(({ verb, partition, mode, code }) => [verb, partition, mode, code])).toEqual([
        ['arm', 'p2', 'home', 'none'],
        ['disarm', 'p2', undefined, 'ok'],
      ]);
      expect(running.lines.join('\n')).not.toContain('48270391');
    });

    it('hears of a wrong code and of what was not armed, without the code', async () => {
      const { ha, running } = await both();
      await ha.press('siteward_hq_p1', 'DISARM', '91730528');
      await until(() => ha.events.length === 1, 'the refusal');
      expect(ha.events[0]).toMatchObject({
        ...{ event_type: 'command_refused', partition: 'p1' },
        data: { action: 'DISARM', outcome: 'refused', error: { code: 'BAD_CODE' } },
      });
      on.site.refusal = { code: 'NOT_READY', zones: ['2'] };
      await ha.press('siteward_hq_p1', 'ARM_AWAY');
      await until(() => ha.events.length === 2, 'the refusal');
      expect(ha.events[1]).toMatchObject({
        event_type: 'arm_failed',
        data: { error: { code: 'NOT_READY', zones: ['2'] } },
      });
      for (const one of ha.events) expect(eventPayload.safeParse(one).error).toBeUndefined();
      expect(JSON.stringify(ha.events) + running.lines.join('\n')).not.toContain('91730528');
      await until(() => state(ha, 'p1') === 'disarmed', 'the state stands');
    });

    it('takes the same object for the same command, and one that is old for none', async () => {
      const { ha } = await both();
      const press = (action: string, at: Date) => JSON.stringify({ action, code: 'None', issued_at: at.toISOString() });
      const now = new Date();
      for (let count = 0; count < 2; count += 1) await ha.send(`${root}/cmd/ha/p2`, press('ARM_NIGHT', now));
      await until(() => on.site.submitted.length === 2, 'both');
      const [first, second] = on.site.submitted;
      // The gate, not this door, knows what it has done: the id is the same.
      expect(second?.id).toBe(first?.id);
      expect(on.site.checked).toEqual([undefined, undefined]);
      expect(first?.issuedAt).toBe(now.getTime());
    });

    it('takes bare words once, and none that could be old', async () => {
      const { ha, time } = await both();
      const topic = `${root}/cmd/ha/p2`;
      for (let count = 0; count < 3; count += 1) await ha.send(topic, 'ARM_AWAY');
      await ha.send(topic, '');
      await ha.send(topic, 'DISARM');
      await until(() => ha.events.length === 1, 'the refusal');
      expect(ha.events[0]).toMatchObject({ data: { action: 'DISARM', error: { code: 'CODE_REQUIRED' } } });
      expect(on.site.submitted.map(({ verb, mode }) => [verb, mode])).toEqual([['arm', 'away']]);
      time.forward(2000);
      await ha.send(topic, 'ARM_AWAY');
      await until(() => on.site.submitted.length === 2, 'the word again');
    });

    it('takes a picture by its button, and shows it', async () => {
      const { ha, time } = await both();
      on.site.pictures = { yard: Buffer.from('a JPEG') };
      await ha.press('siteward_hq_shot_yard', 'PRESS');
      await until(() => state(ha, 'image_yard') === 'picture a JPEG', 'the picture');
      on.site.pictures = { yard: new SitewardError('camera_refused', 'not while it is disarmed') };
      time.forward(2000);
      await ha.press('siteward_hq_shot_yard', 'PRESS');
      await until(() => ha.events.length === 1, 'the refusal');
      expect(ha.events[0]).toMatchObject({ camera: 'yard', data: { error: { code: 'NOT_ALLOWED' } } });
    });

    it('calls for help by a press or a word, at any time and whatever is wrong with it', async () => {
      await on.start({ homeAssistant: told });
      const ha = await home();
      await until(() => known(ha, 'p1'), 'the panels');
      const topic = `${root}/cmd/ha/p1`;
      await ha.send(topic, 'TRIGGER');
      await ha.press('siteward_hq_p2', 'TRIGGER');
      await ha.send(`${root}/cmd/ha/p9`, JSON.stringify({ action: 'TRIGGER', issued_at: '2020-01-01T00:00:00Z' }));
      await ha.send(topic, JSON.stringify({ action: 'TRIGGER', code: 1 }));
      await until(() => on.site.called.length >= 3, 'the calls');
      expect(on.site.called.map(({ kind, partition }) => [kind, partition])).toEqual([
        ['audible', 'p1'],
        ['audible', 'p2'],
        ['audible', undefined],
      ]);
      on.site.callFailure = { code: 'BUSY' };
      await ha.send(`${root}/cmd/ha/p2`, 'TRIGGER');
      await until(() => ha.events.length === 1, 'it was not kept');
      expect(ha.events[0]).toMatchObject({ data: { action: 'TRIGGER', error: { code: 'BUSY' } } });
      on.site.callFailure = undefined;
      await ha.send(`${root}/cmd/ha/p2`, 'TRIGGER');
      await until(() => on.site.called.length >= 5, 'another press at once');
    });

    it('says what it cannot do', async () => {
      const { ha } = await both();
      const codes = () => ha.events.map(({ data }) => (data as { error: { code: string } }).error.code);
      await ha.send(`${root}/cmd/ha/p9`, 'ARM_AWAY');
      await ha.send(`${root}/cmd/ha/all`, 'ARM_AWAY');
      await ha.send(`${root}/cmd/ha/audio/play`, 'PRESS');
      await ha.send(`${root}/cmd/ha/snapshot/nowhere`, 'PRESS');
      await ha.send(`${root}/cmd/ha/p1`, 'ARM');
      await ha.send(`${root}/cmd/ha/p1`, '{"action":"DISARM","code":48270391,"issued_at":"2026-11-28T20:00:00Z"}');
      await ha.send(`${root}/cmd/ha/p1`, '{"action":"DISARM","code":"48270391"}');
      await until(() => ha.events.length === 7, 'the answers');
      expect(codes()).toEqual([
        ...['UNKNOWN_TARGET', 'UNKNOWN_TARGET', 'AUDIO_UNAVAILABLE', 'UNKNOWN_TARGET', 'BAD_JSON', 'SCHEMA', 'SCHEMA'],
      ]);
      expect(on.site.submitted).toEqual([]);
    });

    if (name !== 'the embedded broker') {
      it('has a retained word refused and cleared, and words in the first second ignored', async () => {
        const early = await on.observe();
        await early.client.publishAsync(`${root}/cmd/ha/p2`, 'ARM_AWAY', { qos: 1, retain: true });
        const { ha } = await both();
        const late = await on.observe({}, [`${root}/cmd/ha/#`]);
        await until(() => ha.entities.size > 0, 'the site');
        await pause(200);
        expect(late.packets).toEqual([]);
        expect(on.site.submitted).toEqual([]);
      });
    }

    it('takes no word in the first second after siteward has connected', async () => {
      await on.start({ homeAssistant: told });
      const ha = await home();
      await ha.send(`${root}/cmd/ha/p2`, 'ARM_AWAY');
      await ha.send(`${root}/cmd/ha/p2`, JSON.stringify({ action: 'ARM_HOME', issued_at: new Date().toISOString() }));
      await until(() => on.site.submitted.length === 1, 'the object');
      expect(on.site.submitted.map(({ mode }) => mode)).toEqual(['home']);
    });

    it('is told of alarms and arming, never of what is silent', async () => {
      const { ha, running } = await both();
      running.lan.publishEvent(event({ kind: 'panic_silent', event_type: 'panic_silent', contact_id: '122' }));
      running.lan.publishEvent(event({ kind: 'duress', event_type: 'duress' }));
      running.lan.publishEvent(event());
      running.lan.publishEvent(event({ status: 'cancelled' }));
      running.lan.publishEvent(event({ class: 'arming', kind: 'disarmed', late: true }));
      running.lan.publishEvent(event({ class: 'arming', kind: 'armed_away' }));
      running.lan.publishEvent(event({ class: 'trouble', kind: 'fail_to_arm' }));
      running.lan.publishEvent(event({ class: 'trouble', kind: 'ac_loss', status: 'restored' }));
      await until(() => ha.events.length === 5, 'the events');
      expect(ha.events.map(({ event_type: type }) => type)).toEqual([
        ...['alarm', 'alarm_cancelled', 'armed', 'arm_failed', 'trouble_restored'],
      ]);
      expect([...ha.entities.keys()]).not.toContain('siteward_hq_z99');
      expect(ha.configs.some(({ text }) => text.includes('z99'))).toBe(false);
    });

    it('loses what the site has lost: named once, then left out', async () => {
      const { ha } = await both();
      await ha.birth();
      await until(() => ha.configs.length === 2, 'it is there');
      const before = ha.configs.length;
      const { plan } = on.site.view();
      on.site.setPlan({ zones: plan.zones.slice(1), partitions: plan.partitions.slice(0, 1) });
      await until(() => ha.configs.length >= before + 2, 'the news');
      const [once, then] = ha.configs.slice(before).map(({ text }) => JSON.parse(text).components);
      expect([once.z1, once.p2]).toEqual([{ platform: 'binary_sensor' }, { platform: 'alarm_control_panel' }]);
      expect(Object.keys(then)).not.toContain('z1');
      expect([known(ha, 'z1'), known(ha, 'p2')]).toEqual([undefined, undefined]);
      expect(state(ha, 'p1')).toBe('disarmed');
      // And it stays so.
      const told = ha.configs.length;
      await ha.birth();
      await until(() => ha.configs.length > told, 'discovery again');
      expect(ha.configs.at(-1)?.text).not.toContain('"z1"');
    });

    it('loses what went while siteward was away, though the broker forgot it', async () => {
      const kept = memory();
      const { ha } = await both({ memory: kept });
      await until(() => kept.kept.size > 0, 'the memory');
      await on.stop();
      on.renew(fakeSite());
      on.site.setPlan({ zones: on.site.view().plan.zones.slice(2) });
      await ha.send(config, '', true);
      // Home Assistant itself has heard the empty topic; one that has not is told by name.
      const other = await home();
      await on.start({ homeAssistant: told, memory: kept });
      await until(
        () => other.configs.some(({ text }) => text.includes('"z1":{"platform":"binary_sensor"}')),
        'the news',
      );
      await until(() => other.entities.has('siteward_hq_z3'), 'the rest');
    });

    it('hears at its birth what was lost while it was away', async () => {
      const { ha } = await both();
      on.site.setPlan({ zones: on.site.view().plan.zones.slice(1) });
      await until(() => known(ha, 'z1') === undefined, 'whoever is there hears it');
      const other = await home();
      await until(() => other.configs.length > 0, 'what is retained');
      expect(other.configs[0]?.text).not.toContain('"z1"');
      other.configs.length = 0;
      await other.birth();
      await until(() => other.configs.length === 2, 'once more');
      expect(JSON.parse(other.configs[0]?.text ?? '').components.z1).toEqual({ platform: 'binary_sensor' });
      await other.birth();
      await until(() => other.configs.length === 3, 'and never again');
      expect(other.configs.slice(1).some(({ text }) => text.includes('"z1"'))).toBe(false);
    });

    it('loses what only the broker remembers', async () => {
      const { ha } = await both();
      await on.stop();
      on.renew(fakeSite());
      on.site.setPlan({ zones: on.site.view().plan.zones.slice(1) });
      const { device, origin } = JSON.parse(ha.configs.at(-1)?.text ?? '');
      const ghost = { device: { ...device, identifiers: ['siteward_hq_p7'] }, origin, components: {} };
      await ha.send('homeassistant/device/siteward_hq_p7/config', JSON.stringify(ghost), true);
      await ha.send('homeassistant/device/siteward_hq-2/config', JSON.stringify(ghost), true);
      await on.start({ homeAssistant: told });
      await until(() => known(ha, 'z1') === undefined, 'zone 1 is gone');
      await until(() => ha.configs.some(({ topic, text }) => topic.includes('_hq_p7/') && text === ''), 'the ghost');
      const late = await home();
      await until(() => late.configs.length >= 2, 'what is retained');
      expect(late.configs.map(({ topic }) => topic.split('/')[2]).sort()).toEqual(['siteward_hq', 'siteward_hq-2']);
    });

    it('loses the whole site when it is switched off, and its copies with it', async () => {
      const kept = memory();
      const { ha } = await both({ memory: kept });
      await until(() => kept.kept.size > 0, 'the memory');
      await on.stop();
      await on.start({ memory: kept });
      await until(() => ha.entities.size === 0, 'nothing is left');
      expect(kept.kept.size).toBeGreaterThan(0);
      // One that was away is told when it comes.
      const before = ha.configs.length;
      await ha.birth();
      await until(() => ha.configs.length > before && ha.configs.at(-1)?.text === '', 'it is told again');
      await until(() => kept.kept.size === 0, 'the memory is empty');
      const late = await on.observe({}, ['homeassistant/#', `${root}/partition/+/+`]);
      await until(() => late.texts('partition/p1/state').length > 0, 'the state');
      const topics = () => late.packets.filter(({ payload }) => payload.length > 0).map(({ topic }) => topic);
      expect(topics().filter((topic) => /homeassistant|\/ha/.test(topic))).toEqual([]);
    });

    it('loses the site under its old id, also where it comes back only later', async () => {
      const kept = memory();
      const { ha } = await both({ memory: kept });
      await until(() => kept.kept.size > 0, 'the memory');
      await on.stop();
      const empties = () => ha.configs.filter(({ topic, text }) => topic === config && text === '').length;
      await on.start({ homeAssistant: told, memory: kept, slug: 'hq-2' });
      await until(
        () => ha.entities.has('siteward_hq-2_p1') && !ha.entities.has('siteward_hq_p1'),
        'the new for the old',
      );
      const before = empties();
      await ha.birth();
      await until(() => empties() > before, 'it is told again');
      await until(() => !JSON.stringify([...kept.kept]).includes('siteward_hq/'), 'and that is the end of it');
    });

    it('finds it anew under another prefix, and loses it under the old', async () => {
      const kept = memory();
      const { ha } = await both({ memory: kept });
      await until(() => kept.kept.size > 0, 'the memory');
      await on.stop();
      const other = await on.observe({}, ['ha2/#']);
      await on.start({ homeAssistant: { ...told, prefix: 'ha2' }, memory: kept });
      await until(() => ha.entities.size === 0, 'nothing is left');
      await until(() => other.packets.length > 0, 'the other');
    });

    it('sees nothing of a site that does not ask for it', async () => {
      await on.start();
      const ha = await home();
      const watcher = await on.observe();
      await ha.birth();
      await until(() => watcher.texts('status').includes('online'), 'the site');
      expect([ha.configs, watcher.texts('partition/p1/ha')]).toEqual([[], []]);
    });
  });
}

describe('the roles of Home Assistant on the embedded broker', () => {
  const users = (['ha', 'ha-trusted'] as const).map((role) => ({
    id: role,
    role,
    password: new Secret('pw-of-ha-12'),
  }));
  const on = bench(() => startEmbedded(users));
  const clients: HomeAssistantClient[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.stop();
  });
  const login = async (username: 'ha' | 'ha-trusted') => {
    const client = await homeAssistant(on.broker.url, { username, password: 'pw-of-ha-12' });
    clients.push(client);
    return client;
  };

  async function words(disarmNeedsCode: boolean) {
    const time = movable();
    on.site.setPlan({ disarmNeedsCode });
    await on.start({ homeAssistant: told, clock: time.clock });
    time.forward(2000);
    const [ha, trusted] = [await login('ha'), await login('ha-trusted')];
    await until(
      () => [ha, trusted].every(({ entities }) => entities.get('siteward_hq_p1')?.state),
      'both see the site',
    );
    await ha.birth();
    for (const client of [ha, trusted]) await client.send(`${root}/cmd/ha/p2`, 'DISARM');
    return [ha, trusted];
  }

  it('let only the trusted one disarm by the bare word, where the site asks for no code', async () => {
    const [ha] = await words(false);
    await until(() => on.site.submitted.length === 1 && ha?.events.length === 1, 'one of them');
    expect(on.site.submitted[0]).toMatchObject({ verb: 'disarm', client: 'ha-trusted', code: 'none' });
    expect(ha?.events[0]).toMatchObject({ data: { error: { code: 'CODE_REQUIRED' } } });
  });

  it('let neither where it does', async () => {
    const [ha] = await words(true);
    await until(() => ha?.events.length === 2, 'both refusals');
    expect(on.site.submitted).toEqual([]);
  });
});
