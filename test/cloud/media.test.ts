import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { createDelivery } from '#cloud/delivery/index.ts';
import type { MediaItem } from '#site/model/index.ts';
import { readAddresses } from '../../src/cloud/delivery/addresses.ts';
import { type Harness, type HarnessOptions, harness, type OnEvent } from './delivery-harness.ts';
import { json, quiet, rowOf, until } from './support.ts';

let h: Harness;
afterEach(() => h?.close());

const plan: MediaItem[] = [
  { index: 0, kind: 'snapshot', camera: 'yard', offsetMs: 0 },
  { index: 1, kind: 'snapshot', camera: 'yard', offsetMs: 1000 },
  { index: 2, kind: 'short_mp4', camera: 'yard', offsetMs: 0 },
];

/** Gives the addresses of the specification's gap as our sandbox does, each round its own. */
const withAddresses =
  (lifeMs = 900_000): OnEvent =>
  (post, nth, response) => {
    const until = new Date(h.clock.wall() + lifeMs).toISOString();
    const address = (kind: string, index: number) => ({
      kind,
      index,
      url: `${h.server.url}/up/${post.seq}/${nth}/${kind}/${index}`,
      method: 'PUT',
      expires_at: until,
    });
    const uploads = [address('snapshot', 1), address('snapshot', 0), address('short_mp4', 0)];
    json(response, 200, { event_id: post.id, uploads });
  };

async function setUp(options: HarnessOptions = {}) {
  h = await harness({ onEvent: withAddresses(), ...options });
}
async function ready(
  seq: number,
  indexes: readonly number[],
  lane: 'alarm' | 'trouble' = 'alarm',
  contents?: Buffer,
  /** What really lies in the files; the contents unless given. */
  lying?: Buffer,
) {
  const updates = indexes.map((index) => {
    const bytes = contents ?? Buffer.from(`picture ${seq}/${index}`);
    const file = `${seq}-${index}`;
    h.files.set(file, lying ?? bytes);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const mime = plan[index]?.kind === 'snapshot' ? 'image/jpeg' : 'video/mp4';
    return { seq, lane, index, at: h.clock.wall(), state: 'ready' as const, file, bytes: bytes.length, sha256, mime };
  });
  await h.store.updateMedia(updates);
  h.delivery.wake();
}
const mediaOf = async (seq: number) => (await h.store.events({ limit: 1, beforeSeq: seq + 1 }))[0]?.media ?? [];
const states = async (seq: number) => (await mediaOf(seq)).map(({ state }) => state);
const allAre = (seq: number, state: string) => async () => (await states(seq)).every((one) => one === state);

describe('pictures and clips', () => {
  it('go to the addresses of the answer, each to its own, without our bearer, and leave the disk', async () => {
    await setUp();
    await h.commit([rowOf(h.clock, 1, { media: plan })]);
    await ready(1, [0, 1, 2]);
    await until('all is uploaded', allAre(1, 'uploaded'));
    expect(h.puts.map(({ path, body }) => [path, body]).sort()).toEqual([
      ['/up/1/1/short_mp4/0', 'picture 1/2'],
      ['/up/1/1/snapshot/0', 'picture 1/0'],
      ['/up/1/1/snapshot/1', 'picture 1/1'],
    ]);
    for (const put of h.puts) {
      expect(put.headers.authorization).toBeUndefined();
      expect(put.headers['content-length']).toBe(String(put.body.length));
      expect(put.headers['content-type']).toBe(put.path.includes('mp4') ? 'video/mp4' : 'image/jpeg');
    }
    await until('the files are gone', () => h.files.size === 0);
    expect(h.posts).toHaveLength(1);
  });

  it('may be kept once they are uploaded; of silent events nothing stays', async () => {
    const gone: string[] = [];
    await setUp({
      delivery: {
        files: {
          discard: async (file) => void gone.push(`discard ${file}`),
          keep: async (file) => void gone.push(`keep ${file}`),
          open: async () => ({ bytes: 9, stream: () => Readable.from([Buffer.from('a picture')]) }),
        },
      },
    });
    const media = plan.slice(0, 1);
    await h.commit([rowOf(h.clock, 1, { media }), { ...rowOf(h.clock, 2, { media }), silent: true as const }]);
    for (const seq of [1, 2]) await ready(seq, [0], 'alarm', Buffer.from('a picture'));
    await h.passTime('both have left', () => gone.length === 2, 10_000);
    expect(gone.sort().map((one) => one.split(' ')[0])).toEqual(['discard', 'keep']);
  });

  it('that meet a fault of ours are logged once each and seen in the health, those of silent events never', async () => {
    const lines: string[] = [];
    let tries = 0;
    let isMended = false;
    await setUp({
      delivery: {
        log: pino({ level: 'error' }, { write: (line) => void lines.push(line) }),
        files: {
          discard: async () => undefined,
          keep: async () => undefined,
          async open() {
            let read = 0;
            const stream = () => {
              read += 1;
              if (read === 1 || isMended) return Readable.from([Buffer.from('a picture')]);
              tries += 1;
              throw new TypeError('a mistake');
            };
            return { bytes: 9, stream };
          },
        },
      },
    });
    const media = plan.slice(0, 1);
    await h.commit([rowOf(h.clock, 1, { media }), { ...rowOf(h.clock, 2, { media }), silent: true as const }]);
    await ready(1, [0], 'alarm', Buffer.from('a picture'));
    await ready(2, [0], 'alarm', Buffer.from('a picture'));
    await h.passTime('both were tried three times', () => tries >= 6, 10_000);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { index: 0, err: { message: 'a mistake' }, msg: 'an upload failed and is tried again' },
    ]);
    expect(h.delivery.health()).toMatchObject({
      state: 'degraded',
      reason: '1 pictures or clips fail by a fault of siteward and are tried again: a mistake',
    });
    isMended = true;
    await h.passTime('both are uploaded', allAre(1, 'uploaded'), 10_000);
    await h.passTime('nothing is wrong any more', () => h.delivery.health().state === 'ok', 10_000);
  });

  it('that cannot be read for a while are neither failed nor destroyed, but uploaded later', async () => {
    let opens = 0;
    const discarded: string[] = [];
    await setUp({
      delivery: {
        files: {
          discard: async (file) => void discarded.push(file),
          keep: async (file) => void discarded.push(file),
          async open() {
            opens += 1;
            if (opens <= 2) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
            return { bytes: 9, stream: () => Readable.from([Buffer.from('a picture')]) };
          },
        },
      },
    });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await ready(1, [0], 'alarm', Buffer.from('a picture'));
    await until('it was opened', () => opens === 1);
    expect([await states(1), discarded]).toEqual([['ready'], []]);
    await h.passTime('it is uploaded', allAre(1, 'uploaded'), 10_000);
    expect(opens).toBe(3);
  });

  it('are uploaded once though the disk takes no record of it for a while', async () => {
    let records = 0;
    await setUp({
      withStore: (store) =>
        new Proxy(store, {
          get(target, member) {
            const value: unknown = Reflect.get(target, member, target);
            if (typeof value !== 'function') return value;
            if (member !== 'updateMedia') return value.bind(target);
            return (...given: unknown[]) => {
              records += 1;
              return records <= 3 ? Promise.reject(new Error('the disk is read-only')) : value.apply(target, given);
            };
          },
        }),
    });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await ready(1, [0]);
    await h.passTime('it is on record', allAre(1, 'uploaded'), 10_000);
    await until('the file is gone', () => h.files.size === 0);
    expect([records, h.puts.length]).toEqual([4, 1]);
  });

  it('that become ready later are uploaded then', async () => {
    await setUp();
    await h.commit([rowOf(h.clock, 1, { media: plan })]);
    await until('the event is accepted', async () => (await h.waiting()) === 0);
    await ready(1, [1]);
    await until('it is uploaded', async () => (await states(1))[1] === 'uploaded');
    expect(h.puts.map(({ path }) => path)).toEqual(['/up/1/1/snapshot/1']);
    expect(await states(1)).toEqual(['planned', 'uploaded', 'planned']);
  });

  it('never hold an event up', async () => {
    await setUp({ onPut: () => {} });
    await h.commit([rowOf(h.clock, 1, { media: plan })]);
    await ready(1, [0, 1, 2]);
    await until('both upload slots hang', () => h.puts.length === 2);
    await h.commit(Array.from({ length: 50 }, (_, i) => rowOf(h.clock, i + 2)));
    await until('the events are delivered', async () => (await h.waiting()) === 0);
    expect(h.puts).toHaveLength(2);
  });

  it('of an alarm of this moment do not wait for those that waited through an outage', async () => {
    // Nothing of the backlog ever ends.
    await setUp({
      start: false,
      onPut: (seen, response) => (seen.path.startsWith('/up/51/') ? json(response, 200, undefined) : undefined),
    });
    const media = plan.slice(0, 1);
    await h.commit(Array.from({ length: 50 }, (_, i) => rowOf(h.clock, i + 1, { media })));
    for (let seq = 1; seq <= 50; seq += 1) await ready(seq, [0]);
    h.clock.advance(61_000);
    await h.delivery.start(new AbortController().signal);
    await until('both slots are taken', () => h.puts.length === 2);
    await h.commit([rowOf(h.clock, 51, { media })]);
    await ready(51, [0]);
    await until('the picture of the fresh alarm is uploaded', allAre(51, 'uploaded'));
    expect(h.puts).toHaveLength(3);
  });

  it('that are uploaded while a slot is waited for are over, and what is kept of them stays', async () => {
    const answers: (() => void)[] = [];
    const left: string[] = [];
    const warned: string[] = [];
    let looks = 0;
    await setUp({
      start: false,
      onPut: (seen, response) => {
        const answer = () => void json(response, 200, undefined);
        if (seen.path.startsWith('/up/3/')) answer();
        else answers.push(answer);
      },
      withStore: (store) =>
        new Proxy(store, {
          get(target, member) {
            const value: unknown = Reflect.get(target, member, target);
            if (typeof value !== 'function') return value;
            if (member !== 'media') return value.bind(target);
            return async (...given: unknown[]) => {
              const rows: unknown = await value.apply(target, given);
              looks += 1;
              return rows;
            };
          },
        }),
      delivery: {
        log: pino({ level: 'warn' }, { write: (line) => void warned.push(line) }),
        files: {
          async open(file) {
            const bytes = h.files.get(file);
            if (bytes === undefined) throw Object.assign(new Error('gone'), { code: 'ENOENT' });
            return { bytes: bytes.length, stream: () => Readable.from([bytes]) };
          },
          discard: async (file) => void left.push(`discard ${file}`),
          async keep(file) {
            h.files.delete(file);
            left.push(`keep ${file}`);
          },
        },
      },
    });
    const media = plan.slice(0, 1);
    await h.commit([1, 2].map((seq) => rowOf(h.clock, seq, { media })));
    for (const seq of [1, 2]) await ready(seq, [0]);
    // Of events that are fresh one more is under way.
    h.clock.advance(61_000);
    await h.delivery.start(new AbortController().signal);
    await until('both slots are taken', () => answers.length === 2);
    const before = looks;
    h.delivery.wake();
    await until('the rows are read again', () => looks > before);
    for (const answer of answers) answer();
    await until('both are uploaded', async () => (await allAre(1, 'uploaded')()) && (await allAre(2, 'uploaded')()));
    await h.commit([rowOf(h.clock, 3, { media })]);
    await ready(3, [0]);
    await until('a third one is', allAre(3, 'uploaded'));
    expect(left.sort()).toEqual(['keep 1-0', 'keep 2-0', 'keep 3-0']);
    expect(warned).toEqual([]);
  });

  it('leave the line to an event that is under way, and have it back after it', async () => {
    let answerSecond: (() => void) | undefined;
    // At its share of the line it would take a minute.
    const picture = Buffer.alloc(1_000_000);
    let begun = false;
    await setUp({
      delivery: {
        files: {
          open: async () => ({
            bytes: picture.length,
            stream() {
              begun = true;
              return Readable.from([picture]);
            },
          }),
          discard: async () => undefined,
          keep: async () => undefined,
        },
      },
      onEvent: (post, nth, response, socket) => {
        const answer = () => withAddresses()(post, nth, response, socket);
        if (post.seq === 2) answerSecond = () => void answer();
        else void answer();
      },
    });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await until('the event is accepted', async () => (await h.waiting()) === 0);
    await h.commit([rowOf(h.clock, 2)]);
    await until('the next one is under way', () => answerSecond !== undefined);
    await ready(1, [0], 'alarm', picture);
    await until('the upload has begun', () => begun);
    for (const seq of [3, 4, 5]) {
      await h.commit([rowOf(h.clock, seq, { orderKey: 'other' })]);
      await until('an event overtakes it', async () => (await h.waiting()) === 1);
    }
    expect(h.puts).toHaveLength(0);
    answerSecond?.();
    await until('the event is accepted', async () => (await h.waiting()) === 0);
    h.clock.advance(1_000);
    await until('the picture is there', allAre(1, 'uploaded'));
  });

  it.each([403, 404, 410, 400, 307])(
    'whose address answers %i get a fresh one under the same event id',
    async (status) => {
      await setUp({ onPut: (seen, response) => json(response, seen.path.includes('/1/1/') ? status : 200, undefined) });
      await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
      await ready(1, [0]);
      await h.passTime('it is uploaded', allAre(1, 'uploaded'));
      expect(h.puts.map(({ path }) => path)).toEqual(['/up/1/1/snapshot/0', '/up/1/2/snapshot/0']);
      expect(new Set(h.posts.map(({ id }) => id)).size).toBe(1);
      expect(new Set(h.posts.map(({ body }) => body.replace(/"sent_at":"[^"]+"/, ''))).size).toBe(1);
    },
  );

  it('whose address has expired are not sent there', async () => {
    await setUp({ onEvent: withAddresses(60_000) });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await until('the event is accepted', async () => (await h.waiting()) === 0);
    h.clock.advance(61_000);
    await ready(1, [0]);
    await h.passTime('it is uploaded', allAre(1, 'uploaded'));
    expect(h.puts.map(({ path }) => path)).toEqual(['/up/1/2/snapshot/0']);
  });

  it('are tried every hour after three rounds, and given up after seven days with the reason', async () => {
    await setUp({ onPut: (_, response) => json(response, 403, undefined) });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await ready(1, [0]);
    await h.passTime('three rounds are over', () => h.puts.length === 3, 10_000);
    expect(h.posts).toHaveLength(3);
    const begun = h.clock.monotonic();
    await h.passTime('it is tried again', () => h.puts.length === 4, 60_000);
    expect(h.clock.monotonic() - begun).toBeGreaterThan(3_000_000);
    expect(await states(1)).toEqual(['ready']);
    h.clock.step(-40 * 86_400_000);
    h.clock.step(80 * 86_400_000);
    await h.passTime('it is tried once more', () => h.puts.length === 5, 60_000);
    expect(await states(1)).toEqual(['ready']);
    h.clock.advance(7 * 86_400_000);
    await h.passTime('it is given up', allAre(1, 'failed'), 60_000);
    expect((await mediaOf(1))[0]?.reason).toBe('no useful upload address for 7 days: 403 address expired or unknown');
    expect(new Set(h.posts.map(({ body }) => body.replace(/"sent_at":"[^"]+"/, ''))).size).toBe(1);
    expect(h.files.size).toBe(0);
    expect(await h.waiting()).toBe(0);
  });

  it('whose hourly try is taken are uploaded like any other', async () => {
    await setUp({ onPut: (_, response, nth) => json(response, nth < 4 ? 403 : 200, undefined) });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await ready(1, [0]);
    await h.passTime('it is uploaded', allAre(1, 'uploaded'), 60_000);
    expect(h.posts).toHaveLength(4);
  });

  it.each([
    ['size', Buffer.from('picture 1/0 and more'), 'the file has 20 bytes, not the 11 that were recorded'],
    ['contents', Buffer.from('picture 9/9'), 'the file does not have the contents that were recorded'],
  ])('of another %s than recorded are never sent and fail with the reason', async (_what, bytes, reason) => {
    await setUp();
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await until('the event is accepted', async () => (await h.waiting()) === 0);
    await ready(1, [0], 'alarm', undefined, bytes);
    await until('it has failed', allAre(1, 'failed'));
    expect((await mediaOf(1))[0]?.reason).toBe(reason);
    expect(h.puts).toHaveLength(0);
  });

  it('leave no trace of their addresses on the disk', async () => {
    await setUp({ onPut: (_, response, nth) => json(response, nth === 1 ? 503 : 200, undefined) });
    await h.commit([rowOf(h.clock, 1, { media: plan })]);
    await ready(1, [0, 1, 2]);
    await h.passTime('all is uploaded', allAre(1, 'uploaded'), 10_000);
    const folder = h.storeDir;
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const files = names.filter((name) => statSync(join(folder, name)).isFile());
    expect(files.length).toBeGreaterThan(1);
    for (const name of files) expect(readFileSync(join(folder, name)).includes('/up/1/')).toBe(false);
  });

  it.each([
    ['no body', undefined],
    ['no addresses', { event_id: undefined, uploads: [] }],
    ['something odd', { uploads: 'later' }],
    ['plain http elsewhere', { uploads: [{ kind: 'snapshot', index: 0, url: 'http://192.0.2.1/x' }] }],
  ])('wait when the answer holds %s, and the event is accepted all the same', async (_what, body) => {
    await setUp({
      onEvent: (post, nth, response, socket) =>
        nth === 1 ? json(response, 200, body) : withAddresses()(post, nth, response, socket),
    });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await until('the event is accepted', async () => (await h.waiting()) === 0);
    await ready(1, [0]);
    await h.passTime('it is uploaded in the second round', allAre(1, 'uploaded'), 10_000);
    expect(h.posts).toHaveLength(2);
  });

  it.each([429, 500, 503])('are tried again at the same address after %i', async (status) => {
    await setUp({ onPut: (_, response, nth) => json(response, nth === 1 ? status : 200, undefined) });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await ready(1, [0]);
    await h.passTime('it is uploaded', allAre(1, 'uploaded'), 10_000);
    expect(new Set(h.puts.map(({ path }) => path))).toEqual(new Set(['/up/1/1/snapshot/0']));
    expect(h.posts).toHaveLength(1);
  });

  it('are tried again after a cut line', async () => {
    await setUp({
      onPut: (_, response, nth) =>
        nth === 1 ? void response.socket?.resetAndDestroy() : json(response, 200, undefined),
    });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await ready(1, [0]);
    await h.passTime('it is uploaded', allAre(1, 'uploaded'), 10_000);
  });

  it.each([
    ['too large', 413, '413 too large'],
    ['of the wrong kind', 415, '415 wrong kind of file'],
  ])('that are %s fail for good with the reason', async (_what, status, reason) => {
    await setUp({ onPut: (_, response) => json(response, status, undefined) });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await ready(1, [0]);
    await until('it has failed', allAre(1, 'failed'));
    expect((await mediaOf(1))[0]?.reason).toBe(reason);
    expect(h.puts).toHaveLength(1);
  });

  it('of an event that was accepted before a restart are uploaded after asking for addresses again', async () => {
    await setUp();
    const row = rowOf(h.clock, 1, { media: plan.slice(0, 1) });
    await h.commit([row]);
    await until('the event is accepted', async () => (await h.waiting()) === 0);
    await h.delivery.stop();
    await ready(1, [0]);
    const again = createDelivery({
      store: h.store,
      cloud: h.cloud,
      clock: h.clock,
      log: quiet,
      metrics: new Registry(),
      allowLoopbackHttp: true,
      uploadResume: 'off',
      onLink: () => undefined,
      files: {
        open: async () => ({ bytes: 11, stream: () => Readable.from([Buffer.from('picture 1/0')]) }),
        discard: async () => undefined,
        keep: async () => undefined,
      },
    });
    await again.start(new AbortController().signal);
    await until('it is uploaded', allAre(1, 'uploaded'));
    await again.stop();
    expect(h.posts.map(({ id }) => id)).toEqual([row.eventId, row.eventId]);
    expect(h.puts.map(({ path }) => path)).toEqual(['/up/1/2/snapshot/0']);
  });

  it('whose addresses are asked for keep to the pause that the cloud asks for, and so do events', async () => {
    await setUp({
      onEvent: (post, nth, response, socket) =>
        post.seq === 1 && nth === 2
          ? json(response, 429, {}, { 'retry-after': '600' })
          : withAddresses()(post, nth, response, socket),
      onPut: (_seen, response, nth) => json(response, nth === 1 ? 403 : 200, undefined),
    });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await ready(1, [0]);
    await until('the repeat is refused', () => h.links.some(([up, trouble]) => !up && trouble === 'busy'));
    const posts = h.posts.length;
    await h.commit([rowOf(h.clock, 2)]);
    h.delivery.linkUp();
    h.clock.advance(599_000);
    h.delivery.wake();
    await h.store.stats();
    expect(h.posts).toHaveLength(posts);
    await h.passTime('the event is delivered', async () => (await h.waiting()) === 0, 60_000);
    await h.passTime('the picture is uploaded', allAre(1, 'uploaded'), 60_000);
  });

  it('are uploaded after a pause though no event comes to find out that it is over', async () => {
    await setUp({
      onEvent: (post, nth, response, socket) =>
        nth === 2 ? json(response, 429, {}, { 'retry-after': '600' }) : withAddresses()(post, nth, response, socket),
      onPut: (_seen, response, nth) => json(response, nth === 1 ? 403 : 200, undefined),
    });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await ready(1, [0]);
    await until('the repeat is refused', () => h.links.some(([up, trouble]) => !up && trouble === 'busy'));
    await h.passTime('the picture is uploaded', allAre(1, 'uploaded'), 60_000);
    expect(h.posts).toHaveLength(3);
    expect(h.links.at(-1)?.[0]).toBe(true);
  });

  it.each<[string, Parameters<typeof json>[2], Record<string, string>]>([
    ['a page', undefined, { 'content-type': 'text/html' }],
    ['the digest of something else', { sha256: 'ab'.repeat(32) }, {}],
    ['a size that is not theirs', { bytes: 3 }, {}],
  ])('whose upload is answered by 200 and %s are not uploaded, and stay', async (_what, body, headers) => {
    await setUp({
      onPut: (_seen, response, nth) => json(response, 200, nth === 1 ? body : {}, nth === 1 ? headers : {}),
    });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) })]);
    await ready(1, [0]);
    await until('it is sent', () => h.puts.length > 0);
    await h.passTime('it is uploaded', allAre(1, 'uploaded'), 10_000);
    expect(h.puts.length).toBeGreaterThan(1);
    expect(new Set(h.puts.map((put) => put.body)).size).toBe(1);
  });

  it('whose file is gone fail; those of a refused event wait until it is put back in line', async () => {
    let isRefused = true;
    await setUp({
      onEvent: (post, nth, response, socket) =>
        post.seq === 2 && isRefused ? json(response, 400, {}) : withAddresses()(post, nth, response, socket),
    });
    await h.commit([rowOf(h.clock, 1, { media: plan.slice(0, 1) }), rowOf(h.clock, 2, { media: plan.slice(0, 1) })]);
    await ready(2, [0]);
    await ready(1, [0]);
    h.files.delete('1-0');
    await h.passTime('the first has failed', allAre(1, 'failed'), 10_000);
    await h.passTime('the second is parked', async () => (await h.store.stats()).parked === 1, 10_000);
    expect((await mediaOf(1))[0]?.reason).toBe('the file is gone');
    expect(await states(2)).toEqual(['ready']);
    expect(h.puts).toHaveLength(0);
    isRefused = false;
    await h.store.retryParked([{ seq: 2, lane: 'alarm' }]);
    h.delivery.retried();
    await h.passTime('its picture is uploaded', allAre(2, 'uploaded'), 10_000);
  });
});

describe('reading addresses', () => {
  const now = Date.UTC(2026, 10, 27, 20);
  const url = 'https://store.example/a?sig=1';
  const cases: [what: string, json: unknown, found: [kind: string, url: string][]][] = [
    ['our own shape', { uploads: [{ kind: 'short_mp4', index: 0, url }] }, [['short_mp4', url]]],
    ['a wrapped one', { data: { uploads: [{ kind: 'snapshot', index: 0, url }] } }, [['snapshot', url]]],
    [
      'a list of texts',
      { snapshot_upload_urls: [url, `${url}2`] },
      [
        ['snapshot', url],
        ['snapshot', `${url}2`],
      ],
    ],
    [
      'one key per kind',
      { upload_urls: { snapshots: [url], short_mp4: `${url}3`, event_mp4: `${url}4` } },
      [
        ['snapshot', url],
        ['short_mp4', `${url}3`],
        ['event_mp4', `${url}4`],
      ],
    ],
    [
      'objects under kinds',
      { event: { snapshots: [{ upload_url: url }], event_clip: { url: `${url}5` } } },
      [
        ['snapshot', url],
        ['event_mp4', `${url}5`],
      ],
    ],
    ['a bare list', [{ type: 'image', href: url }], [['snapshot', url]]],
    ['addresses that are not for uploads', { self: url, docs: { more: url } }, []],
    ['no addresses', { uploads: [{ url: 'ftp://x' }, { url: 'not one' }, { url: 5 }] }, []],
    ['nothing', undefined, []],
    ['text', 'https://x', []],
  ];
  it.each(cases)('understands %s', (_what, json, found) => {
    expect(readAddresses(json, now).map((address) => [address.kind, address.url])).toEqual(found);
  });

  it.each([
    ['an ISO time', { expires_at: '2026-11-27T20:05:00Z' }, 300_000],
    ['a time without a zone', { expires_at: '2026-11-27 20:05:00' }, 300_000],
    ['seconds since 1970', { expires: now / 1000 + 300 }, 300_000],
    ['milliseconds since 1970', { expiration: now + 300_000 }, 300_000],
    ['a life in seconds', { expires_in: 300 }, 300_000],
    ['a time long past', { expires_at: '2020-01-01T00:00:00Z' }, 0],
    ['nothing', {}, 600_000],
  ])('takes its end from %s', (_what, more, lifeMs) => {
    expect(readAddresses({ uploads: [{ kind: 'snapshot', url, ...more }] }, now)[0]?.lifeMs).toBe(lifeMs);
  });

  it('is bounded, however large or deep the answer', () => {
    let deep: unknown = { url };
    for (let i = 0; i < 1_000; i += 1) deep = { upload: deep };
    expect(readAddresses(deep, now)).toEqual([]);
    const wide = { uploads: Array.from({ length: 100_000 }, () => ({ url })) };
    expect(readAddresses(wide, now)).toHaveLength(64);
  });
});
