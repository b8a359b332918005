import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A disk whose power can be cut: ext4 in a file, mounted over a loop device. The cut is ext4's own shutdown: the file
 * system stops at once and flushes nothing, so that all that was not synced is gone, contents and names alike. The
 * journal is replayed at the next mount, as after a real one.
 */
export interface PowerCutDisk {
  /** The mount point. */
  readonly mount: string;
  /** A folder of mode 0700 on it, for a state directory; made anew if a cut took it. */
  readonly dir: string;
  /**
   * From now on every write and sync on it fails. Processes that have files open there go on, and must be ended. Only what was
   * promised before this was called counts: a sync that is under way in this very moment may be reported as done by the
   * kernel though it is not (bare SQLite showed it in 9 of 180 cases).
   */
  cut(): void;
  /**
   * Mounts it again and replays the journal. Throws when something still uses it, or when `e2fsck` finds anything wrong
   * with the replayed file system.
   */
  restore(): void;
  /** Unmounts it and removes every trace; never throws. */
  remove(): void;
}

const needed: readonly (readonly [program: string, ...args: string[]])[] = [
  ['xfs_io', '-V'],
  ['mkfs.ext4', '-V'],
  ['e2fsck', '-V'],
];
/** Debian keeps these out of the search path of a login that is not root's. */
const env = { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` };

/** Why no disk can be made here, in words for the name of a skipped test; undefined when it can. */
export function noPowerCut(): string | undefined {
  if (process.getuid?.() !== 0) return 'needs root for a loop mount';
  const missing = needed.filter(([program, ...args]) => spawnSync(program, args, { env }).error !== undefined);
  return missing.length === 0 ? undefined : `needs ${missing.map(([program]) => program).join(', ')}`;
}

export function powerCutDisk({ mib = 64 }: { mib?: number } = {}): PowerCutDisk {
  const home = mkdtempSync(join(tmpdir(), 'siteward-power-'));
  const mount = join(home, 'mount');
  let image = join(home, 'image');
  let copies = 0;
  const dir = join(mount, 'state');
  const onExit = () => remove();
  let isMounted = false;

  function attach(): void {
    run('mount', '-o', 'loop,noatime', image, mount);
    isMounted = true;
    mkdirSync(dir, { mode: 0o700, recursive: true });
  }

  function detach(): void {
    run('umount', mount);
    isMounted = false;
    // Who has made a mount namespace meanwhile keeps the file system, in the state the cut has left it in.
    if (run('losetup', '-j', image) === '') return;
    copies += 1;
    const copy = join(home, `image-${copies}`);
    run('cp', '--sparse=always', image, copy);
    rmSync(image);
    image = copy;
  }

  function remove(): void {
    process.off('exit', onExit);
    if (isMounted) spawnSync('umount', ['--lazy', mount], { env });
    isMounted = false;
    rmSync(home, { recursive: true, force: true });
  }

  process.once('exit', onExit);
  try {
    mkdirSync(mount);
    closeSync(openSync(image, 'w'));
    truncateSync(image, mib * 1024 ** 2);
    run('mkfs.ext4', '-q', '-F', '-m', '0', image);
    attach();
    // The file system and the folder are older than any cut.
    run('sync', '-f', mount);
  } catch (error) {
    remove();
    throw error;
  }
  return {
    ...{ mount, dir, remove },
    cut: () => void run('xfs_io', '-x', '-c', 'shutdown', mount),
    restore() {
      detach();
      // The mount replays the journal; only then is a check without changes meaningful.
      attach();
      detach();
      run('e2fsck', '-f', '-n', image);
      attach();
    },
  };
}

function run(program: string, ...args: string[]): string {
  return execFileSync(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 30_000, encoding: 'utf8' });
}
