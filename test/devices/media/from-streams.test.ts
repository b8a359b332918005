import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type ClipOrder,
  type ClipSource,
  createMedia,
  type FrameSource,
  type Media,
  type PlannedMedia,
} from '#devices/media/index.ts';
import { SitewardError } from '#errors.ts';
import { systemClock } from '#lib/clock.ts';
import type { MediaItem, MediaOutcome } from '#site/model/index.ts';
import { tinyClip } from '../../harness/tiny-clip.ts';

/** Clips and pictures of the past, of a source of streams that is a port: what media does with what it gives. */
let dir: string;
let media: Media | undefined;
let outcomes: MediaOutcome[];
let planned: PlannedMedia[];
let asked: number;
let metrics: Registry;
const clock = systemClock();

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-streams-'));
  [outcomes, planned, asked, metrics] = [[], [], 0, new Registry()];
});
afterEach(async () => {
  vi.useRealTimers();
  await media?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const lengths = { short_mp4: 400, event_mp4: 1000 };
const noFrame = () => Promise.reject(new SitewardError('stream_failed', 'no ring holds that moment'));

async function start(
  streams: Partial<ClipSource & FrameSource>,
  budgetBytes = 1_000_000,
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<Media> {
  media = createMedia({
    ...{ dir, budgetBytes, keepMs: 0, clips: lengths },
    pictures: {
      snapshot: async () => {
        asked += 1;
        await meanwhile();
        return { bytes: Buffer.from('of now'), mime: 'image/jpeg' };
      },
    },
    streams: { clip: () => Promise.reject(new Error('no clip')), frame: noFrame, ...streams },
    table: {
      update: async (list) => void outcomes.push(...list),
      list: async (states) => planned.filter((row) => states.includes(row.state as 'planned')),
      isWhole: () => false,
      uploadedAt: async () => undefined,
    },
    onReady: () => undefined,
    ...{ clock, metrics, log: pino({ level: 'silent' }) },
  });
  await media.start(new AbortController().signal);
  return media;
}

const footage = tinyClip();
/** Writes a clip that begins so long before it should. */
const writes =
  (earlierMs = 0) =>
  async (order: ClipOrder) => {
    writeFileSync(order.to, footage);
    return { startedMono: order.startMono - earlierMs };
  };
const item = (index: number, kind: MediaItem['kind'], offsetMs = 0): MediaItem => ({
  ...{ index, kind, offsetMs },
  camera: 'yard',
});
const job = (seq: number, ...items: MediaItem[]) => ({
  ...{ seq, items, lane: 'alarm' as const },
  committed: Promise.resolve(),
});
const row = (over: Partial<PlannedMedia>): PlannedMedia => ({
  ...{ seq: 1, lane: 'alarm', index: 0, kind: 'short_mp4', camera: 'yard', offsetMs: 0 },
  ...{ eventWall: clock.wall(), state: 'planned' },
  ...over,
});

describe('a clip', () => {
  it('is whole on disk under its name before its row says ready, and the row says when it begins', async () => {
    const orders: ClipOrder[] = [];
    const one = await start({
      clip: async (order) => {
        orders.push(order);
        return writes(700)(order);
      },
    });
    const before = clock.monotonic();
    one.capture(job(7, item(2, 'event_mp4', -5000)));
    await expect.poll(() => outcomes).toHaveLength(1);
    expect(outcomes).toMatchObject([
      {
        ...{ seq: 7, index: 2, state: 'ready', file: '7-2.mp4', bytes: footage.length, mime: 'video/mp4' },
        sha256: createHash('sha256').update(footage).digest('hex'),
        note: 'begins 5.7 s before the event',
      },
    ]);
    expect(readFileSync(one.path('7-2.mp4'))).toEqual(footage);
    expect(statSync(one.path('7-2.mp4')).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir)).toEqual(['7-2.mp4']);
    const [{ startMono = 0, endMono = 0 } = {}] = orders;
    expect(endMono - startMono).toBe(5000 + lengths.event_mp4);
    expect(startMono + 5000).toBeGreaterThanOrEqual(before);
  });

  it('holds up no picture of its camera, and no other clip', async () => {
    const one = await start({
      clip: (order) => (order.to.includes('1-0') ? new Promise(() => undefined) : writes()(order)),
    });
    one.capture(job(1, item(0, 'short_mp4'), item(1, 'snapshot'), item(2, 'event_mp4')));
    await expect
      .poll(() => outcomes.map(({ index, state }) => [index, state]).sort())
      .toEqual([
        [1, 'ready'],
        [2, 'ready'],
      ]);
  });

  it.each<[string, Partial<ClipSource>, RegExp, string]>([
    [
      'whose stream ends',
      {
        clip: async ({ to }) => {
          writeFileSync(to, 'half a clip');
          throw new SitewardError('stream_failed', 'the stream has ended');
        },
      },
      /the stream has ended/,
      'stream_failed',
    ],
    [
      'of which nothing was written',
      { clip: async ({ startMono }) => ({ startedMono: startMono }) },
      /the clip is empty/,
      'stream_failed',
    ],
    ...Object.entries({
      'without its index': footage.subarray(0, 8),
      'cut off at its end': footage.subarray(0, -1),
      'that is something else': Buffer.from('no clip at all'),
    }).map<[string, Partial<ClipSource>, RegExp, string]>(([what, written]) => [
      `that was written without a complaint, ${what},`,
      {
        clip: async ({ to, startMono }) => {
          writeFileSync(to, written);
          return { startedMono: startMono };
        },
      },
      /not written to its end; the disk may be full/,
      'stream_failed',
    ]),
    [
      'that does not fit into the budget',
      {
        clip: async (order) => {
          writeFileSync(order.to, tinyClip(1_000_001));
          return { startedMono: 0 };
        },
      },
      /budget/,
      'queue_full',
    ],
  ])(
    '%s fails with the reason, leaves nothing behind, and its event has its picture',
    async (_what, source, reason, code) => {
      const one = await start(source);
      one.capture(job(1, item(0, 'snapshot'), item(1, 'short_mp4')));
      await expect.poll(() => outcomes).toHaveLength(2);
      expect(outcomes.find(({ index }) => index === 0)).toMatchObject({ state: 'ready' });
      expect(outcomes.find(({ index }) => index === 1)).toMatchObject({
        state: 'failed',
        reason: expect.stringMatching(reason),
      });
      await expect.poll(() => readdirSync(dir)).toEqual(['1-0.jpg']);
      expect(await metrics.metrics()).toContain(`siteward_media_failures_total{reason="${code}"} 1`);
      expect(one.health()).toMatchObject({ state: 'degraded', facts: { spoolBytes: 6 } });
    },
  );

  it('holds what came before it at the decision already, since a disarm in the same moment forgets it', async () => {
    const orders: ClipOrder[] = [];
    const one = await start({
      clip: async (order) => {
        orders.push(order);
        return writes()(order);
      },
    });
    one.capture(job(7, item(0, 'short_mp4', -5000)));
    expect(orders).toHaveLength(1);
  });

  it('stays planned for the next start where its streams are stopped before it, and is made where they come back', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    let tries = 0;
    const one = await start({
      clip: async () => {
        tries += 1;
        throw new SitewardError('stopped', 'streams is not running');
      },
    });
    one.capture(job(1, item(0, 'short_mp4')));
    await vi.advanceTimersByTimeAsync(4000);
    await one.stop();
    expect(tries).toBeGreaterThan(1);
    expect(outcomes).toEqual([]);
    metrics = new Registry();
    tries = 0;
    const next = await start({
      clip: async (order) => {
        tries += 1;
        if (tries <= 5) throw new SitewardError('stopped', 'streams is not running');
        return writes()(order);
      },
    });
    next.capture(job(2, item(0, 'short_mp4')));
    await vi.advanceTimersByTimeAsync(6000);
    vi.useRealTimers();
    await expect.poll(() => outcomes).toMatchObject([{ seq: 2, state: 'ready' }]);
  });

  it('is refused with the reason when too many are being made; pictures are not', async () => {
    const one = await start({ clip: () => new Promise(() => undefined) });
    for (let seq = 1; seq <= 17; seq += 1) one.capture(job(seq, item(0, 'short_mp4')));
    one.capture(job(18, item(0, 'snapshot')));
    await expect
      .poll(() => outcomes.map(({ seq, state }) => [seq, state]).sort())
      .toEqual([
        [17, 'failed'],
        [18, 'ready'],
      ]);
    expect(outcomes.find(({ seq }) => seq === 17)).toMatchObject({ reason: 'too many clips were asked for at once' });
  });

  it('of a silent event changes no figure, whether it is made or not', async () => {
    const one = await start({
      clip: (order) => (order.to.includes('1-0') ? writes()(order) : Promise.reject(new Error('gone'))),
    });
    await expect.poll(() => one.health().facts).toMatchObject({ waiting: 0 });
    const figures = async () => [one.health(), await metrics.metrics()];
    const before = await figures();
    for (const seq of [1, 2]) one.capture({ ...job(seq, item(0, 'short_mp4')), silent: true });
    await expect.poll(() => outcomes.map(({ state }) => state).sort()).toEqual(['failed', 'ready']);
    expect(await figures()).toEqual(before);
  });
});

describe('after a restart', () => {
  it('a clip is made of what is still to come, the greater part; otherwise it fails with the reason', async () => {
    const orders: ClipOrder[] = [];
    const now = clock.wall();
    planned = [
      row({ seq: 1, kind: 'event_mp4', eventWall: now - lengths.event_mp4 / 4 }),
      row({ seq: 2, kind: 'event_mp4', eventWall: now - lengths.event_mp4 }),
      row({ seq: 3, kind: 'event_mp4', eventWall: now + 60_000 }),
    ];
    await start({
      clip: async (order) => {
        orders.push(order);
        return writes()(order);
      },
    });
    await expect.poll(() => outcomes).toHaveLength(3);
    expect(outcomes.find(({ seq }) => seq === 1)).toMatchObject({ state: 'ready', file: '1-0.mp4' });
    for (const seq of [2, 3])
      expect(outcomes.find((one) => one.seq === seq)).toMatchObject({
        ...{ state: 'failed', reason: 'siteward was not running when the clip was due' },
      });
    expect(orders).toHaveLength(1);
    expect((orders[0]?.startMono ?? 0) < clock.monotonic() - lengths.event_mp4 / 4).toBe(true);
  });

  it('a whole clip whose row was not written is adopted, and half of one goes', async () => {
    writeFileSync(join(dir, '1-0.mp4'), footage);
    writeFileSync(join(dir, '2-0.mp4.part'), 'half');
    planned = [row({ seq: 1, eventWall: 0 })];
    const one = await start({});
    await expect.poll(() => outcomes).toMatchObject([{ seq: 1, state: 'ready', file: '1-0.mp4', mime: 'video/mp4' }]);
    expect(readdirSync(dir)).toEqual(['1-0.mp4']);
    expect(one.health().facts).toMatchObject({ spoolBytes: footage.length });
  });

  it('a picture of the moment before is one of now that says so, and one that is still due has its moment', async () => {
    const eventWall = clock.wall() - 5000;
    planned = [-1000, 5600].map((offsetMs, index) => row({ index, kind: 'snapshot', offsetMs, eventWall }));
    await start({});
    await expect.poll(() => outcomes).toHaveLength(2);
    expect(outcomes).toMatchObject([{ index: 0, note: expect.stringContaining('after the event') }, { index: 1 }]);
    expect(outcomes[1]).not.toHaveProperty('note');
    expect(outcomes[1]?.at).toBeGreaterThanOrEqual(eventWall + 5500);
  });

  it('a clip that is being made when siteward stops stays planned', async () => {
    const one = await start({ clip: () => new Promise(() => undefined) });
    one.capture(job(1, item(0, 'short_mp4')));
    await pause(20);
    await one.stop();
    expect(outcomes).toEqual([]);
  });
});

describe('a picture of the moment before', () => {
  const frame = async () => ({ bytes: Buffer.from('of before'), mime: 'image/jpeg' as const });

  it('comes from the ring and does not wait for the pictures of now', async () => {
    const moments: number[] = [];
    const one = await start({
      frame: async (_camera, atMono) => {
        moments.push(atMono - clock.monotonic());
        return frame();
      },
    });
    one.capture(job(1, item(0, 'snapshot', 300), item(1, 'snapshot', -1000)));
    await expect.poll(() => outcomes).toHaveLength(1);
    expect(outcomes).toMatchObject([{ index: 1, state: 'ready', file: '1-1.jpg' }]);
    expect(readFileSync(one.path('1-1.jpg'), 'utf8')).toBe('of before');
    expect(moments[0]).toBeLessThanOrEqual(-1000);
    expect(asked).toBe(0);
  });

  it('is taken in the camera’s turn where it is one of now', async () => {
    let [together, most] = [0, 0];
    await start({ frame: noFrame }, 1_000_000, async () => {
      together += 1;
      most = Math.max(most, together);
      await pause(50);
      together -= 1;
    });
    media?.capture(job(1, item(0, 'snapshot'), item(1, 'snapshot', -1000)));
    media?.capture(job(2, item(0, 'snapshot', -1000)));
    await expect.poll(() => outcomes).toHaveLength(3);
    expect([asked, most]).toEqual([3, 1]);
  });

  it('is one of now where nothing was recorded, and the row says so', async () => {
    const one = await start({ frame: noFrame });
    one.capture(job(1, item(0, 'snapshot', -1000)));
    await expect
      .poll(() => outcomes)
      .toMatchObject([{ state: 'ready', note: 'taken after the event: nothing was recorded before it' }]);
    expect(readFileSync(one.path('1-0.jpg'), 'utf8')).toBe('of now');
  });
});

it('a file that was removed by hand is lost, which the next start says, and nothing else changes', async () => {
  planned = [row({ state: 'ready', file: '1-0.mp4', bytes: 6 })];
  await start({});
  await expect.poll(() => outcomes).toMatchObject([{ seq: 1, state: 'failed', reason: 'lost: the file is gone' }]);
  expect(existsSync(join(dir, '1-0.mp4'))).toBe(false);
});
