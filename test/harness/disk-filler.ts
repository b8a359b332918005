import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export interface DiskFiller {
  /** Takes every free block; `leave` bytes stay free. */
  fill(leave?: number): void;
  /** Gives them back. */
  free(): void;
  freeBytes(): number;
}

/** Makes the file system of a mount point full. */
export function diskFiller(mount: string): DiskFiller {
  const file = join(mount, 'filler');
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(mount);
    return bavail * bsize;
  };
  return {
    fill(leave = 0) {
      const fd = openSync(file, 'a');
      try {
        for (let size = 1024 ** 2; size >= 1; size = Math.floor(size / 2)) {
          const piece = Buffer.alloc(size, 1);
          try {
            while (freeBytes() - leave >= size && writeSync(fd, piece) === size);
          } catch {
            // Full for this size: the next smaller one.
          }
        }
      } finally {
        closeSync(fd);
      }
    },
    freeBytes,
    free: () => rmSync(file, { force: true }),
  };
}
