/**
 * A baseline JPEG of flat 8 x 8 tiles: every block has one colour, so it is its DC coefficient and an end-of-block.
 * That needs no cosine transform, and own Huffman tables of a few codes: 0 for "no difference" and 1xxxx for a
 * difference of 1 to 11 bits; a single one-bit code ends each block.
 */
export interface Tiles {
  /** In tiles of 8 pixels, at most 1024 each. */
  readonly columns: number;
  readonly rows: number;
  /** Colour of a tile, 0xRRGGBB. */
  at(column: number, row: number): number;
}

/** The picture as a JPEG file. `minBytes` pads it with a comment to the size of a real camera's picture. */
export function encodeJpeg(tiles: Tiles, minBytes = 0): Buffer {
  const scan = encodeScan(tiles);
  const head = [
    marker(0xd8),
    segment(0xe0, [0x4a, 0x46, 0x49, 0x46, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0]),
    segment(0xdb, [0, ...quantisers]),
    segment(0xc0, frame(tiles.columns * 8, tiles.rows * 8)),
    segment(0xc4, [0x00, ...dcTable]),
    segment(0xc4, [0x10, ...acTable]),
  ];
  const start = segment(0xda, [3, 1, 0, 2, 0, 3, 0, 0, 63, 0]);
  const body = Buffer.concat([...head, start, scan, marker(0xd9)]);
  const missing = minBytes - body.length;
  return missing <= 0 ? body : Buffer.concat([...head, ...padding(missing), start, scan, marker(0xd9)]);
}

const marker = (code: number): Buffer => Buffer.from([0xff, code]);

function segment(code: number, bytes: readonly number[] | Uint8Array): Buffer {
  const length = bytes.length + 2;
  return Buffer.concat([Buffer.from([0xff, code, length >> 8, length & 0xff]), Buffer.from(bytes)]);
}

/** A DC quantiser of 8 makes the coefficient of a flat block its level, shifted by 128. */
const quantisers = [8, ...Array.from({ length: 63 }, () => 1)];

const frame = (width: number, height: number): number[] => {
  const component = (id: number) => [id, 0x11, 0];
  return [
    8,
    height >> 8,
    height & 0xff,
    width >> 8,
    width & 0xff,
    3,
    ...component(1),
    ...component(2),
    ...component(3),
  ];
};

/** Number of codes of each length from 1 to 16, then the symbols in the order of their codes. */
const dcTable = [1, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
const acTable = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00];

function* padding(missing: number): Iterable<Buffer> {
  for (let left = missing; left > 0; ) {
    const size = Math.min(65_000, Math.max(0, left - 4));
    yield segment(0xfe, Buffer.alloc(size, 0x20));
    left -= size + 4;
  }
}

function encodeScan(tiles: Tiles): Buffer {
  const bits = bitWriter();
  const previous = [0, 0, 0];
  for (let row = 0; row < tiles.rows; row += 1) {
    for (let column = 0; column < tiles.columns; column += 1) {
      for (const [component, level] of levels(tiles.at(column, row)).entries()) {
        writeDifference(bits, level - (previous[component] ?? 0));
        previous[component] = level;
        bits.write(0, 1);
      }
    }
  }
  return bits.end();
}

/** YCbCr as JFIF defines it, luminance shifted to be around zero like the other two. */
function levels(colour: number): [number, number, number] {
  const [r, g, b] = [(colour >> 16) & 0xff, (colour >> 8) & 0xff, colour & 0xff];
  const clamp = (value: number) => Math.max(-128, Math.min(127, Math.round(value)));
  return [
    clamp(0.299 * r + 0.587 * g + 0.114 * b - 128),
    clamp(-0.168736 * r - 0.331264 * g + 0.5 * b),
    clamp(0.5 * r - 0.418688 * g - 0.081312 * b),
  ];
}

/** The size class as a Huffman code, then the value in as many bits; negative ones less one. */
function writeDifference(bits: BitWriter, difference: number): void {
  if (difference === 0) {
    bits.write(0, 1);
    return;
  }
  const size = 32 - Math.clz32(Math.abs(difference));
  bits.write(0b10000 + size - 1, 5);
  bits.write(difference > 0 ? difference : difference + (1 << size) - 1, size);
}

interface BitWriter {
  write(value: number, length: number): void;
  end(): Buffer;
}

/** Most significant bit first; a 0 byte follows each 0xff; the last byte is filled with ones. */
function bitWriter(): BitWriter {
  const bytes: number[] = [];
  let pending = 0;
  let count = 0;
  const write = (value: number, length: number) => {
    for (let bit = length - 1; bit >= 0; bit -= 1) {
      pending = (pending << 1) | ((value >> bit) & 1);
      count += 1;
      if (count < 8) continue;
      bytes.push(pending);
      if (pending === 0xff) bytes.push(0);
      pending = 0;
      count = 0;
    }
  };
  return {
    write,
    end() {
      while (count > 0) write(1, 1);
      return Buffer.from(bytes);
    },
  };
}
