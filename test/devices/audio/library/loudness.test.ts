import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loudness, silentLufs } from '#devices/audio/library/loudness.ts';
import { tones } from '#devices/audio/library/tones.ts';
import { writeWav } from '#devices/audio/wav.ts';

const sine = (hertz: number, db: number, seconds: number) =>
  Int16Array.from({ length: seconds * 48_000 }, (_, at) =>
    Math.round(Math.sin((2 * Math.PI * hertz * at) / 48_000) * 10 ** (db / 20) * 32_767),
  );
const padded = (samples: Int16Array, seconds: number) =>
  Int16Array.from([...samples, ...new Int16Array(seconds * 48_000)]);

describe('loudness', () => {
  it('of a tone is what the standard says: 3 dB below its peak at 997 Hz', async () => {
    expect(await loudness(sine(997, 0, 2))).toBeCloseTo(-3, 1);
    expect(await loudness(sine(997, -20, 2))).toBeCloseTo(-23, 1);
  });

  it('is less of a low tone, and a pause does not count', async () => {
    expect(await loudness(sine(60, -20, 2))).toBeLessThan(-24);
    const tone = sine(997, -20, 2);
    expect(await loudness(padded(tone, 4))).toBeGreaterThan((await loudness(tone)) - 1);
  });

  it('of silence, of nothing and of what is shorter than a block is a number', async () => {
    expect(await loudness(new Int16Array(48_000))).toBe(silentLufs);
    expect(await loudness(new Int16Array(0))).toBe(silentLufs);
    expect(await loudness(sine(997, -20, 0.2))).toBeCloseTo(-23, 0);
  });

  it('ends with the signal', async () => {
    const over = AbortSignal.abort(new Error('over'));
    await expect(loudness(sine(997, -20, 3), over)).rejects.toThrow('over');
  });

  it('is what ffmpeg measures', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-loudness-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    for (const { message, make } of tones) {
      const samples = make();
      const path = join(folder, 'tone.wav');
      writeFileSync(path, writeWav({ rate: 48_000, channels: 1, samples }));
      const { stderr } = await promisify(execFile)('ffmpeg', [
        ...['-hide_banner', '-nostats', '-i', path, '-filter_complex', 'ebur128', '-f', 'null', '-'],
      ]);
      const said = [...stderr.matchAll(/Integrated loudness:\s+I:\s+(-?[\d.]+) LUFS/g)].at(-1)?.[1];
      expect(Math.abs((await loudness(samples)) - Number(said)), message.key).toBeLessThan(0.15);
    }
  });
});
