import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { smallerJpeg } from '#devices/media/index.ts';
import { readJpeg } from '#lib/jpeg.ts';

const run = promisify(execFile);
async function picture(size: string): Promise<Uint8Array> {
  const args = [
    '-loglevel',
    'error',
    '-f',
    'lavfi',
    '-i',
    `testsrc2=s=${size}`,
    '-frames:v',
    '1',
    '-f',
    'image2',
    '-c:v',
    'mjpeg',
    'pipe:1',
  ];
  return (await run('ffmpeg', args, { encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 })).stdout;
}
const soon = () => AbortSignal.timeout(20_000);

test('a picture becomes no wider than asked for, and keeps its shape; a small one keeps its size', async () => {
  const large = await picture('3840x2160');
  const smaller = await smallerJpeg(large, 1280, soon());
  expect(readJpeg(smaller)).toMatchObject({ width: 1280, height: 720 });
  expect(smaller.length).toBeLessThan(large.length);
  expect(readJpeg(await smallerJpeg(await picture('640x480'), 1280, soon()))).toMatchObject({
    width: 640,
    height: 480,
  });
});

test('what is no picture is refused, and whoever gives up is heard', async () => {
  await expect(smallerJpeg(Buffer.from('no picture'), 1280, soon())).rejects.toMatchObject({ code: 'stream_failed' });
  const reason = new Error('given up');
  await expect(smallerJpeg(await picture('640x480'), 1280, AbortSignal.abort(reason))).rejects.toBe(reason);
});
