import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { SitewardError } from '#errors.ts';
import * as schemas from '../../../src/lan/mqtt/schemas.ts';
import { fakeSite } from '../../../src/lan/mqtt/site-port.fake.ts';
import type { DispatchOutcome, DispatchRequest } from '../../../src/lan/mqtt/site-port.ts';
import { bench, brokers } from './bench.ts';
import { commandId, root, stateFilters, until } from './harness.ts';

const images = [...stateFilters, `${root}/camera/+/image`];

for (const [name, startBroker, missing] of brokers) {
  describe.skipIf(missing)(`pictures, sound and help from far on ${name}`, () => {
    const on = bench(startBroker);
    const asked = (change: object) => {
      const { partition: _, ...body } = on.body(change);
      return body;
    };

    it('publishes a picture, not retained, and then says so; a repeat takes none', async () => {
      await on.start();
      const jpeg = Buffer.from([0xff, 0xd8, 1, 2, 3, 0xff, 0xd9]);
      on.site.pictures = { yard: jpeg };
      const watcher = await on.observe({}, images);
      const body = asked({ camera: 'yard', correlation: 'c1', reply_to: `${root}/reply/kp1/x` });
      await on.send(watcher, 'snapshot', body);
      const { topic: _, ...final } = await on.final(watcher, body.id);
      const sha256 = createHash('sha256').update(jpeg).digest('hex');
      expect(schemas.reply.parse(final)).toMatchObject({
        ...{ outcome: 'done', correlation: 'c1', data: { camera: 'yard', bytes: 7, sha256 } },
      });
      expect(final).not.toHaveProperty('partition');
      expect(on.replies(watcher, body.id).map(({ outcome }) => outcome)).toEqual(['accepted', 'done']);
      const shown = () => watcher.packets.filter(({ topic }) => topic === `${root}/camera/yard/image`);
      expect(shown().map(({ payload, retain }) => [Buffer.compare(payload as Buffer, jpeg), retain])).toEqual([
        [0, false],
      ]);
      on.site.pictures = {};
      await on.send(watcher, 'snapshot', body);
      await until(
        () => on.replies(watcher, body.id).filter((one) => one.final === true).length === 2,
        'the same answer',
      );
      await on.send(watcher, 'snapshot', { ...body, width: 640 });
      await until(() => on.replies(watcher, body.id).some((one) => one.error?.code === 'ID_CONFLICT'), 'a conflict');
      expect(shown()).toHaveLength(1);
      const later = await on.observe({}, images);
      expect(later.packets.filter(({ topic }) => topic.endsWith('/image'))).toEqual([]);
    });

    it('says why there is no picture', async () => {
      await on.start();
      on.site.pictures = {
        shy: new SitewardError('camera_refused', 'not now'),
        dead: new SitewardError('camera_unreachable', 'no cable'),
        huge: Buffer.alloc(512 * 1024 + 1),
        fine: Buffer.from([1]),
      };
      const watcher = await on.observe({}, images);
      const of = async (change: object) => {
        const body = asked(change);
        await on.send(watcher, 'snapshot', body);
        const { outcome, error } = await on.final(watcher, body.id);
        return [outcome, error?.code, error?.field];
      };
      expect(await of({ camera: 'none' })).toEqual(['refused', 'UNKNOWN_TARGET', 'camera']);
      expect(await of({ camera: 'shy' })).toEqual(['refused', 'NOT_ALLOWED', 'camera']);
      expect(await of({ camera: 'dead' })).toEqual(['failed', 'CAMERA_UNAVAILABLE', undefined]);
      expect(await of({ camera: 'huge' })).toEqual(['failed', 'TOO_LARGE', undefined]);
      expect(await of({ camera: 'fine', deliver: 'cloud' })).toEqual(['refused', 'NOT_CONFIGURED', 'deliver']);
      expect(await of({ camera: 'fine', code: '0000' })).toEqual(['refused', 'BAD_CODE', undefined]);
      expect(await of({ camera: 'fine', width: 10 })).toEqual(['refused', 'SCHEMA', 'width']);
      expect(watcher.packets.filter(({ topic }) => topic.endsWith('/image'))).toEqual([]);
      expect(on.site.submitted.every(({ partition, verb }) => partition === 'all' && verb === 'snapshot')).toBe(true);
    });

    it('keeps only so many pictures in memory, and no command of anybody waits for a slow camera', async () => {
      let release = () => {};
      const slow = new Promise<void>((resolve) => {
        release = resolve;
      });
      const snapshot = () => slow.then(() => Buffer.from([1]));
      await on.start({ site: Object.assign(Object.create(on.site) as typeof on.site, { snapshot }) });
      const watcher = await on.observe({}, images);
      const bodies = Array.from({ length: 5 }, () => asked({ camera: 'yard' }));
      for (const body of bodies) await on.send(watcher, 'snapshot', body);
      const [last] = bodies.slice(-1);
      expect(await on.final(watcher, last?.id ?? '')).toMatchObject({
        outcome: 'failed',
        error: { code: 'BUSY', retry_after_s: 1 },
      });
      const arm = on.body({ mode: 'away' });
      await on.send(watcher, 'arm', arm);
      expect(await on.final(watcher, arm.id)).toMatchObject({ outcome: 'done' });
      release();
      for (const { id } of bodies.slice(0, 4)) expect(await on.final(watcher, id)).toMatchObject({ outcome: 'done' });
    });

    it('gives up what is asked of a camera and of the service when it stops', async () => {
      const given: AbortSignal[] = [];
      const endless = (signal: AbortSignal) => {
        given.push(signal);
        return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      };
      const slow = {
        snapshot: (_camera: string, _client: string, signal: AbortSignal) => endless(signal),
        dispatch: (_request: DispatchRequest, signal: AbortSignal) => endless(signal),
      };
      await on.start({ site: Object.assign(Object.create(on.site) as typeof on.site, slow) });
      const watcher = await on.observe();
      await on.send(watcher, 'snapshot', asked({ camera: 'yard' }));
      await on.send(watcher, 'dispatch', asked({ kind: 'guard' }));
      await until(() => given.length === 2, 'both');
      await on.stop();
      expect(given.map(({ aborted }) => aborted)).toEqual([true, true]);
    });

    it('has no sound yet, and says so', async () => {
      await on.start();
      const watcher = await on.observe();
      for (const [verb, change] of [
        ['play', { audio_message_id: 'leave', volume: 50, repeat: 2, target_devices: ['gate'] }],
        ['cancel', { playback_id: 'x1' }],
      ] as const) {
        const body = asked(change);
        await on.send(watcher, verb, body);
        expect(await on.final(watcher, body.id)).toMatchObject({
          outcome: 'refused',
          error: { code: 'AUDIO_UNAVAILABLE' },
        });
      }
    });

    it('hands a dispatch on once, and says plainly when it did not leave', async () => {
      const requests: DispatchRequest[] = [];
      let next: DispatchOutcome = { kind: 'requested', dispatchId: 'd1' };
      const dispatch = async (request: DispatchRequest) => {
        requests.push(request);
        return next;
      };
      on.renew(Object.assign(fakeSite(), { dispatch }));
      await on.start();
      const watcher = await on.observe();
      const send = async (change: object = {}) => {
        const body = { ...asked({ kind: 'guard' }), ...change };
        await on.send(watcher, 'dispatch', body);
        const { outcome, error, data } = await on.final(watcher, body.id);
        return { body, told: [outcome, error?.code, data] };
      };
      const first = await send({ partition: 'p1', note: 'gate 48270391 open', event_id: 'e1', code: '48270391' });
      expect(first.told).toEqual(['done', undefined, { queued: false, dispatch_id: 'd1' }]);
      await on.send(watcher, 'dispatch', first.body);
      await until(() => on.replies(watcher, first.body.id).filter((one) => one.final === true).length === 2, 'again');
      next = { kind: 'offline' };
      expect((await send()).told).toEqual(['failed', 'CLOUD_OFFLINE', { queued: false }]);
      next = { kind: 'unknown' };
      expect((await send({ kind: 'police' })).told).toEqual(['unconfirmed', 'UNCONFIRMED', { queued: false }]);
      next = { kind: 'refused' };
      expect((await send({ kind: 'fire' })).told).toEqual(['failed', 'NOT_ALLOWED', { queued: false }]);
      expect(requests.map(({ kind }) => kind)).toEqual(['guard', 'guard', 'police', 'fire']);
      expect(requests[0]).toEqual({
        id: first.body.id,
        kind: 'guard',
        client: 'unknown',
        partition: 'p1',
        eventId: 'e1',
      });
    });

    it('knows no dispatch where the service takes none', async () => {
      await on.start();
      const watcher = await on.observe();
      const body = asked({ kind: 'medical', id: commandId() });
      await on.send(watcher, 'dispatch', body);
      expect(await on.final(watcher, body.id)).toMatchObject({ outcome: 'refused', error: { code: 'NOT_CONFIGURED' } });
    });

    it.each([true, false])('says in its info whether it takes a dispatch: %s', async (takes) => {
      if (takes) on.renew(Object.assign(fakeSite(), { dispatch: async () => ({ kind: 'offline' }) }));
      await on.start();
      const watcher = await on.observe();
      await until(() => watcher.texts('info').length > 0, 'the info');
      const caps = Object(watcher.json('info')[0]).caps as string[];
      expect(caps.includes('dispatch')).toBe(takes);
    });
  });
}
