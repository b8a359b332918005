import { createFfmpeg } from './ffmpeg.ts';
import { oneJpeg } from './frame.ts';

/**
 * A picture in memory, at most so many pixels wide, for where it is looked at and not measured. Throws `media_tool_missing`,
 * `stream_failed`, `deadline`, and the reason of the signal.
 */
export async function smallerJpeg(jpeg: Uint8Array, width: number, signal: AbortSignal): Promise<Uint8Array> {
  const args = ['-f', 'mjpeg', '-i', 'pipe:0', '-vf', `scale='min(${width},iw)':-2`];
  const { bytes } = await oneJpeg(
    createFfmpeg({ processes: 1 }),
    { kind: 'frame', args, input: [Buffer.from(jpeg)] },
    signal,
  );
  return bytes;
}
