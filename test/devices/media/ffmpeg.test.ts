import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFfmpeg } from '#devices/media/ffmpeg.ts';
import { SitewardError } from '#errors.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-ffmpeg-'));
});

afterEach(() => {
  // Of a test that failed.
  for (const pid of running()) process.kill(pid, 'SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

/** The machine may be busy with other tests. */
const soon = <T>(look: () => T) => expect.poll(look, { timeout: 20_000 });
const never = () => new AbortController().signal;
const pattern = ['-re', '-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=10'];
/** Without an end; the name of the file tells its process from others. */
const endless = (name: string) => [...pattern, '-f', 'rawvideo', '-y', join(dir, name)];
const oneFrame = [...pattern, '-frames:v', '1', '-f', 'image2', '-c:v', 'mjpeg', '-'];

/** The processes that work in this test's folder. */
function running(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(dir);
      } catch {
        return false;
      }
    })
    .map(Number);
}

describe('ffmpeg', () => {
  it('gives what was written to its output', async () => {
    const picture = await createFfmpeg({ processes: 1 }).run(
      { kind: 'frame', args: oneFrame, deadlineMs: 30_000, maxBytes: 100_000 },
      never(),
    );
    expect(picture.subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]));
  });

  it('is ended where it writes more than was allowed', async () => {
    const work = { kind: 'frame' as const, args: oneFrame, deadlineMs: 30_000, maxBytes: 100 };
    await expect(createFfmpeg({ processes: 1 }).run(work, never())).rejects.toMatchObject({ code: 'stream_failed' });
  });

  it('says how to get it where it is missing', async () => {
    const ffmpeg = createFfmpeg({ processes: 1, program: 'no-such-ffmpeg' });
    const work = { kind: 'clip' as const, args: oneFrame, deadlineMs: 30_000 };
    for (const gone of [ffmpeg.run(work, never()), ffmpeg.follow(oneFrame, () => undefined, never())])
      await expect(gone).rejects.toMatchObject({
        code: 'media_tool_missing',
        message: expect.stringContaining('apt-get install ffmpeg'),
      });
  });

  it('fails with its last words, and tells no address', async () => {
    const args = ['-rtsp_transport', 'tcp', '-i', 'rtsp://127.0.0.1:9/unguessable-path', '-f', 'null', '-'];
    const error = await createFfmpeg({ processes: 1 })
      .run({ kind: 'clip', args, deadlineMs: 30_000 }, never())
      .catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'stream_failed', message: expect.stringContaining('Connection refused') });
    expect(String(error)).not.toContain('unguessable');
    expect(String(error)).not.toContain('0x');
  });

  it('runs behind the daemon, and is gone after its deadline and after an abort', async () => {
    const ffmpeg = createFfmpeg({ processes: 1 });
    const late = ffmpeg.run({ kind: 'clip', args: endless('late'), deadlineMs: 4000 }, never());
    await soon(running).toHaveLength(1);
    const [pid] = running();
    // Counted behind the name of the program, which ends with the last bracket.
    const nice = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[16];
    await soon(nice).toBe('10');
    expect(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8')).toBe('500\n');
    await expect(late).rejects.toMatchObject({ code: 'deadline' });
    await soon(running).toEqual([]);

    const abort = new AbortController();
    const stopped = ffmpeg.follow(endless('stopped'), () => undefined, abort.signal);
    await soon(running).toHaveLength(1);
    abort.abort(new SitewardError('stopped', 'media is stopping'));
    await expect(stopped).rejects.toMatchObject({ code: 'stopped' });
    expect(running()).toEqual([]);
  });

  it('reads what it is given, and tells what it writes at once, and that it was killed', async () => {
    const ffmpeg = createFfmpeg({ processes: 1 });
    const picture = await ffmpeg.run({ kind: 'frame', args: oneFrame, deadlineMs: 30_000, maxBytes: 100_000 }, never());
    const again = ['-f', 'mjpeg', '-i', 'pipe:0', '-c', 'copy', '-f', 'mjpeg', 'pipe:1'];
    const work = { kind: 'frame' as const, args: again, deadlineMs: 30_000, maxBytes: 100_000 };
    const copied = await ffmpeg.run({ ...work, input: [picture.subarray(0, 100), picture.subarray(100)] }, never());
    expect(copied).toEqual(picture);

    let bytes = 0;
    const count = (chunk: Buffer) => {
      bytes += chunk.length;
    };
    const args = [...endless('known by its name'), '-f', 'mjpeg', 'pipe:1'];
    const end = ffmpeg.follow(args, count, never()).catch((failure: unknown) => failure);
    await soon(() => bytes).toBeGreaterThan(0);
    for (const pid of running()) process.kill(pid, 'SIGKILL');
    expect(await end).toMatchObject({ code: 'stream_failed', message: expect.stringContaining('SIGKILL') });
  });

  it('lets no picture wait for clips', async () => {
    const ffmpeg = createFfmpeg({ processes: 2 });
    const abort = new AbortController();
    const clips = ['one', 'two'].map((name) =>
      ffmpeg
        .run({ kind: 'clip', args: endless(name), deadlineMs: 30_000 }, abort.signal)
        .catch((failure: unknown) => failure),
    );
    await soon(() => readdirSync(dir)).toHaveLength(2);
    for (const kind of ['still', 'frame'] as const)
      expect(await ffmpeg.run({ kind, args: oneFrame, deadlineMs: 20_000, maxBytes: 100_000 }, never())).toBeDefined();
    abort.abort(new SitewardError('stopped', 'media is stopping'));
    for (const clip of clips) expect(await clip).toMatchObject({ code: 'stopped' });
  });

  it('lets no more run at once than it may; the others wait in line', async () => {
    const ffmpeg = createFfmpeg({ processes: 1 });
    const abort = new AbortController();
    const clip = (name: string, signal: AbortSignal) =>
      ffmpeg
        .run({ kind: 'clip', args: endless(name), deadlineMs: 30_000 }, signal)
        .catch((failure: unknown) => failure);
    const files = () => readdirSync(dir);
    const first = clip('first', abort.signal);
    await soon(files).toEqual(['first']);
    const unwanted = new AbortController();
    const gaveUp = clip('gave up', unwanted.signal);
    const second = clip('second', abort.signal);
    unwanted.abort(new SitewardError('stopped', 'no longer wanted'));
    expect(await gaveUp).toMatchObject({ code: 'stopped' });
    expect(files()).toEqual(['first']);
    for (const pid of running()) process.kill(pid, 'SIGKILL');
    expect(await first).toMatchObject({ code: 'stream_failed' });
    await soon(files).toEqual(['first', 'second']);
    abort.abort(new SitewardError('stopped', 'media is stopping'));
    expect(await second).toMatchObject({ code: 'stopped' });
    await soon(running).toEqual([]);
  });
});
