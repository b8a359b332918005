import type { Part } from '#lib/health.ts';
import { createClips } from './clips.ts';
import { createFfmpeg } from './ffmpeg.ts';
import type { ClipSource, FrameSource, PictureSource } from './ports.ts';
import { createRings, type Rings, type RingsOptions } from './rings.ts';
import { createStills } from './stills.ts';

/** All that is made of streams, with one ffmpeg: clips, pictures of what is past, and of now where a camera serves none. */
export interface Streams extends Part, PictureSource, ClipSource, FrameSource, Pick<Rings, 'review' | 'retry'> {}

export function createStreams(
  options: Omit<RingsOptions, 'ffmpeg'> & {
    readonly processes: number;
    /** The cameras' own. */
    readonly pictures: PictureSource;
  },
): Streams {
  const ffmpeg = createFfmpeg(options);
  const rings = createRings({ ...options, ffmpeg });
  const { start, stop, health, review, retry } = rings;
  return {
    ...{ name: 'streams', start, stop, health, review, retry },
    ...createStills({ ...options, ffmpeg }),
    ...createClips({ ...options, rings, ffmpeg }),
  };
}
