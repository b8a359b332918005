import { execFileSync } from 'node:child_process';
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
import { createMedia, type Media, type PlannedMedia } from '#devices/media/index.ts';
import { SitewardError } from '#errors.ts';
import { systemClock } from '#lib/clock.ts';
import type { Lane, MediaOutcome } from '#site/model/index.ts';

let dir: string;
let media: Media | undefined;
let outcomes: MediaOutcome[];
let planned: PlannedMedia[];
let ready: number;
let metrics: Registry;
/** No row is still to come. */
let isWhole: boolean;
/** So often it was asked whether it is. */
let looks: number;
let taken: string[];
let logged: string[];

beforeEach(() => {
  isWhole = false;
  looks = 0;
  dir = mkdtempSync(join(tmpdir(), 'siteward-media-'));
  outcomes = [];
  planned = [];
  ready = 0;
  taken = [];
  logged = [];
  metrics = new Registry();
});

afterEach(async () => {
  vi.useRealTimers();
  await media?.stop();
  media = undefined;
  rmSync(dir, { recursive: true, force: true });
});

type Snapshot = (camera: string, signal: AbortSignal, ask?: { silent?: boolean | undefined }) => Promise<Uint8Array>;

async function start(snapshot: Snapshot, budgetBytes = 1_000_000): Promise<Media> {
  media = createMedia({
    dir,
    budgetBytes,
    ...{ keepMs: 0, clips: { short_mp4: 10_000, event_mp4: 30_000 } },
    pictures: { snapshot: async (...of) => ({ bytes: await snapshot(...of), mime: 'image/jpeg' }) },
    table: {
      update: async (list) => void outcomes.push(...list),
      list: async (states) => planned.filter((row) => states.includes(row.state as 'planned')),
      isWhole() {
        looks += 1;
        return isWhole;
      },
      uploadedAt: async () => undefined,
    },
    onReady: () => {
      ready += 1;
    },
    onTaken: (camera) => void taken.push(camera),
    clock: systemClock(),
    log: pino({ level: 'error' }, { write: (line: string) => void logged.push(line) }),
    metrics,
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
    expect(taken).toEqual(['yard']);
  });

  it('leaves a picture planned for the next start when the cameras are stopped before it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    let asked = 0;
    const one = await start(async () => {
      asked += 1;
      throw new SitewardError('stopped', 'The camera session was stopped');
    });
    one.capture(job(7, [item(0)]));
    await vi.advanceTimersByTimeAsync(15_000);
    await one.stop();
    expect(asked).toBeGreaterThan(1);
    expect(outcomes).toEqual([]);
  });

  it('takes a picture whose camera was away first and then stopped, as soon as cameras run again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const failures = ['camera_unreachable', ...Array.from({ length: 20 }, () => 'stopped' as const)] as const;
    let asked = 0;
    const one = await start(async () => {
      const failure = failures[asked++];
      if (failure !== undefined) throw new SitewardError(failure, 'not now');
      return picture;
    });
    one.capture(job(7, [item(0)]));
    await vi.advanceTimersByTimeAsync(7000);
    vi.useRealTimers();
    await expect.poll(() => outcomes).toMatchObject([{ seq: 7, state: 'ready' }]);
    expect(asked).toBe(22);
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

  it('is not held up when it stops by an event that waits for a full disk; the picture stays for the next start', async () => {
    const one = await start(async () => picture);
    one.capture(job(7, [item(0)], new Promise(() => undefined)));
    await expect.poll(() => existsSync(one.path('7-0.jpg'))).toBe(true);
    await one.stop();
    expect(outcomes).toEqual([]);
    expect(existsSync(one.path('7-0.jpg'))).toBe(true);
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

  it('never uses more disk than its budget: a picture of the same event that does not fit is recorded as failed', async () => {
    const one = await start(async () => Buffer.alloc(600), 1000);
    one.capture(job(1, [item(0), item(1)]));
    await expect.poll(() => outcomes.length).toBe(2);
    expect(outcomes.toSorted((a, b) => a.index - b.index)).toMatchObject([{ state: 'ready' }, { state: 'failed' }]);
    await one.discard('1-0.jpg');
    one.capture(job(2, [item(0)]));
    await expect.poll(() => outcomes.length).toBe(3);
    expect(outcomes[2]).toMatchObject({ state: 'ready' });
  });

  describe('with the budget used up', () => {
    const bytes = Buffer.alloc(400);
    /** There is no room for a third one. */
    async function full(lanes: readonly [Lane, Lane]): Promise<Media> {
      const one = await start(async () => bytes, 1000);
      for (const [index, lane] of lanes.entries()) {
        one.capture({ ...job(index + 1, [item(0)]), lane });
        await expect.poll(() => ready).toBe(index + 1);
      }
      return one;
    }
    const failed = () => outcomes.filter(({ state }) => state === 'failed').map(({ seq }) => seq);
    const lost = async () => (await metrics.getSingleMetric('siteward_media_given_up_total')?.get())?.values[0]?.value;

    it.each<[lanes: readonly [Lane, Lane], gone: number]>([
      [['trouble', 'activity'], 2],
      [['alarm', 'activity'], 2],
      [['arming', 'trouble'], 2],
      [['alarm', 'arming'], 2],
      [['activity', 'activity'], 1],
      [['alarm', 'alarm'], 1],
    ])('of %o the picture of event %i gives way to that of a fresh alarm, counted and told', async (lanes, gone) => {
      const one = await full(lanes);
      one.capture(job(9, [item(0)]));
      await expect.poll(failed).toEqual([gone]);
      expect(outcomes.find(({ seq }) => seq === 9)).toMatchObject({ state: 'ready' });
      expect(outcomes.find(({ state }) => state === 'failed')).toMatchObject({
        lane: lanes[gone - 1],
        reason: 'given up: the media budget was used up',
      });
      expect(readdirSync(dir).sort()).toEqual([`${3 - gone}-0.jpg`, '9-0.jpg']);
      expect(await lost()).toBe(1);
      expect(one.health().facts).toMatchObject({ spoolBytes: 800 });
    });

    it('no picture of an alarm gives way to a lesser one', async () => {
      const one = await full(['alarm', 'alarm']);
      one.capture({ ...job(9, [item(0)]), lane: 'arming' });
      await expect.poll(failed).toEqual([9]);
      expect(readdirSync(dir)).toEqual(['1-0.jpg', '2-0.jpg']);
      expect(await lost()).toBe(0);
    });

    it('those of a former run give way too, before all alarms those nobody is known to want', async () => {
      for (const name of ['1-0.jpg', '2-0.jpg']) writeFileSync(join(dir, name), bytes);
      planned = [row({ seq: 1, state: 'ready', file: '1-0.jpg', bytes: 400 })];
      const one = await start(async () => bytes, 1000);
      await expect.poll(() => one.health().facts).toMatchObject({ spoolBytes: 400 });
      one.capture(job(9, [item(0)]));
      await expect.poll(() => readdirSync(dir).sort()).toEqual(['1-0.jpg', '9-0.jpg']);
      one.capture(job(10, [item(0)]));
      await expect.poll(failed).toEqual([1]);
      expect(readdirSync(dir).sort()).toEqual(['10-0.jpg', '9-0.jpg']);
    });

    it('nothing gives way in vain: a picture larger than all that may go is refused', async () => {
      const one = await start(async (camera) => (camera === 'large' ? Buffer.alloc(1001) : bytes), 1000);
      one.capture({ ...job(1, [item(0)]), lane: 'activity' });
      await expect.poll(() => ready).toBe(1);
      one.capture(job(9, [item(0, 'large')]));
      await expect.poll(failed).toEqual([9]);
      expect(readdirSync(dir)).toEqual(['1-0.jpg']);
    });
  });

  it('refuses more pictures than it can hold at once, with the reason', async () => {
    const one = await start(() => new Promise(() => undefined));
    for (let seq = 1; seq <= 130; seq += 1) one.capture(job(seq, [item(0, `camera-${seq}`)]));
    await expect.poll(() => outcomes.length).toBeGreaterThanOrEqual(2);
    expect(outcomes.every((outcome) => outcome.state === 'failed')).toBe(true);
  });
});

/** What a person at the machine can read of the pictures. */
const figures = async (one: Media) => [one.health().facts, await metrics.metrics()];

describe('the pictures of a silent event', () => {
  it('change no figure while they are taken, wait, are refused or go', async () => {
    const gate = Promise.withResolvers<void>();
    const one = await start(async () => gate.promise.then(() => picture), 20);
    await expect.poll(() => one.health().facts).toMatchObject({ waiting: 0 });
    const before = await figures(one);
    one.capture({ ...job(7, [item(0)]), silent: true });
    expect(await figures(one)).toEqual(before);
    gate.resolve();
    await expect.poll(() => ready).toBe(1);
    expect(await figures(one)).toEqual(before);
    for (let index = 1; index <= 130; index += 1) one.capture({ ...job(8, [item(index)]), silent: true });
    await expect.poll(() => outcomes.length).toBe(131);
    expect(await figures(one)).toEqual(before);
    await one.discard('7-0.jpg');
    expect(await figures(one)).toEqual(before);
    expect(taken).toEqual([]);
  });

  it('leave no line in the log where they cannot be recorded, as others do', async () => {
    const one = await start(async () => picture);
    const committed = Promise.reject(new Error('no disk'));
    // As in the commit queue, which listens to each of its own.
    committed.catch(() => undefined);
    one.capture({ ...job(7, [item(0)], committed), silent: true });
    one.capture(job(8, [item(0)], committed));
    await expect.poll(() => one.health().facts).toMatchObject({ waiting: 0 });
    expect(logged).toEqual([expect.stringContaining('a picture could not be recorded')]);
  });

  it('are asked for as such, also at the second try, so that nothing of it shows at the camera', async () => {
    const asked: unknown[] = [];
    const one = await start(async (_camera, _signal, ask) => {
      if (asked.push(ask?.silent) === 1) throw new SitewardError('camera_unreachable', 'nobody there');
      return picture;
    });
    one.capture({ ...job(7, [item(0)]), silent: true });
    await expect.poll(() => outcomes.length, { timeout: 10_000 }).toBe(1);
    one.capture(job(8, [item(0)]));
    await expect.poll(() => outcomes.length).toBe(2);
    expect(asked).toEqual([true, true, undefined]);
  });

  it('push out nothing on a full budget, and leave the others all of it', async () => {
    const one = await start(async () => picture, 2 * picture.length);
    // An alarm outranks what is here.
    one.capture({ ...job(1, [item(0)]), lane: 'activity' });
    one.capture({ ...job(2, [item(0)]), lane: 'activity' });
    await expect.poll(() => ready).toBe(2);
    const before = await figures(one);
    one.capture({ ...job(3, [item(0)]), silent: true });
    await expect.poll(() => ready).toBe(3);
    // Their own room is used up as well.
    one.capture({ ...job(4, [item(0)]), silent: true });
    await expect.poll(() => outcomes.length).toBe(4);
    expect(outcomes[3]).toMatchObject({ seq: 4, state: 'failed' });
    expect([await figures(one), logged]).toEqual([before, []]);
    one.forget(['1-0.jpg', '2-0.jpg']);
    await expect.poll(() => one.health().facts).toMatchObject({ spoolBytes: 0 });
    for (const seq of [5, 6]) one.capture(job(seq, [item(0)]));
    await expect.poll(() => ready).toBe(5);
    expect(await metrics.metrics()).toContain('siteward_media_given_up_total 0');
    expect(outcomes.filter(({ state }) => state === 'failed')).toHaveLength(1);
  });

  it('leave the others all of the budget after a restart, too', async () => {
    for (const name of ['1-0.jpg', '2-0.jpg']) writeFileSync(join(dir, name), picture);
    planned = [
      row({ seq: 1, state: 'ready', file: '1-0.jpg', bytes: picture.length }),
      row({ seq: 2, state: 'ready', file: '2-0.jpg', bytes: picture.length, silent: true }),
    ];
    const one = await start(async () => picture, 2 * picture.length);
    await expect.poll(() => one.health().facts).toEqual({ spoolBytes: picture.length, waiting: 0 });
    one.capture(job(3, [item(0)]));
    await expect.poll(() => outcomes.length).toBe(1);
    expect(outcomes).toMatchObject([{ seq: 3, state: 'ready' }]);
    // Gone, it makes no room that was not there.
    await one.discard('2-0.jpg');
    one.capture(job(4, [item(0)]));
    await expect.poll(() => outcomes.length).toBe(3);
    expect(outcomes.map(({ seq, state }) => `${seq} ${state}`).sort()).toEqual(['1 failed', '3 ready', '4 ready']);
  });

  it('stand in no figure after a restart either, while those of others do', async () => {
    for (const name of ['1-0.jpg', '2-0.jpg', '3-0.jpg']) writeFileSync(join(dir, name), picture);
    planned = [
      row({ seq: 1, state: 'ready', file: '1-0.jpg', bytes: picture.length }),
      row({ seq: 2, state: 'ready', file: '2-0.jpg', bytes: picture.length, silent: true }),
      row({ seq: 3, silent: true }),
    ];
    const one = await start(async () => picture);
    await expect.poll(() => one.health().facts).toEqual({ spoolBytes: picture.length, waiting: 0 });
    expect(await metrics.metrics()).toContain(`siteward_media_spool_bytes ${picture.length}`);
    one.forget(['1-0.jpg']);
    await expect.poll(() => one.health().facts).toEqual({ spoolBytes: 0, waiting: 0 });
  });
});

describe('after a restart', () => {
  it('does not take a picture of this run for one that was left over, and takes it once', async () => {
    let asked = 0;
    // The event of the second row comes while the first is being looked at.
    planned = [row({ seq: 1, state: 'ready', file: '1-0.jpg', bytes: 9 }), row({ seq: 7 })];
    const one = await start(async () => {
      asked += 1;
      return Buffer.from(`picture ${asked}`);
    });
    one.capture(job(7, [item(0)]));
    await vi.waitFor(() => expect(one.health().facts).toMatchObject({ waiting: 0 }), 20_000);
    expect(asked).toBe(1);
    expect(outcomes.filter(({ seq }) => seq === 7)).toMatchObject([{ state: 'ready' }]);
    expect(readFileSync(one.path('7-0.jpg'), 'utf8')).toBe('picture 1');
  });

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

  it('removes half-written files and keeps the others, also those nobody refers to as long as their rows may come', async () => {
    for (const name of ['1-0.jpg', '2-0.jpg', '3-0.jpg.part', 'notes.txt']) writeFileSync(join(dir, name), 'x');
    planned = [row({ seq: 1, state: 'ready', file: '1-0.jpg', bytes: 1 })];
    await start(async () => picture);
    await expect.poll(() => readdirSync(dir)).toEqual(['1-0.jpg', '2-0.jpg']);
    expect(outcomes).toEqual([]);
  });

  it('clears away folders in place of files, and tidies the rest all the same', async () => {
    for (const name of ['7-0.jpg', '8-0.jpg.part', 'whatever']) {
      mkdirSync(join(dir, name));
      writeFileSync(join(dir, name, 'note'), 'of whoever made it');
    }
    writeFileSync(join(dir, '9-0.jpg'), picture);
    planned = [row({ seq: 7, state: 'ready', file: '7-0.jpg', bytes: 9 }), row({ seq: 9, eventWall: 0 })];
    await start(async () => picture);
    await expect.poll(() => outcomes.length).toBe(2);
    expect(outcomes).toMatchObject([
      { seq: 7, state: 'failed', reason: 'lost: the file is gone' },
      { seq: 9, state: 'ready' },
    ]);
    expect(readdirSync(dir)).toEqual(['9-0.jpg']);
  });

  it('makes its folder anew where a file stands in its place', async () => {
    rmSync(dir, { recursive: true });
    writeFileSync(dir, 'a file');
    const one = await start(async () => picture);
    one.capture(job(7, [item(0)]));
    await expect.poll(() => ready).toBe(1);
    rmSync(`${dir}.no-folder`);
  });

  it('counts no file that is forgotten while the folder is still being measured', async () => {
    const names = Array.from({ length: 50 }, (_, seq) => `${seq}-0.jpg`);
    for (const name of names) writeFileSync(join(dir, name), picture);
    const one = await start(async () => picture, picture.length);
    one.forget(names);
    await expect.poll(() => readdirSync(dir)).toEqual([]);
    one.capture(job(99, [item(0)]));
    await expect.poll(() => outcomes).toMatchObject([{ seq: 99, state: 'ready' }]);
  });

  it('says of a picture whose file is gone or has another size that it is lost', async () => {
    writeFileSync(join(dir, '2-0.jpg'), 'half');
    planned = [1, 2].map((seq) => row({ seq, state: 'ready', file: `${seq}-0.jpg`, bytes: 9 }));
    await start(async () => picture);
    await expect.poll(() => outcomes.length).toBe(2);
    expect(outcomes).toMatchObject([
      { seq: 1, state: 'failed', reason: 'lost: the file is gone' },
      { seq: 2, state: 'failed', reason: 'lost: the file has 4 bytes, not the 9 that were recorded' },
    ]);
    await expect.poll(() => readdirSync(dir)).toEqual([]);
  });

  it('adopts the whole file of a picture whose row was not written before the end, and takes none', async () => {
    writeFileSync(join(dir, '1-0.jpg'), 'a picture');
    writeFileSync(join(dir, '2-0.jpg'), '');
    planned = [row({ seq: 1, eventWall: 0 }), row({ seq: 2, eventWall: 0 })];
    await start(async () => {
      throw new Error('not asked');
    });
    await expect.poll(() => outcomes.length).toBe(2);
    const sha256 = createHash('sha256').update('a picture').digest('hex');
    expect(outcomes).toMatchObject([
      { seq: 1, state: 'ready', file: '1-0.jpg', bytes: 9, sha256, mime: 'image/jpeg' },
      { seq: 2, state: 'failed', reason: 'lost: the file is empty or gone' },
    ]);
    expect(ready).toBe(1);
  });

  it('removes a file nobody refers to once no row can come any more, and takes in one whose row has come', async () => {
    for (const name of ['1-0.jpg', '2-0.jpg', '3-0.jpg']) writeFileSync(join(dir, name), 'x');
    await start(async () => picture);
    await expect.poll(() => looks, { timeout: 20_000 }).toBeGreaterThan(1);
    expect(readdirSync(dir)).toEqual(['1-0.jpg', '2-0.jpg', '3-0.jpg']);
    expect(outcomes).toEqual([]);
    planned = [row({ seq: 2, state: 'ready', file: '2-0.jpg', bytes: 1 }), row({ seq: 3, eventWall: 0 })];
    isWhole = true;
    await expect.poll(() => readdirSync(dir), { timeout: 20_000 }).toEqual(['2-0.jpg', '3-0.jpg']);
    await expect.poll(() => outcomes).toMatchObject([{ seq: 3, state: 'ready' }]);
    expect(media?.health().facts).toMatchObject({ spoolBytes: 2 });
  });

  it.each([
    ['of a picture', '1-0.jpg', "write({ ...of, kind: 'snapshot' }, new Uint8Array(9))"],
    ['of a clip', '1-0.mp4', "take({ ...of, kind: 'short_mp4' }, (part) => writeFile(part, new Uint8Array(9)))"],
  ])('%s syncs the file, its name and the folder, in this order, before anything refers to it', (_what, name, call) => {
    const spool = join(import.meta.dirname, '..', '..', '..', 'src', 'devices', 'media', 'spool.ts');
    const script = join(dir, 'write.ts');
    const place = JSON.stringify(join(dir, 'state', 'spool'));
    writeFileSync(
      script,
      `import { writeFile } from 'node:fs/promises';
import { createSpool } from ${JSON.stringify(spool)};
const spool = createSpool({ dir: ${place}, budgetBytes: 1000, keepMs: 0, wall: Date.now });
await spool.open();
const of = { seq: 1, index: 0, lane: 'alarm' };
await spool.${call};
process.stderr.write('REFERRED');`,
    );
    const trace = join(dir, 'trace');
    const calls = 'trace=openat,mkdir,write,rename,fsync,fdatasync,pwrite64';
    execFileSync('strace', ['-f', '-qq', '-y', '-o', trace, '-e', calls, process.execPath, script], {
      stdio: 'ignore',
    });
    const lines = readFileSync(trace, 'utf8').split('\n');
    const at = (pattern: RegExp) => lines.findIndex((line) => pattern.test(line));
    const last = (pattern: RegExp) => lines.findLastIndex((line) => pattern.test(line));
    const order = [
      at(/fsync\(\d+<[^>]*\/state>/),
      at(new RegExp(`write\\(\\d+<[^>]*${name}\\.part>`)),
      at(new RegExp(`fsync\\(\\d+<[^>]*${name}\\.part>`)),
      at(new RegExp(`rename\\("[^"]*${name}\\.part"`)),
      last(/fsync\(\d+<[^>]*\/state\/spool>/),
      at(/REFERRED/),
    ];
    expect(order).not.toContain(-1);
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });
});
