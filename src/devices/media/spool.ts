import { createHash } from 'node:crypto';
import { mkdir, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { SitewardError } from '#errors.ts';
import { writeDurably } from '#lib/durable-file.ts';

export interface StoredFile {
  /** Name inside the spool folder; never a path. */
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Pictures on disk between camera and cloud. A file is complete or absent: it is written as `.part`, synced, renamed,
 * and the folder synced, before anything refers to it. The folder never holds more than `budgetBytes`.
 */
export interface Spool {
  open(): Promise<void>;
  /** Rejects with `queue_full` when the budget is used up. */
  write(name: string, bytes: Uint8Array): Promise<StoredFile>;
  remove(file: string): Promise<void>;
  files(): Promise<string[]>;
  path(file: string): string;
  readonly usedBytes: number;
}

const namePattern = /^[0-9]+-[0-9]+\.(jpg|mp4)$/;

export function createSpool(options: { dir: string; budgetBytes: number }): Spool {
  const { dir, budgetBytes } = options;
  let used = 0;

  async function removeName(name: string): Promise<void> {
    const size = await stat(join(dir, name)).then(
      (found) => found.size,
      () => 0,
    );
    await unlink(join(dir, name)).catch(ignoreMissing);
    used = Math.max(0, used - size);
  }

  return {
    async open() {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      used = 0;
      for (const name of await readdir(dir)) {
        // A part file is a picture that was cut off by a crash; nothing refers to it.
        if (namePattern.test(name)) used += (await stat(join(dir, name))).size;
        else await unlink(join(dir, name)).catch(ignoreMissing);
      }
    },

    async write(name, bytes) {
      if (used + bytes.length > budgetBytes) {
        throw new SitewardError(
          'queue_full',
          'the picture was not kept: the media budget is used up by pictures that wait for the cloud',
          {
            facts: { budgetBytes, usedBytes: used },
          },
        );
      }
      used += bytes.length;
      try {
        await writeDurably(join(dir, name), bytes);
      } catch (error) {
        used -= bytes.length;
        throw error;
      }
      return { file: name, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
    },

    remove: removeName,

    async files() {
      return (await readdir(dir)).filter((name) => namePattern.test(name));
    },

    path: (file) => join(dir, file),

    get usedBytes() {
      return used;
    },
  };
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
