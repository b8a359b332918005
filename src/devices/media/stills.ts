import { describe, SitewardError } from '#errors.ts';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import { unlessAborted, withDeadline } from '#lib/wait.ts';
import type { Ffmpeg } from './ffmpeg.ts';
import { oneJpeg, rtspInput } from './frame.ts';
import type { Ask, Picture, PictureSource, StreamSource } from './ports.ts';

/** A camera that shows no picture by then, once it is asked, leaves time for one from its stream (bug 56). */
const patienceMs = 5000;
/** Where the stream is asked first it leaves time for the camera's own. */
const streamPatienceMs = 8000;
const rememberedMs = 3_600_000;
const camerasCap = 1024;

/** After these the stream may still show what the camera's picture does not; a wrong password is wrong for both. */
const passing: ReadonlySet<string> = new Set([
  'camera_bad_answer',
  'camera_fault',
  'camera_unreachable',
  'picture_invalid',
  'deadline',
]);

/**
 * Pictures of cameras, by way of their streams where cameras serve none: many do only in theory. Which way worked is
 * remembered for an hour, so that not every alarm waits for the other.
 */
export function createStills(options: {
  pictures: PictureSource;
  streams: StreamSource;
  ffmpeg: Ffmpeg;
  clock: Clock;
}): PictureSource {
  const { pictures, streams, ffmpeg, clock } = options;
  /** Until when the stream of a camera is asked first. */
  const streamFirst = new BoundedMap<string, number>(camerasCap);

  /** Only whole pictures are decoded: what builds on one that was not seen is grey. */
  function ofStream(camera: string, signal: AbortSignal, ask: Ask): Promise<Picture> {
    const args = (url: string) => ['-skip_frame', 'nokey', ...rtspInput(url)];
    const work = (url: string) => oneJpeg(ffmpeg, { kind: 'still', args: args(url) }, signal);
    return streams.read(camera, signal, work, ask);
  }

  /** Who waits in the line of a recorder is not given up: its picture does not come sooner another way. */
  async function ofCamera(camera: string, signal: AbortSignal, ask: Ask): Promise<Picture> {
    const impatient = new AbortController();
    const both = AbortSignal.any([signal, impatient.signal]);
    const leave = () => impatient.abort(new SitewardError('deadline', `no picture came within ${patienceMs} ms`));
    let timer: NodeJS.Timeout | undefined;
    const onTurn = () => {
      if (!both.aborted) timer ??= setTimeout(leave, patienceMs);
    };
    try {
      return await unlessAborted(pictures.snapshot(camera, both, { ...ask, onTurn }), both);
    } finally {
      clearTimeout(timer);
    }
  }

  async function inTurn(camera: string, signal: AbortSignal, ask: Ask): Promise<Picture> {
    try {
      return await ofCamera(camera, signal, ask);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SitewardError) || !passing.has(error.code)) throw error;
      // Before it is known to work: who has no time left for it now asks it first next time.
      streamFirst.set(camera, clock.monotonic() + rememberedMs);
      return await ofStream(camera, signal, ask).catch((other: unknown) => {
        signal.throwIfAborted();
        streamFirst.delete(camera);
        throw neither(error, other);
      });
    }
  }

  return {
    async snapshot(camera, signal, ask = {}) {
      if ((streamFirst.get(camera) ?? 0) <= clock.monotonic()) return inTurn(camera, signal, ask);
      try {
        return await withDeadline(streamPatienceMs, signal, (own) => ofStream(camera, own, ask), 'the picture');
      } catch {
        // First of all: who has no time left for the other way must not leave this one to the next.
        streamFirst.delete(camera);
        signal.throwIfAborted();
        return pictures.snapshot(camera, signal, ask);
      }
    },
  };
}

const neither = ({ code, message, facts, cause }: SitewardError, other: unknown) =>
  new SitewardError(code, `${message}; nor does its stream show a picture: ${describe(other)}`, { facts, cause });
