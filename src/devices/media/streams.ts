import type { Part } from '#lib/health.ts';
import { createClips } from './clips.ts';
import { createFfmpeg, type Ffmpeg } from './ffmpeg.ts';
import type { ClipSource, FrameSource } from './ports.ts';
import { createRings, type Rings, type RingsOptions } from './rings.ts';

/** All that is made of streams: rings, the clips and pictures of them, and ffmpeg for what else wants it. */
export interface Streams extends Part, ClipSource, FrameSource, Pick<Rings, 'review'> {
  readonly ffmpeg: Ffmpeg;
}

export function createStreams(options: Omit<RingsOptions, 'ffmpeg'> & { processes: number }): Streams {
  const ffmpeg = createFfmpeg(options);
  const rings = createRings({ ...options, ffmpeg });
  const { clip, frame } = createClips({ rings, ffmpeg, clock: options.clock });
  const { start, stop, health, review } = rings;
  return { name: 'streams', start, stop, health, review, clip, frame, ffmpeg };
}
