import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type DiskFiller, diskFiller } from '../../harness/disk-filler.ts';
import { atEnd } from './helpers.ts';

/** A file system of its own, small enough to be filled. Needs root, as CI has. */
export interface SmallDisk extends DiskFiller {
  /** State directory on it. */
  readonly dir: string;
  /** As a dying card: the kernel meets an error and turns the file system read-only. Only for ext4. */
  breakDown(): void;
  /** Checks it and mounts it again in the same place. */
  mend(): void;
}

/**
 * `ext4` is a loop mount without reserved blocks: what a card is, journal and all. Unmounted and removed at the end of the
 * test, after the stores on it were stopped: a store that still runs would make its folder anew.
 */
export function smallDisk(type: 'ext4' | 'tmpfs', mib: number): SmallDisk {
  const home = mkdtempSync(join(tmpdir(), 'siteward-disk-'));
  const mount = join(home, 'mount');
  const image = join(home, 'image');
  const remove = () => {
    process.off('exit', remove);
    spawnSync('umount', ['--lazy', mount], { stdio: 'ignore' });
    rmSync(home, { recursive: true, force: true });
  };
  process.once('exit', remove);
  atEnd(remove);
  mkdirSync(mount);
  if (type === 'ext4') {
    closeSync(openSync(image, 'w'));
    truncateSync(image, mib * 1024 ** 2);
    execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', '-O', '^resize_inode', image]);
    execFileSync('mount', ['-o', 'loop,errors=remount-ro', image, mount]);
  } else execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m,mode=0700`, 'tmpfs', mount]);
  const dir = join(mount, 'state');
  mkdirSync(dir, { mode: 0o700 });
  return {
    dir,
    ...diskFiller(mount),
    breakDown() {
      const device = execFileSync('findmnt', ['-no', 'SOURCE', mount], { encoding: 'utf8' }).trim();
      writeFileSync(`/sys/fs/ext4/${basename(device)}/trigger_fs_error`, '1');
    },
    mend() {
      execFileSync('umount', ['--lazy', mount]);
      // 1: errors were found and put right.
      const { status } = spawnSync('e2fsck', ['-fy', image], { stdio: 'ignore' });
      if (status === null || status > 1) throw new Error(`e2fsck ended with ${status}`);
      execFileSync('mount', ['-o', 'loop,errors=remount-ro', image, mount]);
    },
  };
}

export const isRoot = process.getuid?.() === 0;
