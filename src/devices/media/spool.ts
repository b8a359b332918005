import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SitewardError } from '#errors.ts';
import { syncFolder, writeDurably } from '#lib/durable-file.ts';
import type { Lane } from '#site/model/index.ts';
import { givingWay, type Shelved } from './budget.ts';

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
  /**
   * The picture of an event. On a full budget others give way for it, see `givingWay`: `gone` are removed already. Rejects with
   * `queue_full` where that is not enough.
   */
  write(of: Place, bytes: Uint8Array): Promise<StoredFile & { readonly gone: readonly Shelved[] }>;
  remove(file: string): Promise<void>;
  /** Whether a name is that of a picture or clip. */
  isOne(name: string): boolean;
  /** Bytes; undefined when there is no such file. */
  size(file: string): Promise<number | undefined>;
  /** Size and contents of a file as they are now; undefined when it is gone or empty. */
  inspect(file: string): Promise<StoredFile | undefined>;
  path(file: string): string;
  /** Whose picture lies there, found after a restart. */
  shelve(picture: Shelved): void;
  /** Everything in the folder. */
  readonly usedBytes: number;
  /** Without pictures of silent events, nor those nobody is known to want (safety 4). */
  readonly shownBytes: number;
}

/** A picture's place in the outbox. */
export interface Place {
  readonly seq: number;
  readonly index: number;
  readonly lane: Lane;
  readonly silent?: true;
}

const namePattern = /^[0-9]+-[0-9]+\.(jpg|mp4)$/;

export function createSpool(options: { dir: string; budgetBytes: number }): Spool {
  const { dir, budgetBytes } = options;
  let used = 0;
  /** By name; never more entries than files in the folder. */
  const shelf = new Map<string, Shelved>();
  const removals = new Map<string, Promise<void>>();

  const sizeOf = (name: string): Promise<number | undefined> =>
    stat(join(dir, name)).then(
      (found) => (found.isFile() ? found.size : undefined),
      () => undefined,
    );

  /** A folder too, by whoever made it: nothing in here is anybody's but ours. */
  const discard = (name: string): Promise<void> => rm(join(dir, name), { recursive: true, force: true });

  /** Several may want to be rid of the same one; it counts once. */
  function removeName(name: string): Promise<void> {
    const going = removals.get(name) ?? removeNow(name).finally(() => removals.delete(name));
    removals.set(name, going);
    return going;
  }

  async function removeNow(name: string): Promise<void> {
    const size = (await sizeOf(name)) ?? 0;
    await discard(name);
    used = Math.max(0, used - size);
    shelf.delete(name);
  }

  /** Takes nothing away yet: what gives way is only no longer there for others. */
  function makeRoom(of: Place, bytes: number): readonly Shelved[] {
    const over = used + bytes - budgetBytes;
    const gone = over <= 0 ? [] : givingWay(shelf.values(), { ...of, bytes: over });
    if (gone !== undefined) {
      for (const { file } of gone) shelf.delete(file);
      return gone;
    }
    throw new SitewardError(
      'queue_full',
      'the picture was not kept: the media budget is used up by pictures that wait for the cloud',
      { facts: { budgetBytes, usedBytes: used } },
    );
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
      shelf.clear();
      return readdir(dir);
    },

    async measure(names) {
      for (const name of names) {
        const size = namePattern.test(name) ? await sizeOf(name) : undefined;
        if (size === undefined) await discard(name);
        else used += size;
      }
    },

    async write({ seq, index, lane, silent }, bytes) {
      const name = `${seq}-${index}.jpg`;
      const { length } = bytes;
      const gone = makeRoom({ seq, index, lane }, length);
      used += length;
      try {
        await writeDurably(join(dir, name), bytes);
      } catch (error) {
        used -= length;
        for (const one of gone) shelf.set(one.file, one);
        throw error;
      }
      shelf.set(name, { file: name, bytes: length, seq, index, lane, ...(silent === true && { silent }) });
      for (const { file } of gone) await removeName(file);
      return { file: name, bytes: length, sha256: createHash('sha256').update(bytes).digest('hex'), gone };
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

    shelve: (picture) => void shelf.set(picture.file, picture),

    get usedBytes() {
      return used;
    },

    get shownBytes() {
      const isShown = ({ lane, silent }: Shelved) => lane !== undefined && silent !== true;
      return [...shelf.values()].filter(isShown).reduce((sum, { bytes }) => sum + bytes, 0);
    },
  };
}
