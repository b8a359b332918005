import { appendFileSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noPowerCut, powerCutDisk } from '../../harness/power-cut.ts';

/** Where the box keeps its state. */
export interface Disk {
  /** The state directory; it stays over power cuts. */
  readonly dir: string;
  /** Takes all free space. */
  fill(): void;
  free(): void;
  /** Everything that was not synced is lost, as when the power fails. Whoever uses the disk must be gone afterwards. */
  losePower(): void;
  /** Mounted again after `losePower`. */
  mount(): void;
  close(): void;
}

/** Why there is no disk of its own here; undefined when there is. */
export const noDisk = noPowerCut;

/** A plain folder: it cannot be filled, and a power cut is no more than a kill. */
export function folder(): Disk {
  const root = mkdtempSync(join(tmpdir(), 'siteward-model-'));
  const nothing = () => undefined;
  return {
    dir: join(root, 'state'),
    ...{ fill: nothing, free: nothing, losePower: nothing, mount: nothing },
    close: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** A small ext4 of its own. */
export function smallDisk(): Disk {
  const disk = powerCutDisk({ mib: 32 });
  const filler = join(disk.mount, 'filler');
  const free = () => rmSync(filler, { force: true });
  return {
    dir: disk.dir,
    fill() {
      for (let size = 1024 ** 2; size >= 512; size /= 2) {
        try {
          while (statfsSync(disk.mount).bavail > 0) appendFileSync(filler, Buffer.alloc(size));
        } catch {
          // Full for this size: the next smaller one.
        }
      }
    },
    free,
    losePower: disk.cut,
    mount() {
      disk.restore();
      free();
    },
    close: disk.remove,
  };
}
