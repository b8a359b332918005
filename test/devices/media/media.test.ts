import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createMedia, type Media, type MediaOutcome, type PlannedMedia } from '#devices/media/index.ts';
import { SitewardError } from '#errors.ts';
import { systemClock } from '#lib/clock.ts';

let dir: string;
let media: Media | undefined;
let outcomes: MediaOutcome[];
let planned: PlannedMedia[];
let ready: number;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-media-'));
  outcomes = [];
  planned = [];
  ready = 0;
});

afterEach(async () => {
  vi.useRealTimers();
  await media?.stop();
  media = undefined;
  rmSync(dir, { recursive: true, force: true });
});

type Snapshot = (camera: string, signal: AbortSignal) => Promise<Uint8Array>;

async function start(snapshot: Snapshot, budgetBytes = 1_000_000): Promise<Media> {
  media = createMedia({
    dir,
    budgetBytes,
    pictures: { snapshot: async (camera, signal) => ({ bytes: await snapshot(camera, signal), mime: 'image/jpeg' }) },
    table: {
      update: async (list) => void outcomes.push(...list),
      list: async (states) => planned.filter((row) => states.includes(row.state as 'planned')),
    },
    onReady: () => {
      ready += 1;
    },
    clock: systemClock(),
    log: pino({ level: 'silent' }),
    metrics: new Registry(),
  });
  await media.start(new AbortController().signal);
  return media;
}

const item = (index: number, camera = 'yard', offsetMs = 0) => ({ index, kind: 'snapshot' as const, camera, offsetMs });
const job = (seq: number, items: ReturnType<typeof item>[], committed: Promise<void> = Promise.resolve()) => ({
  seq,
  lane: 'alarm' as const,
  items,
  committed,
});
const row = (over: Partial<PlannedMedia>): PlannedMedia => ({
  seq: 1,
  lane: 'alarm',
  index: 0,
  kind: 'snapshot',
  camera: 'yard',
  offsetMs: 0,
  eventWall: Date.now(),
  state: 'planned',
  ...over,
});
const picture = Buffer.from('a picture');

describe('media', () => {
  it('keeps a picture whole on disk, readable by siteward only, before its row says ready', async () => {
    const one = await start(async () => picture);
    one.capture(job(7, [item(0)]));
    await expect.poll(() => ready).toBe(1);
    expect(outcomes).toMatchObject([
      {
        seq: 7,
        index: 0,
        state: 'ready',
        file: '7-0.jpg',
        bytes: picture.length,
        sha256: createHash('sha256').update(picture).digest('hex'),
      },
    ]);
    expect(readFileSync(one.path('7-0.jpg'))).toEqual(picture);
    expect(statSync(one.path('7-0.jpg')).mode & 0o777).toBe(0o600);
  });

  it('leaves a picture planned for the next start when the cameras are stopped before it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    let asked = 0;
    const one = await start(async () => {
      asked += 1;
      throw new SitewardError('stopped', 'The camera session was stopped');
    });
    one.capture(job(7, [item(0)]));
    await vi.advanceTimersByTimeAsync(4000);
    await one.stop();
    expect({ asked, outcomes }).toEqual({ asked: 1, outcomes: [] });
  });

  it('takes the picture at once but touches its row only after the event is committed', async () => {
    let taken = false;
    const one = await start(async () => {
      taken = true;
      return picture;
    });
    const gate = Promise.withResolvers<void>();
    one.capture(job(7, [item(0)], gate.promise));
    await expect.poll(() => taken && existsSync(one.path('7-0.jpg'))).toBe(true);
    expect(outcomes).toEqual([]);
    gate.resolve();
    await expect.poll(() => outcomes.length).toBe(1);
  });

  it('asks one camera for one picture at a time, and cameras side by side', async () => {
    const running = new Map<string, number>();
    let most = 0;
    let mostTogether = 0;
    const one = await start(async (camera) => {
      const mine = (running.get(camera) ?? 0) + 1;
      running.set(camera, mine);
      most = Math.max(most, mine);
      mostTogether = Math.max(
        mostTogether,
        [...running.values()].reduce((sum, count) => sum + count, 0),
      );
      await new Promise((resolve) => setTimeout(resolve, 20));
      running.set(camera, mine - 1);
      return picture;
    });
    one.capture(job(1, [item(0, 'a'), item(1, 'a'), item(2, 'b'), item(3, 'b')]));
    await expect.poll(() => ready).toBe(4);
    expect(most).toBe(1);
    expect(mostTogether).toBe(2);
  });

  it('tries a second time after a passing failure, and records the reason when that fails too', async () => {
    let tries = 0;
    const one = await start(async (camera) => {
      tries += 1;
      if (camera === 'yard' && tries > 1) return picture;
      throw new SitewardError('camera_unreachable', `the camera ${camera} is away`);
    });
    one.capture(job(1, [item(0)]));
    await expect.poll(() => outcomes.length, { timeout: 5000 }).toBe(1);
    one.capture(job(2, [item(0, 'gate')]));
    await expect.poll(() => outcomes.length, { timeout: 5000 }).toBe(2);
    expect(outcomes[0]).toMatchObject({ state: 'ready' });
    expect(outcomes[1]).toMatchObject({ seq: 2, state: 'failed', reason: 'the camera gate is away' });
    expect(one.health()).toMatchObject({ state: 'degraded' });
  });

  it('does not try again where the password was refused', async () => {
    let tries = 0;
    const one = await start(async () => {
      tries += 1;
      throw new SitewardError('camera_auth', 'the camera refused the password');
    });
    one.capture(job(1, [item(0)]));
    await expect.poll(() => outcomes.length).toBe(1);
    expect(tries).toBe(1);
  });

  it('never uses more disk than its budget: what does not fit is recorded as failed', async () => {
    const one = await start(async () => Buffer.alloc(600), 1000);
    one.capture(job(1, [item(0), item(1)]));
    await expect.poll(() => outcomes.length).toBe(2);
    expect(outcomes.map((outcome) => outcome.state)).toEqual(['ready', 'failed']);
    await one.discard('1-0.jpg');
    one.capture(job(2, [item(0)]));
    await expect.poll(() => outcomes.length).toBe(3);
    expect(outcomes[2]).toMatchObject({ state: 'ready' });
  });

  it('refuses more pictures than it can hold at once, with the reason', async () => {
    const one = await start(() => new Promise(() => undefined));
    for (let seq = 1; seq <= 130; seq += 1) one.capture(job(seq, [item(0, `camera-${seq}`)]));
    await expect.poll(() => outcomes.length).toBeGreaterThanOrEqual(2);
    expect(outcomes.every((outcome) => outcome.state === 'failed')).toBe(true);
  });
});

describe('after a restart', () => {
  it('takes what is still worth taking, and gives up what is not, saying why', async () => {
    planned = [row({ seq: 1 }), row({ seq: 2, eventWall: Date.now() - 60_000 })];
    await start(async () => picture);
    await expect.poll(() => outcomes.length).toBe(2);
    expect(outcomes.find(({ seq }) => seq === 1)).toMatchObject({ state: 'ready' });
    expect(outcomes.find(({ seq }) => seq === 2)).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('not running'),
    });
  });

  it('removes half-written files and files nobody refers to, and keeps the others', async () => {
    mkdirSync(dir, { recursive: true });
    for (const name of ['1-0.jpg', '2-0.jpg', '3-0.jpg.part', 'notes.txt']) writeFileSync(join(dir, name), 'x');
    planned = [row({ seq: 1, state: 'ready', file: '1-0.jpg' })];
    await start(async () => picture);
    await expect.poll(() => readdirSync(dir)).toEqual(['1-0.jpg']);
  });
});
