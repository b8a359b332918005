import { describe, expect, it, onTestFinished } from 'vitest';
import { createFfmpeg } from '#devices/media/ffmpeg.ts';
import type { Picture } from '#devices/media/ports.ts';
import { createStills } from '#devices/media/stills.ts';
import { type ErrorCode, SitewardError } from '#errors.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { readJpeg } from '#lib/jpeg.ts';
import { never, sleep } from '#lib/wait.ts';
import { type RtspServerOptions, startRtspServer } from '../../harness/rtsp-server.ts';

const served: Picture = { bytes: Uint8Array.of(1), mime: 'image/jpeg' };
const failure = (code: ErrorCode) => new SitewardError(code, `the words of ${code}`);

/** A camera with a real stream, whose pictures come or fail as `answer` says. */
async function yard(options: { stream?: RtspServerOptions | ErrorCode; program?: string } = {}) {
  const { stream = {}, program = 'ffmpeg' } = options;
  const server = typeof stream === 'string' ? undefined : await startRtspServer(stream);
  if (server !== undefined) onTestFinished(() => server.stop());
  const clock = manualClock();
  const asked: string[] = [];
  /** What each of them was told. */
  const told: unknown[] = [];
  const house = {
    answer: async (_signal: AbortSignal): Promise<Picture> => served,
    /** Until the device is asked. */
    line: Promise.resolve(),
  };
  const stills = createStills({
    pictures: {
      async snapshot(_, signal, ask) {
        asked.push('picture');
        told.push(ask?.silent);
        await house.line;
        ask?.onTurn?.();
        return house.answer(signal);
      },
    },
    streams: {
      async read(_camera, _signal, work, ask) {
        asked.push('stream');
        told.push(ask?.silent);
        if (server === undefined) throw failure(stream as ErrorCode);
        return work(server.url);
      },
    },
    ffmpeg: createFfmpeg({ processes: 1, program }),
    clock,
  });
  return {
    ...{ house, asked, told, clock, endStream: async () => server?.stop() },
    take: (signal = never(), silent = false) => stills.snapshot('yard', signal, { silent }),
    refuse(code: ErrorCode) {
      house.answer = async () => {
        throw failure(code);
      };
    },
  };
}

describe('a picture', () => {
  it('is the one the camera serves, as long as it serves one', async () => {
    const { take, asked } = await yard();
    expect(await take()).toBe(served);
    expect(asked).toEqual(['picture']);
  });

  it.each(['camera_bad_answer', 'camera_fault', 'camera_unreachable', 'picture_invalid', 'deadline'] as const)(
    'is one of the stream after %s, and for an hour the stream is asked first',
    async (code) => {
      const { take, asked, clock, refuse, house } = await yard();
      refuse(code);
      expect(readJpeg((await take()).bytes)).toMatchObject({ width: 320, height: 240 });
      clock.advance(3_599_000);
      await take();
      expect(asked).toEqual(['picture', 'stream', 'stream']);
      clock.advance(2000);
      house.answer = async () => served;
      expect(await take()).toBe(served);
    },
  );

  it('is one of the stream where the camera hangs', async () => {
    const { take, house } = await yard({ stream: { codec: 'h265' } });
    house.answer = () => new Promise(() => undefined);
    expect(readJpeg((await take()).bytes)).toMatchObject({ width: 320 });
  });

  it('of a silent event is asked for as such in every way', async () => {
    const { take, asked, told, refuse, endStream } = await yard();
    refuse('picture_invalid');
    await take(never(), true);
    await endStream();
    await take(never(), true).catch(() => undefined);
    expect(asked).toEqual(['picture', 'stream', 'stream', 'picture']);
    expect(told).toEqual([true, true, true, true]);
  });

  it('that has waited in the line of a recorder is not given up for it', async () => {
    const { take, asked, house } = await yard({ stream: 'camera_unreachable' });
    house.line = sleep(5500, never());
    expect(await take()).toBe(served);
    expect(asked).toEqual(['picture']);
  });

  it('comes from neither after a wrong password', async () => {
    const { take, asked, refuse } = await yard();
    refuse('camera_auth');
    await expect(take()).rejects.toMatchObject({ code: 'camera_auth' });
    expect(asked).toEqual(['picture']);
  });

  it('that both refuse is told with the reasons of both, and is asked for anew', async () => {
    const { take, asked, refuse } = await yard({ stream: 'camera_auth' });
    refuse('camera_bad_answer');
    const words = 'the words of camera_bad_answer; nor does its stream show a picture: the words of camera_auth';
    for (let time = 0; time < 2; time += 1)
      await expect(take()).rejects.toMatchObject({ code: 'camera_bad_answer', message: words });
    expect(asked).toEqual(['picture', 'stream', 'picture', 'stream']);
  });

  it('is the one the camera serves where the stream has ceased', async () => {
    const { take, asked, refuse, house, endStream } = await yard();
    refuse('picture_invalid');
    await take();
    house.answer = async () => served;
    await endStream();
    expect(await take()).toBe(served);
    expect(asked).toEqual(['picture', 'stream', 'stream', 'picture']);
  });

  it('names the missing ffmpeg', async () => {
    const { take, refuse } = await yard({ program: 'no-such-ffmpeg' });
    refuse('camera_bad_answer');
    await expect(take()).rejects.toThrow('apt-get install ffmpeg');
  });

  it('comes from the camera again where the stream hangs after one bad picture', async () => {
    const { take, asked, refuse, house } = await yard({ stream: { keyFrames: false } });
    refuse('picture_invalid');
    const soonGone = () => AbortSignal.timeout(300);
    await expect(take(soonGone())).rejects.toThrow();
    house.answer = async () => served;
    await expect(take(soonGone())).rejects.toThrow();
    expect(await take()).toBe(served);
    expect(asked).toEqual(['picture', 'stream', 'stream', 'picture']);
  });

  it('comes from the camera in the same turn where the stream, asked first, shows none', async () => {
    const { take, refuse, house } = await yard({ stream: { keyFrames: false } });
    refuse('picture_invalid');
    await expect(take(AbortSignal.timeout(300))).rejects.toThrow();
    house.answer = async () => served;
    // As long as who asks has time for a picture.
    expect(await take(AbortSignal.timeout(9800))).toBe(served);
  });

  it('is not waited for by who has left, and the next time the stream is asked first', async () => {
    const { take, asked, house } = await yard({ stream: { keyFrames: false } });
    const leave = new AbortController();
    house.answer = async () => {
      setTimeout(() => leave.abort(failure('stopped')), 300);
      throw failure('picture_invalid');
    };
    await expect(take(leave.signal)).rejects.toMatchObject({ code: 'stopped' });
    await take(AbortSignal.timeout(300)).catch(() => undefined);
    expect(asked).toEqual(['picture', 'stream', 'stream']);
  });
});
