import { SitewardError } from '#errors.ts';
import { readJpeg } from '#lib/jpeg.ts';
import type { Ffmpeg } from './ffmpeg.ts';
import type { Picture } from './ports.ts';

/** For the connection and the wait for a key frame. */
const deadlineMs = 10_000;
const maxBytes = 5_000_000;

/** Input options of a camera's stream. By its own measure ffmpeg looks at it for seconds before it begins. */
export const rtspInput = (url: string): readonly string[] => [
  ...['-rtsp_transport', 'tcp', '-timeout', '10000000', '-analyzeduration', '500000', '-fpsprobesize', '0'],
  ...['-i', url, '-map', '0:v:0'],
];

/** One picture. With more threads than one it needs more memory and is no sooner done. `-q:v`: about the quality of a camera's own. */
export async function oneJpeg(
  ffmpeg: Ffmpeg,
  { args, ...of }: { kind: 'still' | 'frame'; args: readonly string[]; input?: readonly Buffer[] },
  signal: AbortSignal,
): Promise<Picture> {
  const output = ['-frames:v', '1', '-c:v', 'mjpeg', '-threads', '1', '-q:v', '3', '-f', 'image2', 'pipe:1'];
  const work = { ...of, args: ['-threads', '1', ...args, ...output], deadlineMs, maxBytes };
  const bytes = await ffmpeg.run(work, signal);
  // Where nothing can be decoded ffmpeg ends well, with nothing.
  const jpeg = readJpeg(bytes);
  if (typeof jpeg === 'string') throw new SitewardError('stream_failed', `The stream showed no picture: ${jpeg}`);
  return { bytes, mime: 'image/jpeg' };
}
