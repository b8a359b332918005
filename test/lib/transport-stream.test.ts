import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type CodedPicture, createStreamCutter, type StreamTables } from '#lib/transport-stream.ts';

/** 30 pictures, each tenth a key frame. */
const stream = execFileSync(
  'ffmpeg',
  [
    ...['-nostdin', '-loglevel', 'error', '-f', 'lavfi', '-i', 'testsrc=size=320x240:rate=10', '-frames:v', '30'],
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-g', '10', '-f', 'mpegts', 'pipe:1'],
  ],
  { maxBuffer: 10_000_000 },
);

function cut(chunkBytes: number) {
  const tables: StreamTables[] = [];
  const pictures: CodedPicture[] = [];
  const cutter = createStreamCutter({
    onTables: (found) => void tables.push(found),
    onPicture: (picture) => void pictures.push(picture),
  });
  for (let at = 0; at < stream.length; at += chunkBytes) cutter.push(stream.subarray(at, at + chunkBytes), at);
  return { tables, pictures };
}

describe('a transport stream', () => {
  it.each([1, 187, 188, 5000, stream.length])(
    'is cut into its pictures, whatever its chunks (%i bytes)',
    (chunkBytes) => {
      const { tables, pictures } = cut(chunkBytes);
      expect(tables).toHaveLength(1);
      expect(tables[0]?.codec).toBe('h264');
      // The last is told when the next begins.
      expect(pictures).toHaveLength(29);
      expect(pictures.flatMap(({ isKey }, i) => (isKey ? [i] : []))).toEqual([0, 10, 20]);
      const bytes = Buffer.concat([tables[0]?.bytes ?? Buffer.alloc(0), ...pictures.map((picture) => picture.bytes)]);
      expect(stream.subarray(0, bytes.length).equals(bytes)).toBe(true);
      const starts = pictures.map(({ mono }) => mono);
      expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    },
  );

  it('is refused where it is none, and where a picture has no end', () => {
    const cutter = () => createStreamCutter({ onTables: () => undefined, onPicture: () => undefined });
    expect(() => cutter().push(Buffer.alloc(188, 'x'), 0)).toThrow('not a transport stream');
    const endless = cutter();
    const middle = Buffer.alloc(188 * 1000);
    for (let at = 0; at < middle.length; at += 188) middle.set([0x47, 0x01, 0x00, 0x10], at);
    expect(() => {
      for (let i = 0; i < 100; i += 1) endless.push(middle, 0);
    }).toThrow('more than');
  });
});
