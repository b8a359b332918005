/** What can be told of a JPEG without decoding it. */
export interface JpegFacts {
  readonly width: number;
  readonly height: number;
  /** Length up to and including the end marker; devices sometimes send rubbish after it. */
  readonly length: number;
}

/**
 * Checks that bytes are one whole JPEG: start marker, a frame header of a plausible size, scan data, end marker. Returns why not,
 * as text, for anything else. Reads only the markers, so a damaged picture content is not found.
 */
export function readJpeg(bytes: Uint8Array): JpegFacts | string {
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8) return 'it does not begin like a JPEG';
  const frame = findFrame(bytes);
  if (typeof frame === 'string') return frame;
  const { width, height } = frame;
  if (width < 16 || height < 16 || width > 16_384 || height > 16_384) return `its size is ${width}x${height}`;
  const end = lastEnd(bytes, frame.scan);
  if (end === undefined) return 'it is cut: the end marker is missing';
  return { width, height, length: end };
}

function findFrame(bytes: Uint8Array): { width: number; height: number; scan: number } | string {
  let size: { width: number; height: number } | undefined;
  for (let at = 2; at + 4 <= bytes.length; ) {
    const marker = bytes[at + 1] ?? 0;
    if (bytes[at] !== 0xff) return 'its markers are damaged';
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker === 0xda) return size === undefined ? 'it has no frame header' : { ...size, scan: at };
    if (isFrame(marker)) size = { height: word(bytes, at + 5), width: word(bytes, at + 7) };
    const length = word(bytes, at + 2);
    if (length < 2) return 'its markers are damaged';
    at += 2 + length;
  }
  return 'it is cut before the picture data';
}

/** SOF0 to SOF15, without the tables DHT, JPG and DAC that lie between them. */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

const word = (bytes: Uint8Array, at: number) => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);

function lastEnd(bytes: Uint8Array, from: number): number | undefined {
  for (let at = bytes.length - 2; at > from; at -= 1) {
    if (bytes[at] === 0xff && bytes[at + 1] === 0xd9) return at + 2;
  }
  return undefined;
}
