import { expect, it } from 'vitest';
import type { FfmpegWork } from '#devices/media/ffmpeg.ts';
import { oneJpeg } from '#devices/media/frame.ts';
import { never } from '#lib/wait.ts';

it('a picture is made with one thread, and is a whole one', async () => {
  const works: FfmpegWork[] = [];
  const ffmpeg = {
    async run(work: FfmpegWork) {
      works.push(work);
      return Buffer.alloc(0);
    },
    follow: () => Promise.reject(new Error('not asked for')),
  };
  const made = oneJpeg(ffmpeg, { kind: 'frame', args: ['-i', 'pipe:0'] }, never());
  await expect(made).rejects.toMatchObject({ code: 'stream_failed' });
  const { args = [] } = works[0] ?? {};
  // For what is read, and for what is written.
  const threads = args.flatMap((arg, i) => (arg === '-threads' ? [[args[i + 1], i < args.indexOf('-i')]] : []));
  expect(threads).toEqual([
    ['1', true],
    ['1', false],
  ]);
});
