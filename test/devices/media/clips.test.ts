import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Logger, pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, it, type TestContext } from 'vitest';
import { createClips } from '#devices/media/clips.ts';
import { createFfmpeg } from '#devices/media/ffmpeg.ts';
import type { ClipOrder } from '#devices/media/ports.ts';
import { createRings, type Rings } from '#devices/media/rings.ts';
import { SitewardError } from '#errors.ts';
import { systemClock } from '#lib/clock.ts';
import { readJpeg } from '#lib/jpeg.ts';
import { pictureNumbers, type RtspServer, type RtspServerOptions, startRtspServer } from '../../harness/rtsp-server.ts';

const clock = systemClock();
const fps = 10;

interface House {
  readonly clips: ReturnType<typeof createClips>;
  readonly rings: Rings;
  readonly metrics: Registry;
  camera: RtspServer;
  /** Whether a picture could go out, and how often that was asked. */
  mayKeep: boolean;
  looks: number;
  /** What stands in place of the camera's answer. */
  refusal: SitewardError | undefined;
  /** How often the camera was asked for its stream. */
  asked: number;
  /** Whether for a silent event, of each time. */
  readonly silent: unknown[];
  readonly dir: string;
  readonly file: string;
  order(startMono: number, endMono: number): ClipOrder;
  /** How far back the recording reaches, milliseconds. */
  reach(): number;
  /** The ffmpeg that reads the camera's stream. */
  readers(): number[];
  /** Polls; the machine may be busy with other tests. */
  soon(look: () => unknown): ReturnType<TestContext['expect']['poll']>;
}

async function start(
  test: TestContext,
  options: RtspServerOptions & {
    preRollMs?: number;
    budgetBytes?: number;
    program?: string;
    mayKeep?: boolean;
    log?: Logger;
  } = {},
): Promise<House> {
  const { preRollMs, budgetBytes = 10_000_000, program = 'ffmpeg', mayKeep = true, ...more } = options;
  const { log = pino({ level: 'silent' }), ...server } = more;
  const dir = mkdtempSync(join(tmpdir(), 'siteward-clips-'));
  const file = join(dir, 'clip.mp4.part');
  const camera = await startRtspServer({ fps, keyFrameEvery: 10, ...server });
  const ffmpeg = createFfmpeg({ processes: 2, program });
  const metrics = new Registry();
  const rings = createRings({
    preRollMs: new Map(preRollMs === undefined ? [] : [['yard', preRollMs]]),
    budgetBytes,
    mayKeep() {
      house.looks += 1;
      return house.mayKeep ? ['yard'] : [];
    },
    streams: {
      async read(_, _signal, work, ask) {
        house.asked += 1;
        house.silent.push(ask?.silent);
        if (house.refusal !== undefined) throw house.refusal;
        return work(camera.url);
      },
    },
    ffmpeg,
    clock,
    log,
    metrics,
  });
  const house: House = {
    ...{ clips: createClips({ rings, ffmpeg, clock }), rings, metrics, camera, dir, file },
    ...{ mayKeep, looks: 0, refusal: undefined, asked: 0, silent: [] },
    order: (startMono, endMono) => ({ camera: 'yard', startMono, endMono, to: file, maxBytes: 10_000_000 }),
    reach() {
      const now = clock.monotonic();
      return now - (rings.footage('yard', 0, now)?.startMono ?? now);
    },
    readers: () => readersOf(camera.port),
    soon: (look) => test.expect.poll(look, { timeout: 30_000 }),
  };
  test.onTestFinished(async () => {
    await rings.stop();
    await house.camera.stop();
    rmSync(dir, { recursive: true, force: true });
    expect(house.readers()).toEqual([]);
  });
  await rings.start(never());
  return house;
}

function readersOf(port: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(`:${port}/cam\0`);
      } catch {
        return false;
      }
    })
    .map(Number);
}

const never = () => new AbortController().signal;

/** What stands in place of ffmpeg. */
function stub(test: TestContext, script: string): string {
  const program = join(mkdtempSync(join(tmpdir(), 'siteward-stub-')), 'ffmpeg');
  test.onTestFinished(() => rmSync(dirname(program), { recursive: true }));
  writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  return program;
}

interface Probed {
  readonly streams: { codec_name: string; codec_tag_string: string; duration: string }[];
  readonly packets: { flags: string; pts_time: string }[];
}

async function probe(file: string): Promise<Probed> {
  const shown = ['-show_entries', 'stream=codec_name,codec_tag_string,duration:packet=flags,pts_time', '-of', 'json'];
  const { stdout } = await promisify(execFile)('ffprobe', ['-v', 'error', ...shown, file]);
  return JSON.parse(stdout);
}

describe.concurrent('a clip', () => {
  it.for([
    ['h264', 'h264', 'avc1'],
    ['h265', 'hevc', 'hvc1'],
  ] as const)('of %s shows the time after its event where no ring is kept', async ([codec, named, tag], test) => {
    const house = await start(test, { codec, audio: true });
    const now = clock.monotonic();
    const first = house.camera.numberNow();
    const { startedMono } = await house.clips.clip(house.order(now, now + 6000), never());
    const last = house.camera.numberNow();
    expect(statSync(house.file).mode & 0o777).toBe(0o600);
    const { streams, packets } = await probe(house.file);
    expect(streams).toMatchObject([{ codec_name: named, codec_tag_string: tag }]);
    expect(packets[0]).toMatchObject({ flags: expect.stringMatching(/^K/) });
    expect(Number(streams[0]?.duration)).toBeGreaterThan(1);
    expect(Number(streams[0]?.duration)).toBeLessThan(7);
    const numbers = await pictureNumbers(house.file);
    expect(numbers[0]).toBeGreaterThanOrEqual(first);
    expect(numbers.at(-1)).toBeLessThanOrEqual(last);
    expect(startedMono).toBeGreaterThan(now);
    // Nothing records the camera once its clip is made.
    await house.soon(house.readers).toEqual([]);
  });

  it('begins with a key frame before its pre-roll and shows the moment of its event', async (test) => {
    const house = await start(test, { preRollMs: 3000, keyFrameEvery: 20 });
    await house.soon(house.reach).toBeGreaterThan(3000);
    const now = clock.monotonic();
    const event = house.camera.numberNow();
    const { startedMono } = await house.clips.clip(house.order(now - 3000, now + 2000), never());
    expect(startedMono).toBeLessThanOrEqual(now - 3000);
    const { packets } = await probe(house.file);
    expect(packets[0]).toMatchObject({ flags: expect.stringMatching(/^K/) });
    const numbers = await pictureNumbers(house.file);
    expect(numbers[0]).toBeLessThanOrEqual(event - 3 * fps);
    expect(numbers.at(-1)).toBeGreaterThan(event);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  });

  it('goes on over a break of the stream, here an ffmpeg that was killed', async (test) => {
    const house = await start(test, { preRollMs: 2000 });
    await house.soon(house.reach).toBeGreaterThan(1500);
    const now = clock.monotonic();
    const event = house.camera.numberNow();
    const clip = house.clips.clip(house.order(now - 1000, now + 6000), never());
    const [reader = 0] = house.readers();
    process.kill(reader, 'SIGKILL');
    await clip;
    expect(house.asked).toBe(2);
    const numbers = await pictureNumbers(house.file);
    expect(numbers[0]).toBeLessThan(event);
    // The picture after the break is that of another ffmpeg, half a second later at the soonest.
    expect(numbers.some((number, i) => number - (numbers[i - 1] ?? number) >= fps / 2)).toBe(true);
    expect(await house.metrics.metrics()).toContain('siteward_ring_breaks_total{camera="yard",code="stream_failed"} 1');
    expect(house.rings.health()).toMatchObject({ state: 'ok' });
  });

  it('has no more bytes than it may', async (test) => {
    const house = await start(test, { preRollMs: 5000 });
    await house.soon(house.reach).toBeGreaterThan(5000);
    const now = clock.monotonic();
    await house.clips.clip({ ...house.order(now - 5000, now), maxBytes: 15_000 }, never());
    expect(statSync(house.file).size).toBeLessThan(20_000);
    expect((await pictureNumbers(house.file)).length).toBeGreaterThan(0);
  });

  it('cannot be made of a stream without key frames', async (test) => {
    const house = await start(test, { keyFrames: false });
    const now = clock.monotonic();
    await expect(house.clips.clip(house.order(now, now + 4000), never())).rejects.toMatchObject({
      code: 'stream_failed',
      message: expect.stringContaining('no key frame'),
    });
  });

  it('tells why there is none: the camera, the password, the tool', async (test) => {
    const house = await start(test, { program: 'no-such-ffmpeg' });
    const soonOver = () => house.order(clock.monotonic(), clock.monotonic() + 3000);
    await expect(house.clips.clip(soonOver(), never())).rejects.toMatchObject({ code: 'media_tool_missing' });
    house.refusal = new SitewardError('camera_unreachable', 'nobody is there');
    house.asked = 0;
    await expect(house.clips.clip(soonOver(), never())).rejects.toBe(house.refusal);
    expect(house.asked).toBeGreaterThan(1);
    house.refusal = new SitewardError('camera_auth', 'the password was refused');
    house.asked = 0;
    await expect(house.clips.clip(soonOver(), never())).rejects.toBe(house.refusal);
    // Another try could lock the account.
    expect(house.asked).toBe(1);
  });

  it('is for so many cameras at a time, and ends with its signal', async (test) => {
    const house = await start(test);
    const abort = new AbortController();
    const now = clock.monotonic();
    const others = Array.from({ length: 8 }, (_, i) =>
      house.clips
        .clip({ ...house.order(now, now + 60_000), camera: `c${i}` }, abort.signal)
        .catch((error: unknown) => error),
    );
    await expect(house.clips.clip(house.order(now, now + 1000), never())).rejects.toMatchObject({ code: 'queue_full' });
    abort.abort(new SitewardError('stopped', 'media is stopping'));
    for (const other of others) expect(await other).toMatchObject({ code: 'stopped' });
    await house.soon(house.readers).toEqual([]);
  });

  it('shows in no metric and no health where no ring is kept: it may be of a silent event', async (test) => {
    const house = await start(test, { preRollMs: 1000 });
    house.mayKeep = false;
    house.rings.review();
    const now = clock.monotonic();
    const clip = house.clips.clip(house.order(now, now + 4000), never());
    await house.soon(house.reach).toBeGreaterThan(0);
    for (const pid of house.readers()) process.kill(pid, 'SIGKILL');
    await clip;
    expect(await house.metrics.metrics()).not.toContain('yard');
    // The first was for the ring.
    expect([...new Set(house.silent)]).toEqual([false, true]);
    expect(house.rings.health()).toEqual({ state: 'ok', facts: { rings: 0, keyFrames: '' } });
  });
});

describe.concurrent('a ring', () => {
  it('is looked for where a camera has a pre-roll, and nowhere else: that is done at each change of the site', async (test) => {
    const [without, withRing] = [await start(test), await start(test, { preRollMs: 1000, mayKeep: false })];
    const before = withRing.looks;
    for (const { rings } of [without, withRing]) rings.review();
    expect([without.looks, withRing.looks]).toEqual([0, before + 1]);
  });

  it('is kept only while a picture could go out, and longer for a clip alone', async (test) => {
    const house = await start(test, { preRollMs: 1000, mayKeep: false });
    expect(house.readers()).toEqual([]);
    house.mayKeep = true;
    house.rings.review();
    await house.soon(house.reach).toBeGreaterThan(1000);
    const now = clock.monotonic();
    const clip = house.clips.clip(house.order(now - 1000, now + 1500), never());
    house.mayKeep = false;
    house.rings.review();
    expect((await clip).startedMono).toBeLessThanOrEqual(now - 1000);
    expect(house.rings.footage('yard', 0, clock.monotonic())).toBeUndefined();
    await house.soon(house.readers).toEqual([]);
  });

  it('comes back after a camera that hung and one that went away, and says what was wrong', async (test) => {
    const house = await start(test, { preRollMs: 1000 });
    await house.soon(house.reach).toBeGreaterThan(0);
    house.camera.freeze();
    await house.soon(() => house.rings.health().state).toBe('degraded');
    house.camera.thaw();
    await house.soon(() => house.rings.health().state).toBe('ok');
    const { port } = house.camera;
    await house.camera.stop();
    await house.soon(() => house.rings.health().reason).toMatch(/^yard: /);
    house.camera = await startRtspServer({ port, fps });
    await house.soon(() => house.rings.health().state).toBe('ok');
  });

  it('holds no more bytes than it may: the oldest give way', async (test) => {
    const house = await start(test, { preRollMs: 30_000, budgetBytes: 20_000 });
    const first = house.camera.numberNow();
    await house.soon(() => house.camera.numberNow() - first).toBeGreaterThan(6 * fps);
    const text = await house.metrics.metrics();
    const bytes = Number(/siteward_ring_bytes\{camera="yard"\} (\d+)/.exec(text)?.[1]);
    expect(bytes).toBeLessThanOrEqual(20_000);
    expect(bytes).toBeGreaterThan(5000);
    expect(text).toMatch(/siteward_ring_key_frame_seconds\{camera="yard"\} [01]\.\d/);
  });

  it('shows nothing of the camera that was read before other settings', async (test) => {
    const house = await start(test, { preRollMs: 20_000 });
    await house.soon(house.reach).toBeGreaterThan(1000);
    house.refusal = new SitewardError('stopped', 'the cameras are stopped');
    for (const pid of house.readers()) process.kill(pid, 'SIGKILL');
    await house.soon(house.reach).toBe(0);
  });

  it('is asked for anew at an alarm, but not with a password that was refused, and with other settings in any case', async (test) => {
    const house = await start(test, { preRollMs: 1000, mayKeep: false });
    const later = () => new Promise((resolve) => setImmediate(resolve));
    house.refusal = new SitewardError('camera_unreachable', 'nobody is there');
    house.mayKeep = true;
    house.rings.review();
    await house.soon(() => house.rings.health().reason).toBeDefined();
    await later();
    for (const code of ['camera_unreachable', 'camera_auth'] as const) {
      house.refusal = new SitewardError(code, 'no stream');
      const { asked } = house;
      house.rings.hold('yard', 0).release();
      await later();
      expect(house.asked).toBe(asked + 1);
    }
    const { asked } = house;
    house.rings.hold('yard', 0).release();
    await later();
    expect(house.asked).toBe(asked);
    house.refusal = undefined;
    house.rings.retry();
    await house.soon(() => house.rings.health().state).toBe('ok');
  });

  it('takes no place of a working camera while it has no stream: eight at a time are recorded for clips alone', async (test) => {
    const house = await start(test);
    const cameras = (word: string) => Array.from({ length: 8 }, (_, n) => `${word}-${n}`);
    house.refusal = new SitewardError('camera_unreachable', 'nobody is there');
    const dead = cameras('dead').map((id) => house.rings.hold(id, 0));
    await house.soon(() => dead.filter(({ failure }) => failure !== undefined).length).toBe(8);
    house.refusal = undefined;
    for (const id of cameras('well')) house.rings.hold(id, 0);
    expect(() => house.rings.hold('one-more', 0)).toThrow('clips of 8 cameras are being made already');
  });

  it('is taken up ever later, and told of once, where the stream breaks off after each key frame', async (test) => {
    const program = stub(
      test,
      'exec ffmpeg -v error -f lavfi -i testsrc=size=64x48:rate=10 -t 1 -c:v libx264 -preset ultrafast -f mpegts pipe:1',
    );
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const house = await start(test, { preRollMs: 5000, program, log });
    const asks: number[] = [];
    for (let time = 1; time <= 4; time += 1) {
      await house.soon(() => house.asked).toBe(time);
      asks.push(clock.monotonic());
    }
    expect(house.rings.footage('yard', 0, clock.monotonic())).toBeDefined();
    expect(Number(asks[3]) - Number(asks[2])).toBeGreaterThan(1900);
    expect(lines).toHaveLength(1);
  });

  it('gives the picture of a moment that is past', async (test) => {
    const house = await start(test, { preRollMs: 2000, keyFrameEvery: 40 });
    await house.soon(house.reach).toBeGreaterThan(2000);
    const event = house.camera.numberNow();
    const { bytes } = await house.clips.frame('yard', clock.monotonic() - 1000, never());
    const file = join(house.dir, 'frame.jpg');
    writeFileSync(file, bytes);
    const [number = 0] = await pictureNumbers(file);
    expect(number).toBeLessThanOrEqual(event - fps + 2);
    expect(number).toBeGreaterThan(event - 4 * fps);
    await expect(house.clips.frame('yard', clock.monotonic() + 60_000, never())).rejects.toMatchObject({
      code: 'stream_failed',
    });
  });

  it('gives the last picture where the camera shows few or none has come since', async (test) => {
    const house = await start(test, { preRollMs: 10_000, fps: 2, keyFrameEvery: 4 });
    await house.soon(house.reach).toBeGreaterThan(3000);
    house.camera.freeze();
    const { bytes } = await house.clips.frame('yard', clock.monotonic() + 900, never());
    expect(readJpeg(bytes)).toMatchObject({ width: 320 });
  });

  it('that cannot be decoded gives no picture', async (test) => {
    // As ffmpeg does where nothing comes out.
    const program = stub(test, 'case "$*" in *mjpeg*) exit 0;; *) exec ffmpeg "$@";; esac');
    const house = await start(test, { preRollMs: 2000, program });
    await house.soon(house.reach).toBeGreaterThan(2000);
    await expect(house.clips.frame('yard', clock.monotonic() - 1000, never())).rejects.toMatchObject({
      code: 'stream_failed',
      message: expect.stringContaining('no picture'),
    });
  });

  it('knows of each picture when it came: ffmpeg looks at no stream for seconds, to give all of it at once', async (test) => {
    const house = await start(test, { preRollMs: 20_000, fps: 5, keyFrameEvery: 25 });
    await house.soon(house.reach).toBeGreaterThan(300);
    const { startMono = 0 } = house.rings.footage('yard', 0, clock.monotonic()) ?? {};
    expect(house.rings.pictureAt('yard', startMono + 300)?.number).toBeLessThan(8);
  });
});
