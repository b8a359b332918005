import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJpeg } from '#lib/jpeg.ts';

const frame = (width: number, height: number, marker = 0xc0) => [
  0xff,
  marker,
  0,
  11,
  8,
  height >> 8,
  height & 255,
  width >> 8,
  width & 255,
  1,
  1,
  0x11,
  0,
];
const scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 1, 2, 3];
const jpeg = (...parts: number[][]) => Uint8Array.from([0xff, 0xd8, ...parts.flat()]);
const end = [0xff, 0xd9];

describe('bytes that should be a JPEG', () => {
  it('are accepted with their size, and end at the end marker', () => {
    expect(readJpeg(jpeg(frame(640, 480), scan, end))).toEqual({ width: 640, height: 480, length: 30 });
    expect(readJpeg(jpeg([0xff, 0xfe, 0, 3, 9], [0xff], frame(4000, 3000, 0xc2), scan, end, [0, 0, 13]))).toMatchObject(
      {
        width: 4000,
        height: 3000,
      },
    );
    expect(readJpeg(jpeg(frame(640, 480), scan, end, [0, 0, 13]))).toMatchObject({ length: 30 });
  });

  it.each<[string, Uint8Array]>([
    ['empty', new Uint8Array()],
    ['a web page', Buffer.from('<html></html>')],
    ['cut in the header', jpeg(frame(640, 480).slice(0, 6))],
    ['cut in the picture', jpeg(frame(640, 480), scan)],
    ['without a frame', jpeg(scan, end)],
    ['of no size', jpeg(frame(0, 480), scan, end)],
    ['absurdly large', jpeg(frame(65_000, 65_000), scan, end)],
    ['with a marker of length zero', jpeg([0xff, 0xe0, 0, 0], frame(640, 480), scan, end)],
    ['damaged between markers', jpeg([1, 2, 3, 4], frame(640, 480), scan, end)],
  ])('are refused with a reason when %s', (_, bytes) => {
    expect(readJpeg(bytes)).toEqual(expect.any(String));
  });

  it('may be anything', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        (bytes) => readJpeg(Uint8Array.from([0xff, 0xd8, ...bytes])) !== undefined,
      ),
    );
  });
});
