import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SitewardError } from '#errors.ts';
import { syncFolder, takeDurably, writeDurably } from '#lib/durable-file.ts';
import { createTurns } from '#lib/turns.ts';
import type { Lane, MediaItem } from '#site/model/index.ts';
import { givingWay, type Shelved } from './budget.ts';
import { createKept } from './kept.ts';

export interface StoredFile {
  /** Name inside the spool folder; never a path. */
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly mime: string;
}

/** `gone`: what gave way for it, removed already. */
export type Stored = StoredFile & { readonly gone: readonly Shelved[] };

/**
 * Pictures and clips on disk between camera and cloud. A file is complete or absent: it is written as `.part`, synced, renamed,
 * and the folder synced, before anything refers to it. The folder holds at most `budgetBytes`, once what lay in it at
 * the start is measured; what is just being written comes on top. Files of silent events have room of their own, half as much
 * again: nothing else ever gives way for them or fails by them (safety 4). What the cloud has stays for `keepMs` as far
 * as there is room.
 */
export interface Spool {
  /** Makes the folder. Resolves with the names of all that waits in it. */
  open(): Promise<readonly string[]>;
  /** Counts the pictures among the names, then what is kept; removes what is none, such as the half-written file of a crash. */
  measure(names: readonly string[]): Promise<void>;
  /**
   * The picture of an event. On a full budget others give way for it, see `givingWay`. Rejects with `queue_full` where that
   * is not enough.
   */
  write(of: Place, bytes: Uint8Array): Promise<Stored>;
  /**
   * Lends the path of a part file while `work` writes a clip there, and takes it in as `write` does. The work begins before
   * this returns.
   */
  take(of: Place, work: (part: string) => Promise<void>): Promise<Stored>;
  remove(file: string): Promise<void>;
  /** The cloud has it, since now or the wall clock `at`. */
  keep(file: string, at?: number): Promise<void>;
  /** What was kept long enough goes. */
  expire(): Promise<void>;
  /** Whether a name is that of a picture or clip. */
  isOne(name: string): boolean;
  /** Bytes; undefined when there is no such file. */
  size(file: string): Promise<number | undefined>;
  /** Size and contents of a file as they are now; undefined when it is gone or empty. */
  inspect(file: string): Promise<StoredFile | undefined>;
  path(file: string): string;
  /** Where it waits, and where it is kept: it moves whole, so that who looks in this order finds it at any moment. */
  places(file: string): readonly string[];
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
  readonly kind: MediaItem['kind'];
  readonly silent?: true;
}

const namePattern = /^[0-9]+-[0-9]+\.(jpg|mp4)$/;
/** Of a folder in the spool; no file has this name. */
const keptName = 'kept';

/** The name its file has or would have. */
export const nameOf = ({ seq, index, kind, file }: Pick<Place, 'seq' | 'index' | 'kind'> & { file?: string }): string =>
  file ?? `${seq}-${index}.${kind === 'snapshot' ? 'jpg' : 'mp4'}`;

const mimeOf = (file: string): string => (file.endsWith('.mp4') ? 'video/mp4' : 'image/jpeg');

export function createSpool(options: { dir: string; budgetBytes: number; keepMs: number; wall: () => number }): Spool {
  const { dir, budgetBytes, keepMs, wall } = options;
  const kept = createKept({ dir: join(dir, keptName), keepMs, wall });
  let used = 0;
  /** Of silent events, which the budget of the others does not see. */
  let silentUsed = 0;
  /** By name; never more entries than files in the folder. */
  const shelf = new Map<string, Shelved>();
  /** Names whose bytes count no more, of files that give way and are not gone yet. */
  const leaving = new Set<string>();
  /** Several may want to be rid of the same file, or to keep it; it counts once. */
  const inTurn = createTurns();

  const sizeOf = (name: string): Promise<number | undefined> =>
    stat(join(dir, name)).then(
      (found) => (found.isFile() ? found.size : undefined),
      () => undefined,
    );

  /** A folder too, by whoever made it: nothing in here is anybody's but ours. */
  const discard = (name: string): Promise<void> => rm(join(dir, name), { recursive: true, force: true });

  async function removeNow(name: string): Promise<void> {
    const bytes = (await sizeOf(name)) ?? 0;
    await discard(name);
    countOff(name, bytes);
  }

  function countOff(name: string, bytes: number): void {
    if (!leaving.delete(name)) count(shelf.get(name)?.silent, -bytes);
    shelf.delete(name);
  }

  function count(silent: true | undefined, bytes: number): void {
    if (silent === true) silentUsed = Math.max(0, silentUsed + bytes);
    else used = Math.max(0, used + bytes);
  }

  const remove = (name: string): Promise<void> =>
    inTurn(name, () => (kept.has(name) ? kept.remove(name) : removeNow(name)));

  /** It does not give way after all, unless it is gone for another reason. */
  function stay(one: Shelved): void {
    if (!leaving.delete(one.file)) return;
    used += one.bytes;
    shelf.set(one.file, one);
  }

  /** Takes nothing away yet: what gives way only counts no more, nor is it there for others. */
  function makeRoom(of: Place, bytes: number): readonly Shelved[] {
    const gone = of.silent === true ? ownRoom(bytes) : roomOfOthers(of, bytes);
    if (gone !== undefined) {
      for (const { file, bytes } of gone) {
        countOff(file, bytes);
        leaving.add(file);
      }
      return gone;
    }
    throw new SitewardError(
      'queue_full',
      'it was not kept: the media budget is used up by pictures that wait for the cloud',
      { facts: { budgetBytes, usedBytes: used } },
    );
  }

  const ownRoom = (bytes: number): readonly Shelved[] | undefined =>
    silentUsed + bytes <= budgetBytes / 2 ? [] : undefined;

  function roomOfOthers(of: Place, bytes: number): readonly Shelved[] | undefined {
    // Without what is only kept: all of that goes before anything else.
    const over = used + bytes - budgetBytes;
    return over <= 0 ? [] : givingWay(shelf.values(), { ...of, bytes: over, isClip: of.kind !== 'snapshot' });
  }

  /** `settle` puts it in its place for good. */
  async function put(of: Place, bytes: number, settle: (path: string) => Promise<void>): Promise<readonly Shelved[]> {
    const { seq, index, lane, silent } = of;
    const file = nameOf(of);
    const gone = makeRoom(of, bytes);
    count(silent, bytes);
    try {
      if (silent !== true) await kept.shrinkTo(Math.max(0, budgetBytes - used));
      // Of numbers that were given before, when the database was another.
      await kept.remove(file);
      // Somebody may have removed it.
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await settle(join(dir, file));
    } catch (error) {
      count(silent, -bytes);
      gone.forEach(stay);
      throw error;
    }
    shelf.set(file, { file, bytes, seq, index, lane, ...(silent === true && { silent }) });
    for (const one of gone) await remove(one.file).catch(() => stay(one));
    return gone;
  }

  async function inspect(name: string): Promise<Pick<StoredFile, 'bytes' | 'sha256'> | undefined> {
    const bytes = await sizeOf(name);
    if (bytes === undefined || bytes === 0) return undefined;
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(join(dir, name)) as AsyncIterable<Buffer>) hash.update(chunk);
    return { bytes, sha256: hash.digest('hex') };
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
      silentUsed = 0;
      shelf.clear();
      return (await readdir(dir)).filter((name) => name !== keptName);
    },

    async measure(names) {
      for (const name of names) {
        const size = namePattern.test(name) ? await sizeOf(name) : undefined;
        if (size === undefined) await discard(name);
        else used += size;
      }
      await kept.measure();
    },

    async write(of, bytes) {
      const gone = await put(of, bytes.length, (path) => writeDurably(path, bytes));
      const [file, sha256] = [nameOf(of), createHash('sha256').update(bytes).digest('hex')];
      return { file, bytes: bytes.length, sha256, mime: mimeOf(file), gone };
    },

    async take(of, work) {
      const file = nameOf(of);
      const part = `${file}.part`;
      try {
        const folder = mkdir(dir, { recursive: true, mode: 0o700 }).catch(() => undefined);
        await work(join(dir, part));
        await folder;
        const found = await inspect(part);
        if (found === undefined) throw new SitewardError('stream_failed', 'the clip is empty');
        const gone = await put(of, found.bytes, (path) => takeDurably(path, join(dir, part)));
        return { file, ...found, mime: mimeOf(file), gone };
      } finally {
        await discard(part);
      }
    },

    remove,

    keep: (file, at = wall()) =>
      inTurn(file, async () => {
        const bytes = await sizeOf(file);
        if (keepMs === 0 || bytes === undefined || leaving.has(file)) return removeNow(file);
        try {
          await kept.add(file, join(dir, file), at);
          countOff(file, bytes);
        } catch {
          await removeNow(file);
        }
      }),

    expire: () => kept.expire(),

    isOne: (name) => namePattern.test(name),
    size: sizeOf,

    async inspect(file) {
      const found = await inspect(file);
      return found && { file, ...found, mime: mimeOf(file) };
    },

    places: (file) => [join(dir, file), kept.path(file)],
    path: (file) => (kept.has(file) ? kept.path(file) : join(dir, file)),

    shelve(picture) {
      // The start counted it as one of the others.
      if (picture.silent === true && shelf.get(picture.file)?.silent !== true) {
        count(undefined, -picture.bytes);
        count(true, picture.bytes);
      }
      shelf.set(picture.file, picture);
    },

    get usedBytes() {
      return used + silentUsed + kept.bytes;
    },

    get shownBytes() {
      const isShown = ({ lane, silent }: Shelved) => lane !== undefined && silent !== true;
      return [...shelf.values()].filter(isShown).reduce((sum, { bytes }) => sum + bytes, kept.bytes);
    },
  };
}
