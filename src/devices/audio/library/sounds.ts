import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '#lib/durable-file.ts';
import { damagedName } from './index-file.ts';
import { readRegular } from './regular-file.ts';

/** The sound of imported messages, each file named after its contents, and which sounds could be read. */
export interface Sounds {
  /** Nobody knows which files are used: the list of messages was damaged. */
  readonly isUnsure: boolean;
  /** Of all files. */
  readonly bytes: number;
  pathOf(sha256: string): string;
  /** The file is there. */
  has(sha256: string): boolean;
  /** It could not be read when that was last tried. */
  isUnreadable(sha256: string): boolean;
  /** Reads one, of an imported message or a built-in one, and notes whether it could. */
  read<T>(sha256: string, load: () => Promise<T>): Promise<T>;
  /** What is there already, byte for byte, is not written again. */
  keep(sha256: string, wav: Buffer): Promise<void>;
  drop(sha256: string): Promise<void>;
}

const soundName = /^[0-9a-f]{64}\.wav$/;
const partName = /\.part$/;

/** Removes what none of `used` needs, unless nobody knows which do. */
export async function openSounds(folder: string, used: readonly { readonly sha256: string }[]): Promise<Sounds> {
  const sizes = new Map<string, number>();
  /** Those whose sound could not be read when it was last tried. */
  const unreadable = new Set<string>();
  const pathOf = (sha256: string) => join(folder, `${sha256}.wav`);

  const names = await readdir(folder);
  const isUnsure = names.includes(damagedName);
  const wanted = new Set(used.map(({ sha256 }) => `${sha256}.wav`));
  for (const name of names)
    if (partName.test(name) || (!isUnsure && soundName.test(name) && !wanted.has(name)))
      await rm(join(folder, name), { force: true });
  for (const { sha256 } of used) {
    const bytes = await sizeOf(pathOf(sha256));
    if (bytes !== undefined) sizes.set(sha256, bytes);
  }

  return {
    isUnsure,
    get bytes() {
      return [...sizes.values()].reduce((sum, size) => sum + size, 0);
    },
    pathOf,
    has: (sha256) => sizes.has(sha256),
    isUnreadable: (sha256) => unreadable.has(sha256),
    async read(sha256, load) {
      try {
        const loaded = await load();
        unreadable.delete(sha256);
        return loaded;
      } catch (error) {
        unreadable.add(sha256);
        throw error;
      }
    },
    async keep(sha256, wav) {
      const there = await readRegular(pathOf(sha256)).catch(() => undefined);
      if (there === undefined || !wav.equals(there)) await writeDurably(pathOf(sha256), wav);
      sizes.set(sha256, wav.length);
      unreadable.delete(sha256);
    },
    async drop(sha256) {
      sizes.delete(sha256);
      unreadable.delete(sha256);
      await rm(pathOf(sha256), { force: true });
    },
  };
}

const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
