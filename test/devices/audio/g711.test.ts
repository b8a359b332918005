import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { toAlaw, toUlaw } from '#devices/audio/g711.ts';
import { fromAlaw, fromUlaw } from './from-g711.ts';

const codes = Array.from({ length: 256 }, (_, code) => code);
const laws = [
  ['mulaw', toUlaw, fromUlaw],
  ['alaw', toAlaw, fromAlaw],
] as const;

/** What ffmpeg makes of bytes. */
const ffmpeg = (from: string, to: string, input: Buffer): Buffer =>
  execFileSync(
    'ffmpeg',
    ['-v', 'error', ...`-f ${from} -ar 8000 -ac 1 -i pipe:0 -f ${to} -ar 8000 -ac 1 pipe:1`.split(' ')],
    { input, timeout: 30_000 },
  );

describe.each(laws)('%s', (name, encode, decode) => {
  it('is read as ffmpeg reads it', () => {
    const theirs = ffmpeg(name, 's16le', Buffer.from(codes));
    expect(codes.map(decode)).toEqual(codes.map((code) => theirs.readInt16LE(code * 2)));
  });

  it('grows with the sample, and is never farther from it than half a step', () => {
    let before = Number.NEGATIVE_INFINITY;
    for (let sample = -32_768; sample <= 32_767; sample += 1) {
      const made = decode(encode(sample));
      if (made < before) expect.fail(`${sample} is less than what is below it`);
      // 16 steps in each segment, which is twice as wide as the one before.
      const louder = Math.abs(sample) > 32_635 ? 520 : 0;
      if (Math.abs(made - sample) > (Math.abs(sample) + 132) / 32 + 5 + louder)
        expect.fail(`${sample} becomes ${made}`);
      before = made;
    }
  });

  it('is written as ffmpeg writes it but for the edges between codes', () => {
    const samples = Buffer.alloc(65_536 * 2);
    for (let at = 0; at < 65_536; at += 1) samples.writeInt16LE(at - 32_768, at * 2);
    const theirs = ffmpeg('s16le', name, samples);
    const others = Array.from(theirs.entries()).filter(([at, code]) => encode(at - 32_768) !== code);
    expect(others.length / 65_536).toBeLessThan(0.02);
  });

  it('comes back the same', () => {
    expect(codes.map((code) => decode(encode(decode(code))))).toEqual(codes.map(decode));
  });
});

it('has its own codes for silence', () => {
  expect([toUlaw(0), toAlaw(0)]).toEqual([0xff, 0xd5]);
  expect(fromUlaw(0xff)).toBe(0);
});
