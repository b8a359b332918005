import { open } from 'node:fs/promises';
import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { sleep } from '#lib/wait.ts';
import type { Ffmpeg } from './ffmpeg.ts';
import { oneJpeg } from './frame.ts';
import type { ClipSource, FrameSource } from './ports.ts';
import type { Footage } from './ring.ts';
import type { Rings } from './rings.ts';

const clipDeadlineMs = 60_000;

/** Clips, and pictures of moments that are past, of what is recorded in memory. */
export function createClips(options: { rings: Rings; ffmpeg: Ffmpeg; clock: Clock }): ClipSource & FrameSource {
  const { rings, ffmpeg, clock } = options;

  return {
    async clip({ camera, startMono, endMono, to, maxBytes }, signal) {
      const hold = rings.hold(camera, startMono);
      try {
        await sleep(Math.max(0, endMono - clock.monotonic()), signal);
        const footage = hold.footage(startMono, endMono);
        if (footage === undefined)
          throw hold.failure ?? new SitewardError('stream_failed', 'the stream showed no key frame in that time');
        // Nobody else may read it, from its first byte on.
        await (await open(to, 'w', 0o600)).close();
        const args = [...input, ...playable(footage.codec), '-fs', String(maxBytes), '-y', to];
        await ffmpeg.run({ kind: 'clip', args, input: footage.parts, deadlineMs: clipDeadlineMs }, signal);
        return { startedMono: footage.startMono };
      } finally {
        hold.release();
      }
    },

    async frame(camera, atMono, signal) {
      const past = rings.pictureAt(camera, atMono);
      if (past === undefined) throw new SitewardError('stream_failed', 'no ring holds that moment');
      // By its number: pictures do not come as evenly as they were taken.
      const args = [...input, '-vf', `select=gte(n\\,${past.number})`];
      return oneJpeg(ffmpeg, { kind: 'frame', args, input: past.parts }, signal);
    },
  };
}

const input = ['-f', 'mpegts', '-i', 'pipe:0', '-map', '0:v:0'];

/** An MP4 that a browser plays before it has it all; Apple knows H.265 by `hvc1` only. */
function playable(codec: Footage['codec']): readonly string[] {
  if (codec === 'other')
    throw new SitewardError('stream_failed', 'the stream is neither H.264 nor H.265, which a clip must be');
  const tag = codec === 'h265' ? ['-tag:v', 'hvc1'] : [];
  return ['-c', 'copy', ...tag, '-movflags', '+faststart', '-f', 'mp4'];
}
