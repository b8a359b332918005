import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMedia, type Media, type PictureSource } from '#devices/media/index.ts';
import { systemClock } from '#lib/clock.ts';
import { Secret } from '#lib/secret.ts';
import type { MediaOutcome } from '#site/model/index.ts';
import { tinyClip } from '../../harness/tiny-clip.ts';
import { isRoot, smallDisk } from '../../site/store/small-disk.ts';
import { harness, links, until } from '../onvif/harness.ts';
import { cameraModel, type Reply, startCamera, tinyJpeg } from '../onvif/scripted-camera.ts';

/** What cameras send and disks do instead of a picture: the reason is on record, the others have theirs, nothing grows. */
let dir: string;
let outcomes: MediaOutcome[];
const opened: (() => Promise<unknown>)[] = [];
const forever = new AbortController().signal;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-bad-'));
  outcomes = [];
});
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
  rmSync(dir, { recursive: true, force: true });
});

async function start(pictures: PictureSource, spool = dir): Promise<Media> {
  const media = createMedia({
    ...{ dir: spool, budgetBytes: 10_000_000, keepMs: 0, pictures },
    clips: { short_mp4: 100, event_mp4: 100 },
    streams: {
      async clip({ to, startMono }) {
        // As all clips, not at once.
        await pause(100);
        await writeFile(to, tinyClip(900_000));
        return { startedMono: startMono };
      },
      frame: () => Promise.reject(new Error('no ring')),
    },
    table: {
      update: async (list) => void outcomes.push(...list),
      list: async () => [],
      isWhole: () => true,
      uploadedAt: async () => undefined,
    },
    onReady: () => undefined,
    ...{ clock: systemClock(), log: pino({ level: 'silent' }), metrics: new Registry() },
  });
  await media.start(forever);
  opened.push(() => media.stop());
  return media;
}

const job = (seq: number, cameras: readonly string[], kind: 'snapshot' | 'short_mp4' = 'snapshot') => ({
  ...{ seq, lane: 'alarm' as const, committed: Promise.resolve() },
  items: cameras.map((camera, index) => ({ index, kind, camera, offsetMs: 0 })),
});

const bad: Readonly<Record<string, { reply: Reply; reason: RegExp }>> = {
  'a web page': {
    reply: { headers: { 'content-type': 'text/html' }, body: '<html>Log in</html>' },
    reason: /not a usable JPEG/,
  },
  'half a picture': { reply: { body: tinyJpeg().subarray(0, 25) }, reason: /not a usable JPEG/ },
  '50 MB': { reply: { body: new Uint8Array(50_000_000).fill(0xff) }, reason: /bytes/ },
  'a body without end': { reply: { endless: new Uint8Array(65_536).fill(0xff) }, reason: /bytes/ },
  'no answer for 20 s': { reply: { hang: true }, reason: /did not answer within|took longer than/ },
  'a refused password': {
    reply: { status: 401, headers: { 'www-authenticate': 'Digest realm="x", nonce="n", qop="auth"' } },
    reason: /password|credentials/,
  },
};

describe('an alarm with the pictures of cameras of which each sends something else', () => {
  it('has the good picture, the reason of each other, and nothing else on the disk', { timeout: 60_000 }, async () => {
    const names = [...Object.keys(bad), 'good'];
    const servers = [];
    for (const name of names) {
      const { script } = cameraModel({
        before: ({ operation }) => (operation === '' ? bad[name]?.reply : undefined),
      });
      const server = await startCamera(script);
      opened.push(() => server.close());
      servers.push(server);
    }
    const { cameras, signals } = harness(
      servers.map(({ url }, at) => ({ ...{ id: `c${at}`, url, username: 'u' }, password: new Secret('secret-word') })),
    );
    await cameras.start(forever);
    opened.push(() => cameras.stop());
    await until(() => links(signals).filter((up) => up === true).length === names.length, 'the links');
    const media = await start(cameras);
    media.capture(
      job(
        7,
        names.map((_, at) => `c${at}`),
      ),
    );
    await expect.poll(() => outcomes.length, { timeout: 45_000, interval: 100 }).toBe(names.length);
    for (const [at, name] of names.entries()) {
      const outcome = outcomes.find(({ index }) => index === at);
      const wanted = bad[name];
      expect([name, outcome]).toMatchObject([
        name,
        wanted === undefined ? { state: 'ready' } : { state: 'failed', reason: expect.stringMatching(wanted.reason) },
      ]);
      if (outcome?.state === 'failed') expect(outcome.reason.length).toBeLessThanOrEqual(300);
    }
    expect(JSON.stringify(outcomes)).not.toContain('secret-word');
    expect(readdirSync(dir)).toEqual([`7-${names.length - 1}.jpg`]);
    expect(media.health().facts).toEqual({ spoolBytes: tinyJpeg().length, waiting: 0 });
    // The events of all of them go on.
    expect(links(signals)).not.toContain(false);
  });
});

it.skipIf(!isRoot)(
  'on a disk that fills up meanwhile pictures and clips fail with the reason, leave nothing, and come again',
  async () => {
    const disk = smallDisk('tmpfs', 4);
    const spool = join(disk.dir, 'spool');
    const media = await start({ snapshot: async () => ({ bytes: Buffer.alloc(900_000), mime: 'image/jpeg' }) }, spool);
    disk.fill(300_000);
    media.capture(job(1, ['yard']));
    media.capture(job(2, ['yard'], 'short_mp4'));
    await expect.poll(() => outcomes.length).toBe(2);
    expect(outcomes).toMatchObject([1, 2].map(() => ({ state: 'failed', reason: expect.stringContaining('ENOSPC') })));
    expect([readdirSync(spool), media.health().facts]).toMatchObject([[], { spoolBytes: 0 }]);
    disk.free();
    media.capture(job(3, ['yard']));
    media.capture(job(4, ['yard'], 'short_mp4'));
    await expect.poll(() => outcomes.slice(2).map(({ state }) => state)).toEqual(['ready', 'ready']);
  },
);

it('where somebody has removed the folder it is made anew', async () => {
  const media = await start({ snapshot: async () => ({ bytes: tinyJpeg(), mime: 'image/jpeg' }) });
  rmSync(dir, { recursive: true });
  media.capture(job(1, ['yard']));
  await expect.poll(() => outcomes).toMatchObject([{ state: 'ready' }]);
  rmSync(dir, { recursive: true });
  media.capture(job(2, ['yard'], 'short_mp4'));
  await expect.poll(() => outcomes.slice(1)).toMatchObject([{ state: 'ready' }]);
  expect(readdirSync(dir)).toEqual(['2-0.mp4']);
});
