import { describe, SitewardError } from '#errors.ts';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import { readJpeg } from '#lib/jpeg.ts';
import { withDeadline } from '#lib/wait.ts';
import { maxFrameBytes, oneJpeg } from './clips.ts';
import type { Ffmpeg } from './ffmpeg.ts';
import type { Picture, PictureSource, StreamSource } from './ports.ts';

/** A camera that shows no picture by then leaves time for one from its stream (bug 56). */
const patienceMs = 5000;
/** For the connection and the wait for a key frame. */
const frameDeadlineMs = 10_000;
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

  async function ofStream(camera: string, signal: AbortSignal): Promise<Picture> {
    const bytes = await streams.read(camera, signal, (url) => {
      const args = [...nextKeyFrame(url), ...oneJpeg];
      return ffmpeg.run({ kind: 'frame', args, deadlineMs: frameDeadlineMs, maxBytes: maxFrameBytes }, signal);
    });
    const jpeg = readJpeg(bytes);
    if (typeof jpeg === 'string') throw new SitewardError('stream_failed', `The stream showed no picture: ${jpeg}`);
    return { bytes, mime: 'image/jpeg' };
  }

  async function inTurn(camera: string, signal: AbortSignal): Promise<Picture> {
    try {
      return await withDeadline(patienceMs, signal, (own) => pictures.snapshot(camera, own), 'the picture');
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SitewardError) || !passing.has(error.code)) throw error;
      // Before it is known to work: who has no time left for it now asks it first next time.
      streamFirst.set(camera, clock.monotonic() + rememberedMs);
      return await ofStream(camera, signal).catch((other: unknown) => {
        signal.throwIfAborted();
        streamFirst.delete(camera);
        throw neither(error, other);
      });
    }
  }

  return {
    async snapshot(camera, signal) {
      if ((streamFirst.get(camera) ?? 0) <= clock.monotonic()) return inTurn(camera, signal);
      try {
        return await ofStream(camera, signal);
      } catch {
        signal.throwIfAborted();
        streamFirst.delete(camera);
        return pictures.snapshot(camera, signal);
      }
    },
  };
}

const neither = ({ code, message, facts, cause }: SitewardError, other: unknown) =>
  new SitewardError(code, `${message}; nor does its stream show a picture: ${describe(other)}`, { facts, cause });

/** Only whole pictures are decoded: what builds on one that was not seen is grey. */
const nextKeyFrame = (url: string): readonly string[] => [
  ...['-rtsp_transport', 'tcp', '-analyzeduration', '500000', '-fpsprobesize', '0', '-skip_frame', 'nokey'],
  ...['-i', url, '-map', '0:v:0'],
];
