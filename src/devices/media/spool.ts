import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SitewardError } from '#errors.ts';
import { syncFolder, writeDurably } from '#lib/durable-file.ts';

export interface StoredFile {
  /** Name inside the spool folder; never a path. */
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Pictures on disk between camera and cloud. A file is complete or absent: it is written as `.part`, synced, renamed,
 * and the folder synced, before anything refers to it. The folder holds at most `budgetBytes`, once what lay in it at
 * the start is measured.
 */
export interface Spool {
  /** Makes the folder. Resolves with all names in it. */
  open(): Promise<readonly string[]>;
  /** Counts the pictures among the names; removes what is none, such as the half-written file of a crash. */
  measure(names: readonly string[]): Promise<void>;
  /** Rejects with `queue_full` when the budget is used up. */
  write(name: string, bytes: Uint8Array): Promise<StoredFile>;
  remove(file: string): Promise<void>;
  /** Whether a name is that of a picture or clip. */
  isOne(name: string): boolean;
  /** Bytes; undefined when there is no such file. */
  size(file: string): Promise<number | undefined>;
  /** Size and contents of a file as they are now; undefined when it is gone or empty. */
  inspect(file: string): Promise<StoredFile | undefined>;
  path(file: string): string;
  /** The picture is of an event that may be known of: `shownBytes` counts it from now on. */
  show(file: string, bytes: number): void;
  /** Everything in the folder. */
  readonly usedBytes: number;
  /** Without pictures of silent events, nor those nobody has said anything of (safety 4). */
  readonly shownBytes: number;
}

const namePattern = /^[0-9]+-[0-9]+\.(jpg|mp4)$/;

export function createSpool(options: { dir: string; budgetBytes: number }): Spool {
  const { dir, budgetBytes } = options;
  let used = 0;
  /** Bytes by name; never more entries than files in the folder. */
  const shown = new Map<string, number>();

  const sizeOf = (name: string): Promise<number | undefined> =>
    stat(join(dir, name)).then(
      (found) => (found.isFile() ? found.size : undefined),
      () => undefined,
    );

  /** A folder too, by whoever made it: nothing in here is anybody's but ours. */
  const discard = (name: string): Promise<void> => rm(join(dir, name), { recursive: true, force: true });

  async function removeName(name: string): Promise<void> {
    const size = (await sizeOf(name)) ?? 0;
    await discard(name);
    used = Math.max(0, used - size);
    shown.delete(name);
  }

  return {
    async open() {
      await mkdir(dir, { recursive: true, mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
        // A file stands in its place.
        await rename(dir, `${dir}.no-folder`);
        await mkdir(dir, { recursive: true, mode: 0o700 });
      });
      await syncFolder(dirname(dir));
      used = 0;
      shown.clear();
      return readdir(dir);
    },

    async measure(names) {
      for (const name of names) {
        const size = namePattern.test(name) ? await sizeOf(name) : undefined;
        if (size === undefined) await discard(name);
        else used += size;
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

    isOne: (name) => namePattern.test(name),
    size: sizeOf,

    async inspect(file) {
      const bytes = await sizeOf(file);
      if (bytes === undefined || bytes === 0) return undefined;
      const hash = createHash('sha256');
      for await (const chunk of createReadStream(join(dir, file)) as AsyncIterable<Buffer>) hash.update(chunk);
      return { file, bytes, sha256: hash.digest('hex') };
    },

    path: (file) => join(dir, file),

    show: (file, bytes) => void shown.set(file, bytes),

    get usedBytes() {
      return used;
    },

    get shownBytes() {
      return [...shown.values()].reduce((sum, bytes) => sum + bytes, 0);
    },
  };
}
