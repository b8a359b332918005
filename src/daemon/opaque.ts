import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Makes numbers into cursors of which nobody can tell how far apart they lie; for this run only. */
export interface Opaque {
  seal(value: number): string;
  /** Undefined for what `seal` of this run did not make. */
  open(cursor: string): number | undefined;
}

const cipher = 'aes-128-ecb';
const blockBytes = 16;

/** One block each, half of it zeros, by which a made-up cursor is told. */
export function createOpaque(): Opaque {
  const key = randomBytes(blockBytes);
  return {
    seal(value) {
      const block = Buffer.alloc(blockBytes);
      block.writeDoubleBE(value);
      const made = createCipheriv(cipher, key, null).setAutoPadding(false);
      return Buffer.concat([made.update(block), made.final()]).toString('base64url');
    },
    open(cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      if (bytes.length !== blockBytes) return undefined;
      const read = createDecipheriv(cipher, key, null).setAutoPadding(false);
      const block = Buffer.concat([read.update(bytes), read.final()]);
      return block.readBigUInt64BE(8) === 0n ? block.readDoubleBE() : undefined;
    },
  };
}
