import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { isWholeMp4 } from '#lib/mp4.ts';

it.each([[['-movflags', '+faststart']], [[]]])(
  'knows what ffmpeg has written with %j from what lacks its end',
  async (flags) => {
    const dir = mkdtempSync(join(tmpdir(), 'siteward-mp4-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const whole = join(dir, 'whole.mp4');
    const source = ['-f', 'lavfi', '-i', 'testsrc=size=64x64:rate=5:duration=1', '-c:v', 'mpeg4'];
    execFileSync('ffmpeg', ['-nostdin', '-loglevel', 'error', ...source, ...flags, whole]);
    expect(await isWholeMp4(whole)).toBe(true);
    const part = join(dir, 'part.mp4');
    copyFileSync(whole, part);
    for (const length of [statSync(whole).size - 1, 100, 7, 0]) {
      truncateSync(part, length);
      expect([length, await isWholeMp4(part)]).toEqual([length, false]);
    }
  },
);
