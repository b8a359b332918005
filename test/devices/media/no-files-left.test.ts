import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const alarm = `
  import { openSync } from 'node:fs';
  import { createFfmpeg } from '#devices/media/ffmpeg.ts';
  const ffmpeg = createFfmpeg({ processes: 1 });
  const files = [];
  for (let left = true; left; ) try { files.push(openSync('/dev/null')); } catch { left = false; }
  const error = await ffmpeg.follow(['-version'], () => undefined, new AbortController().signal).catch((e) => e);
  await new Promise((resolve) => setTimeout(resolve, 100));
  console.log(error.code, error.message);
`;

it('a process that has no file left for ffmpeg lives on, and says so', async () => {
  const run = `ulimit -n 64; exec "$0" --input-type=module -e "$1"`;
  const { stdout } = await promisify(execFile)('bash', ['-c', run, process.execPath, alarm], { timeout: 60_000 });
  expect(stdout).toMatch(/^stream_failed ffmpeg could not be started: .*EMFILE/);
});
