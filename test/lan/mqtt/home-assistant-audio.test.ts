import { afterEach, describe, expect, it } from 'vitest';
import { SitewardError } from '#errors.ts';
import { fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { bench, brokers } from './bench.ts';
import { root, until } from './harness.ts';
import { type HomeAssistantClient, homeAssistant } from './home-assistant-client.ts';

const told = { prefix: 'homeassistant', siteName: 'Head office', serial: 'sw-1', afterBirthMs: () => 50 };
const group = ['audio_msg', 'audio_vol', 'audio_play', 'audio_stop', 'audio_state'];
const id = (key: string) => `siteward_hq_${key}`;

for (const [name, startBroker, missing] of brokers) {
  describe.skipIf(missing)(`messages on speakers from Home Assistant on ${name}`, () => {
    const on = bench(startBroker);
    const clients: HomeAssistantClient[] = [];
    afterEach(async () => {
      for (const client of clients.splice(0)) await client.stop();
    });
    const state = (ha: HomeAssistantClient, key: string) => ha.entity(id(key))?.state;
    const errors = (ha: HomeAssistantClient) =>
      ha.events.map(({ data }) => {
        const { audio, error } = data as { audio: string; error: { code: string; field?: string } };
        return [audio, error.code, error.field];
      });

    async function both(speakers = ['gate'], early: () => Promise<unknown> = async () => undefined) {
      on.renew(fakeSite());
      on.site.setPlan({ speakers });
      await early();
      const system = systemClock();
      let aheadMs = 0;
      const clock = { ...system, monotonic: () => system.monotonic() + aheadMs };
      const running = await on.start({ homeAssistant: told, clock });
      const ha = await homeAssistant(on.broker.url);
      clients.push(ha);
      await ha.birth();
      await until(() => state(ha, 'p1') === 'disarmed', 'the panel');
      const forward = (ms: number) => {
        aheadMs += ms;
      };
      forward(2_000);
      return { ha, running, forward };
    }

    it('finds a message, a volume, two buttons and what is heard, and plays what was chosen', async () => {
      const { ha } = await both();
      await until(() => state(ha, 'audio_state') === 'idle', 'the group');
      expect([state(ha, 'audio_msg'), state(ha, 'audio_vol')]).toEqual(['(none)', '70']);
      expect(ha.entity(id('audio_msg'))?.component.options).toEqual(['(none)', 'Siren', 'Please leave']);
      await ha.set(id('audio_msg'), 'Please leave');
      await ha.set(id('audio_vol'), '35');
      await until(() => state(ha, 'audio_msg') === 'Please leave' && state(ha, 'audio_vol') === '35', 'what is set');
      expect(on.site.sound.wishes).toEqual([]);
      await ha.press(id('audio_play'), 'PRESS');
      await until(() => state(ha, 'audio_state') === 'playing', 'it plays');
      const [wish] = on.site.sound.wishes;
      expect(wish).toMatchObject({ audio_message_id: 'announcement.leave', volume: 35, by: 'client:unknown' });
      await ha.press(id('audio_stop'), 'PRESS');
      await until(() => state(ha, 'audio_state') === 'idle', 'it has ended');
      expect(ha.events).toEqual([]);
      // Whoever comes later finds what is set.
      const late = await homeAssistant(on.broker.url);
      clients.push(late);
      await until(() => state(late, 'audio_msg') === 'Please leave' && state(late, 'audio_vol') === '35', 'the same');
    });

    it('plays once for two words at a time, and never ends the sound of an alarm', async () => {
      const { ha, forward } = await both();
      await until(() => ha.entities.has(id('audio_stop')), 'the group');
      await ha.set(id('audio_msg'), 'Please leave');
      await ha.press(id('audio_play'), 'PRESS');
      await ha.press(id('audio_play'), 'PRESS');
      on.site.sound.set('the-alarm', 'playing', { category: 'alarm', requested_by: 'rule:night' });
      await ha.set(id('audio_vol'), '42');
      await until(() => state(ha, 'audio_vol') === '42', 'both presses were heard');
      forward(2_000);
      await ha.press(id('audio_stop'), 'PRESS');
      const open = () => on.site.sound.port.playbacks().filter(({ status }) => status === 'playing');
      await until(() => open().length === 1, 'its own has ended');
      expect(open()[0]?.playback_id).toBe('the-alarm');
      expect(on.site.sound.wishes).toHaveLength(1);
      expect(state(ha, 'audio_state')).toBe('playing');
    });

    it('is told what was not done', async () => {
      const { ha, forward } = await both();
      await until(() => ha.entities.has(id('audio_play')), 'the group');
      await ha.press(id('audio_play'), 'PRESS');
      await ha.set(id('audio_msg'), 'Nobody');
      await ha.set(id('audio_vol'), '101');
      await ha.send(`${root}/cmd/ha/audio/stop`, 'NOW');
      await ha.send(`${root}/cmd/ha/audio/louder`, 'PRESS');
      await until(() => ha.events.length === 5, 'the refusals');
      expect(errors(ha)).toEqual([
        ...[
          ['play', 'UNKNOWN_TARGET', 'audio_message_id'],
          ['select', 'UNKNOWN_TARGET', 'select'],
        ],
        ...[
          ['volume', 'SCHEMA', 'volume'],
          ['stop', 'SCHEMA', undefined],
          [undefined, 'UNKNOWN_TARGET', 'audio'],
        ],
      ]);
      expect(on.site.sound.wishes).toEqual([]);
      on.site.sound.failure = new SitewardError('queue_full', 'too many wait', { facts: { reason: 'queue_full' } });
      await ha.set(id('audio_msg'), 'Siren');
      forward(2_000);
      await ha.press(id('audio_play'), 'PRESS');
      await until(() => ha.events.length === 6, 'no room');
      expect(ha.events[5]).toMatchObject({ event_type: 'command_refused', data: { audio: 'play', outcome: 'failed' } });
    });

    it('makes nothing heard, and sets nothing, by what was retained or comes in the first second', async () => {
      const topic = (what: string) => `${root}/cmd/ha/audio/${what}`;
      const { ha, forward } = await both(['gate'], async () => {
        const early = await on.observe();
        for (const [what, word] of [
          ['select', 'Siren'],
          ['volume', '100'],
          ['play', 'PRESS'],
        ] as const)
          await early.client.publishAsync(topic(what), word, { qos: 1, retain: true });
      });
      await until(() => state(ha, 'audio_state') === 'idle', 'the group');
      if (on.broker.kind === 'mosquitto') await until(() => on.site.retained.length === 3, 'three refusals');
      const watcher = await on.observe({}, [`${root}/audio/volume`]);
      await until(() => watcher.texts('audio/volume').length > 0, 'the volume');
      const late = await on.own({}, [`${root}/cmd/#`, `${root}/status`]);
      await until(() => late.texts('status').length > 0, 'what is retained');
      expect(late.packets.filter(({ topic: on, payload }) => on.includes('/cmd/') && payload.length > 0)).toEqual([]);
      forward(-1_500);
      await ha.set(id('audio_msg'), 'Siren');
      await ha.set(id('audio_vol'), '100');
      await ha.press(id('audio_play'), 'PRESS');
      forward(2_000);
      await ha.set(id('audio_vol'), '20');
      await until(() => state(ha, 'audio_vol') === '20', 'a word in time');
      expect([state(ha, 'audio_msg'), on.site.sound.wishes]).toEqual(['(none)', []]);
      await until(() => watcher.texts('audio/volume').at(-1) === '20', 'it is told');
      expect(new Set(watcher.texts('audio/volume'))).toEqual(new Set(['70', '20']));
    });

    it('gets new names, and loses the group with the speakers and finds it with them', async () => {
      const { ha, running } = await both();
      await until(() => ha.entities.has(id('audio_state')), 'the group');
      await ha.set(id('audio_msg'), 'Siren');
      await until(() => state(ha, 'audio_msg') === 'Siren', 'chosen');
      on.site.sound.messages = on.site.sound.messages.slice(1);
      running.lan.messagesChanged();
      await until(() => String(ha.entity(id('audio_msg'))?.component.options) === '(none),Please leave', 'the names');
      await until(() => state(ha, 'audio_msg') === '(none)', 'what was chosen is gone');
      on.site.setPlan({ speakers: [] });
      await until(() => group.every((key) => !ha.entities.has(id(key))), 'no group');
      const last = JSON.parse(ha.configs.at(-1)?.text ?? '{}').components;
      await until(() => Object.keys(last).every((key) => !group.includes(key)), 'left out');
      const watcher = await on.observe({}, [`${root}/audio/#`, `${root}/status`]);
      await until(() => watcher.texts('status').length > 0, 'what is retained');
      expect(watcher.packets.filter(({ topic, payload }) => topic.includes('/audio/') && payload.length > 0)).toEqual(
        [],
      );
      on.site.setPlan({ speakers: ['gate'] });
      await until(() => group.every((key) => ha.entities.has(id(key))), 'the group again');
    });

    it('finds no group where there are no speakers, and is told so', async () => {
      const { ha } = await both([]);
      expect(group.filter((key) => ha.entities.has(id(key)))).toEqual([]);
      for (const [what, word] of [
        ['play', 'PRESS'],
        ['select', 'Siren'],
      ] as const)
        await ha.send(`${root}/cmd/ha/audio/${what}`, word);
      await until(() => ha.events.length === 2, 'the refusals');
      expect(errors(ha).map(([, code]) => code)).toEqual(['AUDIO_UNAVAILABLE', 'AUDIO_UNAVAILABLE']);
    });
  });
}
