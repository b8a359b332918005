import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, truncateSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own, small enough to be filled. Needs root, as CI has. */
export interface SmallDisk {
  /** State directory on it. */
  readonly dir: string;
  /** Takes every free block; `leave` bytes stay free. */
  fill(leave?: number): void;
  /** Gives them back. */
  free(): void;
  freeBytes(): number;
  remount(mode: 'ro' | 'rw'): void;
  remove(): void;
}

/** `ext4` is a loop mount without reserved blocks: what a card is, journal and all. */
export function smallDisk(type: 'ext4' | 'tmpfs', mib: number): SmallDisk {
  const home = mkdtempSync(join(tmpdir(), 'siteward-disk-'));
  const mount = join(home, 'mount');
  mkdirSync(mount);
  if (type === 'ext4') {
    const image = join(home, 'image');
    closeSync(openSync(image, 'w'));
    truncateSync(image, mib * 1024 ** 2);
    execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', '-O', '^resize_inode', image]);
    execFileSync('mount', ['-o', 'loop', image, mount]);
  } else execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m,mode=0700`, 'tmpfs', mount]);
  const dir = join(mount, 'state');
  mkdirSync(dir, { mode: 0o700 });
  const filler = join(mount, 'filler');
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(mount);
    return bavail * bsize;
  };
  return {
    dir,
    freeBytes,
    fill(leave = 0) {
      const fd = openSync(filler, 'a');
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
    free: () => rmSync(filler, { force: true }),
    remount: (mode) => void execFileSync('mount', ['-o', `remount,${mode}`, mount]),
    remove() {
      execFileSync('umount', ['--lazy', mount]);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

export const isRoot = process.getuid?.() === 0;
