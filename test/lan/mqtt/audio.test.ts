import { describe, expect, it } from 'vitest';
import { SitewardError } from '#errors.ts';
import type { SpeakerPlayback } from '#site/model/index.ts';
import * as schemas from '../../../src/lan/mqtt/schemas.ts';
import { fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import { limits } from '../../../src/lan/mqtt/state.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { bench, brokers } from './bench.ts';
import { commandId, mosquittoPath, root, startEmbedded, startMosquitto, stateFilters, until } from './harness.ts';

const filters = [...stateFilters, `${root}/audio/#`];

/** A site with a speaker. */
function withSpeaker() {
  const site = fakeSite();
  site.setPlan({ speakers: ['gate'] });
  return site;
}

for (const [name, startBroker, missing] of brokers) {
  describe.skipIf(missing)(`messages on speakers over ${name}`, () => {
    const on = bench(startBroker);
    const bare = <T extends object>(change: T) => {
      const { partition: _, ...rest } = on.body();
      return { ...rest, ...change };
    };
    const wish = (change: object = {}) => bare({ audio_message_id: 'announcement.leave', ...change });
    const started = async () => {
      on.renew(withSpeaker());
      const running = await on.start();
      return { running, watcher: await on.observe({}, filters) };
    };
    type Watching = Awaited<ReturnType<typeof started>>['watcher'];
    const playback = (watcher: Watching, id: string) =>
      watcher.texts(`audio/playback/${id}`).map((text) => (text === '' ? '' : JSON.parse(text).status));
    const told = async (
      watcher: Watching,
      verb: string,
      body: { readonly id: string; readonly [more: string]: unknown },
    ) => {
      await on.send(watcher, verb, body);
      const { outcome, error } = await on.final(watcher, body.id);
      return [outcome, error?.code, error?.field];
    };

    it('plays once however often it is asked under one id, says so with the first sample, and shows it', async () => {
      const { watcher } = await started();
      const body = wish({ volume: 40, repeat: 2, target_devices: ['gate'], correlation: 'c1' });
      await on.send(watcher, 'play', body);
      const { topic: _, ...final } = await on.final(watcher, body.id);
      expect(schemas.reply.parse(final)).toMatchObject({
        ...{ outcome: 'done', correlation: 'c1' },
        data: { playback: { playback_id: body.id, status: 'playing', requested_by: 'client:unknown' } },
      });
      expect(on.replies(watcher, body.id).map(({ outcome }) => outcome)).toEqual(['accepted', 'done']);
      expect(on.site.sound.wishes).toEqual([
        {
          ...{ playback_id: body.id, audio_message_id: 'announcement.leave', volume: 40, repeat: 2 },
          ...{ target_devices: ['gate'], by: 'client:unknown' },
        },
      ]);
      await until(() => playback(watcher, body.id).includes('playing'), 'the playback');
      expect(watcher.texts('audio/state').at(-1)).toBe('playing');
      await on.send(watcher, 'play', body);
      await until(() => on.replies(watcher, body.id).filter(({ final: end }) => end === true).length === 2, 'again');
      await on.send(watcher, 'play', { ...body, volume: 41 });
      await until(() => on.replies(watcher, body.id).some(({ error }) => error?.code === 'ID_CONFLICT'), 'a conflict');
      expect(on.site.sound.wishes).toHaveLength(1);
      on.site.sound.set(body.id, 'completed');
      await until(() => watcher.texts('audio/state').at(-1) === 'idle', 'the end');
      // Whoever comes later finds it, too.
      const late = await on.observe({}, filters);
      await until(() => playback(late, body.id).at(-1) === 'completed', 'what is retained');
      expect(schemas.audioMessages.parse(JSON.parse(late.texts('audio/messages')[0] ?? ''))).toHaveLength(2);
    });

    it('raises a message to an alarm where that is asked, and leaves out what was not said', async () => {
      const { watcher } = await started();
      expect(await told(watcher, 'play', wish({ priority: 'alarm' }))).toEqual(['done', undefined, undefined]);
      expect(await told(watcher, 'play', wish({ priority: 'normal' }))).toEqual(['done', undefined, undefined]);
      const asked = on.site.sound.wishes.map(({ playback_id: _, ...rest }) => rest);
      const bare = { audio_message_id: 'announcement.leave', by: 'client:unknown' };
      expect(asked).toEqual([{ ...bare, category: 'alarm' }, bare]);
    });

    it.each([
      ['queued', ['done', undefined]],
      ['completed', ['done', undefined]],
      ['failed', ['failed', 'AUDIO_UNAVAILABLE']],
      ['cancelled', ['superseded', 'NEWER_LOCAL_CHANGE']],
    ] as const)('answers what is %s by then', async (status, [outcome, code]) => {
      const { watcher } = await started();
      on.site.sound.status = status;
      const body = wish();
      await on.send(watcher, 'play', body);
      const { topic: _, ...final } = await on.final(watcher, body.id);
      expect([final.outcome, final.error?.code]).toEqual([outcome, code]);
      expect(schemas.reply.parse(final).data).toMatchObject({ playback: { playback_id: body.id, status } });
    });

    it('names what is wrong', async () => {
      const { watcher } = await started();
      const { sound } = on.site;
      const of = (change: object = {}) => told(watcher, 'play', wish(change));
      expect(await of({ audio_message_id: 'nobody' })).toEqual(['refused', 'UNKNOWN_TARGET', 'audio_message_id']);
      expect(await of({ volume: 70.5 })).toEqual(['refused', 'SCHEMA', 'volume']);
      expect(await of({ repeat: 0 })).toEqual(['refused', 'SCHEMA', 'repeat']);
      expect(await of({ target_devices: [] })).toEqual(['refused', 'SCHEMA', 'target_devices']);
      expect(await of({ volumne: 3 })).toEqual(['refused', 'SCHEMA', 'volumne']);
      expect(await of({ code: '0000' })).toEqual(['refused', 'BAD_CODE', undefined]);
      const facts = (reason: string, field?: string) => ({ facts: { reason, ...(field !== undefined && { field }) } });
      const failing = [
        [new SitewardError('audio_invalid', 'x', facts('unknown_speaker', 'target_devices')), 'UNKNOWN_TARGET'],
        [new SitewardError('audio_invalid', 'x', { facts: { field: 'target_devices.0' } }), 'SCHEMA'],
        [new SitewardError('audio_refused', 'x', facts('no_speaker', 'target_devices')), 'AUDIO_UNAVAILABLE'],
        [new SitewardError('audio_refused', 'x', facts('id_conflict', 'playback_id')), 'ID_CONFLICT'],
        [new SitewardError('audio_refused', 'x', facts('too_long')), 'NOT_ALLOWED'],
        [new SitewardError('audio_unavailable', 'x', { facts: { field: 'audio_message_id' } }), 'AUDIO_UNAVAILABLE'],
        [new SitewardError('stopped', 'x', facts('shutdown')), 'AUDIO_UNAVAILABLE'],
      ] as const;
      for (const [failure, code] of failing) {
        sound.failure = failure;
        expect((await of()).slice(0, 2)).toEqual(['refused', code]);
      }
      expect(await told(watcher, 'cancel', wish({ playback_id: 'nobody' }))).toEqual([
        ...['refused', 'SCHEMA', 'audio_message_id'],
      ]);
    });

    it('lets what was not begun be asked again under its id', async () => {
      const { watcher } = await started();
      on.site.sound.failure = new SitewardError('queue_full', 'too many wait', { facts: { reason: 'queue_full' } });
      const body = wish();
      expect(await told(watcher, 'play', body)).toEqual(['failed', 'BUSY', undefined]);
      on.site.sound.failure = undefined;
      await on.send(watcher, 'play', body);
      await until(() => on.replies(watcher, body.id).some(({ outcome }) => outcome === 'done'), 'it plays');
    });

    it('neither ends the daemon nor says more than that it was a mistake', async () => {
      const { watcher, running } = await started();
      on.site.sound.failure = new TypeError('x of undefined');
      expect(await told(watcher, 'play', wish())).toEqual(['failed', 'INTERNAL', undefined]);
      expect(running.lines.some((line) => line.includes('failed inside'))).toBe(true);
    });

    it('fits the answer for many speakers, and says that it is not all', async () => {
      const { watcher } = await started();
      const devices = Array.from(
        { length: 64 },
        (_, n): SpeakerPlayback => ({ device_id: `speaker-${n}`, name: 'Hall '.repeat(10), status: 'playing' }),
      );
      const body = wish();
      on.site.sound.set(body.id, 'playing', { devices });
      await on.send(watcher, 'play', body);
      const { data } = await on.final(watcher, body.id);
      expect(data.truncated).toBe(true);
      const kept = Object(data.playback).devices as unknown[];
      expect(kept.length).toBeGreaterThan(7);
      expect(kept).toEqual(devices.slice(0, kept.length));
      await until(
        () => watcher.json(`audio/playback/${body.id}`).some((one) => Object(one.devices).length === 64),
        'all',
      );
    });

    it('cancels one, once, and says how it ended', async () => {
      const { watcher } = await started();
      const body = wish();
      await on.send(watcher, 'play', body);
      await on.final(watcher, body.id);
      const cancel = () => bare({ playback_id: body.id });
      const first = cancel();
      await on.send(watcher, 'cancel', first);
      const { outcome, data } = await on.final(watcher, first.id);
      expect([outcome, data]).toMatchObject(['done', { playback: { playback_id: body.id, status: 'cancelled' } }]);
      expect(await told(watcher, 'cancel', cancel())).toEqual(['already', undefined, undefined]);
      expect(await told(watcher, 'cancel', { ...cancel(), playback_id: 'playback-9' })).toEqual([
        ...['refused', 'UNKNOWN_TARGET', 'playback_id'],
      ]);
      await until(() => playback(watcher, body.id).at(-1) === 'cancelled', 'its topic');
    });

    it('ends the sound of an alarm only for a code that may disarm, whoever asked for it: nobody is known', async () => {
      const { watcher } = await started();
      const { sound } = on.site;
      const cancel = (playback_id: string, more = {}) => bare({ playback_id, ...more });
      const alarm = { category: 'alarm', requested_by: 'rule:night' } as const;
      sound.set('the-alarm', 'playing', alarm);
      expect(await told(watcher, 'cancel', cancel('the-alarm'))).toEqual(['refused', 'CODE_REQUIRED', 'code']);
      expect(await told(watcher, 'cancel', cancel('the-alarm', { code: '0000' }))).toEqual([
        'refused',
        'BAD_CODE',
        undefined,
      ]);
      sound.set('a-greeting', 'playing', { category: 'greeting' });
      const own = wish({ priority: 'alarm' });
      await on.send(watcher, 'play', own);
      await on.final(watcher, own.id);
      expect(await told(watcher, 'cancel', cancel(own.id))).toEqual(['refused', 'CODE_REQUIRED', 'code']);
      const all = cancel('all');
      expect(await told(watcher, 'cancel', all)).toEqual(['done', undefined, undefined]);
      expect((await on.final(watcher, all.id)).data).toEqual({ cancelled: 1, spared: 2 });
      const open = () => sound.port.playbacks().filter(({ status }) => status === 'playing');
      expect(open().map(({ playback_id: id }) => id)).toEqual([own.id, 'the-alarm']);
      const again = cancel('all');
      expect(await told(watcher, 'cancel', again)).toEqual(['already', undefined, undefined]);
      expect((await on.final(watcher, again.id)).data).toEqual({ cancelled: 0, spared: 2 });
      // Under duress as with any right code.
      expect(await told(watcher, 'cancel', cancel('the-alarm', { code: '48270392' }))).toEqual([
        'done',
        undefined,
        undefined,
      ]);
      sound.set('the-second', 'playing', alarm);
      expect(await told(watcher, 'cancel', cancel('all', { code: '48270391' }))).toEqual([
        'done',
        undefined,
        undefined,
      ]);
      expect(open()).toEqual([]);
      expect(sound.cancels.map(([target, alarms]) => [Object(target).playback, alarms])).toEqual([
        ...[
          ['a-greeting', false],
          ['the-alarm', true],
          ['the-second', true],
          [own.id, true],
        ],
      ]);
    });

    it('takes no code for it that may not disarm', async () => {
      on.renew(withSpeaker());
      const checkCode = async () => ({ code: 'ok', actor: 'tom', role: 'installer' }) as const;
      await on.start({ site: { ...on.site, checkCode } });
      const watcher = await on.observe({}, filters);
      on.site.sound.set('the-alarm', 'playing', { category: 'alarm', requested_by: 'rule:night' });
      const body = bare({ playback_id: 'the-alarm', code: '48270391' });
      expect(await told(watcher, 'cancel', body)).toEqual(['refused', 'NOT_ALLOWED', 'code']);
      expect(on.site.sound.cancels).toEqual([]);
    });

    it('plays so many messages for a client and no more, but for whoever has a code; a repeat is none', async () => {
      const { watcher } = await started();
      const first = wish();
      for (const body of [first, ...Array.from({ length: limits.plays_per_minute - 1 }, () => wish())])
        expect((await told(watcher, 'play', body))[0]).toBe('done');
      const late = wish();
      await on.send(watcher, 'play', late);
      expect((await on.final(watcher, late.id)).error).toEqual({ code: 'RATE_LIMITED', retry_after_s: 3 });
      expect((await told(watcher, 'play', first))[0]).toBe('done');
      for (const code of ['48270391', '48270392'])
        expect((await told(watcher, 'play', wish({ code })))[0]).toBe('done');
      expect(on.site.sound.wishes).toHaveLength(limits.plays_per_minute + 2);
      const ended = bare({ playback_id: first.id });
      on.site.sound.set(first.id, 'completed');
      expect((await told(watcher, 'cancel', ended))[0]).toBe('already');
      expect(on.site.sound.cancels).toEqual([]);
    });

    it('makes no sound for a command that was retained, has expired, or is of the future', async () => {
      on.renew(withSpeaker());
      const early = await on.observe({}, filters);
      const kept = wish();
      await on.send(early, 'play', kept, true);
      await on.start();
      const watcher = await on.observe({}, filters);
      if (on.broker.kind === 'mosquitto') {
        await until(() => on.replies(early, kept.id).some(({ error }) => error?.code === 'RETAINED'), 'refused');
        await until(() => on.site.retained.includes('play'), 'told');
      }
      on.site.refusal = { code: 'EXPIRED' };
      expect((await told(watcher, 'play', wish())).slice(0, 2)).toEqual(['refused', 'EXPIRED']);
      expect(on.site.sound.wishes).toEqual([]);
    });

    it('has no ghosts of what was shown by an earlier run', async () => {
      const { watcher } = await started();
      on.site.sound.set('playback-1', 'playing');
      await until(() => playback(watcher, 'playback-1').includes('playing'), 'it plays');
      await on.stop();
      // The next run knows nothing of it; the broker does.
      on.renew(withSpeaker());
      await on.start();
      if (on.broker.kind === 'mosquitto') await until(() => playback(watcher, 'playback-1').at(-1) === '', 'cleared');
      const late = await on.observe({}, filters);
      await until(() => late.texts('audio/messages').length > 0, 'the messages');
      await until(() => late.texts('status').at(-1) === 'online', 'all of it');
      if (on.broker.kind === 'mosquitto') expect(late.texts('audio/playback/playback-1')).toEqual([]);
      expect(late.texts('audio/state')).toEqual(['idle']);
    });

    it('shows everything again after the broker has lost it', async () => {
      const { watcher } = await started();
      on.site.sound.set('playback-1', 'playing');
      await until(() => playback(watcher, 'playback-1').length > 0, 'it plays');
      await on.broker.restart();
      const late = await on.observe({}, filters);
      await until(() => playback(late, 'playback-1').at(-1) === 'playing', 'it plays on', 20_000);
      expect(late.texts('audio/state')).toEqual(['playing']);
    });

    it('shows messages that come, and nothing at all once the speakers are gone', async () => {
      const { watcher, running } = await started();
      on.site.sound.messages = on.site.sound.messages.slice(0, 1);
      running.lan.messagesChanged();
      await until(() => watcher.json('audio/messages').at(-1)?.length === 1, 'one message');
      on.site.sound.set('playback-1', 'playing');
      await until(() => playback(watcher, 'playback-1').length > 0, 'it plays');
      expect(Object(watcher.json('info').at(-1)).caps).toEqual(expect.arrayContaining(['play', 'cancel']));
      on.site.setPlan({ speakers: [] });
      await until(() => watcher.texts('audio/messages').at(-1) === '', 'no messages');
      await until(() => playback(watcher, 'playback-1').at(-1) === '', 'no playback');
      await until(() => !JSON.stringify(watcher.json('info').at(-1)).includes('"play"'), 'no sound');
      expect(await told(watcher, 'play', wish({ audio_message_id: 'nobody' }))).toEqual([
        ...['refused', 'AUDIO_UNAVAILABLE', undefined],
      ]);
    });

    it('answers what there is to be heard, and where', async () => {
      const { watcher } = await started();
      on.site.sound.set('playback-1', 'playing');
      const ask = async () => {
        const query = bare({ what: 'audio' });
        await on.send(watcher, 'query', query);
        return on.final(watcher, query.id);
      };
      expect((await ask()).data).toEqual({
        state: 'playing',
        speakers: [{ device_id: 'gate', name: 'Gate', enabled: true, up: true }],
        messages: on.site.sound.messages.map(({ audio_message_id, name: called, category, language }) => ({
          ...{ audio_message_id, name: called, category, language },
        })),
      });
      on.site.setPlan({ speakers: [] });
      expect((await ask()).error?.code).toBe('NOT_CONFIGURED');
    });
  });
}

describe('a client of the role audio at the embedded broker', () => {
  const user = { id: 'pa', role: 'audio', password: new Secret('password-of-pa') } as const;
  const on = bench(() => startEmbedded([user]));

  it('hears what is played, plays under its own name, and sees nothing else', async () => {
    on.renew(withSpeaker());
    await on.start();
    const login = { clientId: 'x', username: 'pa', password: 'password-of-pa' };
    const watcher = await on.observe(login, [`${root}/audio/#`, `${root}/reply/pa/#`]);
    const id = commandId();
    const body = { id, issued_at: new Date().toISOString(), audio_message_id: 'announcement.leave' };
    await on.send(watcher, 'play', body);
    expect(await on.final(watcher, id)).toMatchObject({ outcome: 'done', topic: `pa/${id}` });
    expect(on.site.sound.wishes).toMatchObject([{ by: 'client:pa' }]);
    await until(() => watcher.texts(`audio/playback/${id}`).length > 0, 'the playback');
    await expect(watcher.client.subscribeAsync(`${root}/partition/+/+`)).rejects.toThrow();
  });

  it('ends its own alarm without a code, and not that of another', async () => {
    on.renew(withSpeaker());
    await on.start();
    const login = { clientId: 'x', username: 'pa', password: 'password-of-pa' };
    const watcher = await on.observe(login, [`${root}/reply/pa/#`]);
    on.site.sound.set('mine-mine', 'playing', { category: 'alarm', requested_by: 'client:pa' });
    on.site.sound.set('not-mine', 'playing', { category: 'alarm', requested_by: 'client:other' });
    const cancel = (playback_id: string) => ({ id: commandId(), issued_at: new Date().toISOString(), playback_id });
    const [first, second] = [cancel('not-mine'), cancel('mine-mine')];
    await on.send(watcher, 'cancel', first);
    await on.send(watcher, 'cancel', second);
    expect((await on.final(watcher, first.id)).error).toEqual({ code: 'CODE_REQUIRED', field: 'code' });
    expect((await on.final(watcher, second.id)).outcome).toBe('done');
  });
});

describe.skipIf(mosquittoPath === undefined)('an MQTT 5 client on mosquitto', () => {
  const on = bench(startMosquitto);

  it('has its playback under the id of its user property', async () => {
    on.renew(withSpeaker());
    await on.start();
    const watcher = await on.observe({ protocolVersion: 5 }, filters);
    const id = commandId();
    const properties = { responseTopic: `${root}/reply/kp1/x`, userProperties: { id }, messageExpiryInterval: 30 };
    const payload = JSON.stringify({ issued_at: new Date().toISOString(), audio_message_id: 'announcement.leave' });
    await watcher.client.publishAsync(`${root}/cmd/play`, payload, { qos: 1, properties });
    expect(await on.final(watcher, id)).toMatchObject({ outcome: 'done', topic: 'kp1/x' });
    expect(on.site.sound.wishes).toMatchObject([{ playback_id: id }]);
  });
});
