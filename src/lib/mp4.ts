import { open } from 'node:fs/promises';

/** ffmpeg writes four: `ftyp`, `moov`, `free`, `mdat`. */
const boxCap = 16;

/**
 * Whether a file is an MP4 from its first to its last byte: all its boxes are there and `moov`, without which nothing plays it,
 * is one of them. Reads only the heads of the boxes. ffmpeg says nothing where the disk was full for the last of it.
 */
export async function isWholeMp4(path: string): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const types: string[] = [];
    let at = 0;
    while (at < size && types.length < boxCap) {
      const head = Buffer.alloc(16);
      const { bytesRead } = await file.read(head, 0, head.length, at);
      if (bytesRead < 8) return false;
      const length = head.readUInt32BE(0);
      types.push(head.toString('latin1', 4, 8));
      // 1: the length is too large for its place and follows the type.
      const whole = length === 1 && bytesRead === 16 ? Number(head.readBigUInt64BE(8)) : length;
      if (whole < 8) return false;
      at += whole;
    }
    return at === size && types[0] === 'ftyp' && types.includes('moov') && types.includes('mdat');
  } finally {
    await file.close();
  }
}
