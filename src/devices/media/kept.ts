import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Pictures and clips that the cloud has and that stay for a while, in a folder of their own: nothing waits for them, no
 * row is needed to know them, and whatever waits may have their room.
 */
export interface Kept {
  /** Takes in what lies there, one after the other. Never rejects. */
  measure(): Promise<void>;
  has(file: string): boolean;
  path(file: string): string;
  /** Moves a file here that the cloud has since `at`; rejects as the disk does. */
  add(file: string, from: string, at: number): Promise<void>;
  remove(file: string): Promise<void>;
  /** The oldest go until no more than so many bytes are left; they are counted no more at once. */
  shrinkTo(bytes: number): Promise<void>;
  /** Those go that have been here long enough. */
  expire(): Promise<void>;
  readonly bytes: number;
}

export function createKept(options: { dir: string; keepMs: number; wall: () => number }): Kept {
  const { dir, keepMs, wall } = options;
  /** `at`: wall clock when it came here, which is the file's time too. */
  const files = new Map<string, { readonly bytes: number; readonly at: number }>();
  /** Until all is measured: names of which nothing that lay here before counts any more. */
  let gone: Set<string> | undefined = new Set();
  let bytes = 0;

  const path = (file: string): string => join(dir, file);

  function enter(file: string, one: { readonly bytes: number; readonly at: number }): void {
    leave(file);
    files.set(file, one);
    bytes += one.bytes;
  }

  function leave(file: string): void {
    gone?.add(file);
    bytes -= files.get(file)?.bytes ?? 0;
    files.delete(file);
  }

  async function removeAll(names: readonly string[]): Promise<void> {
    for (const name of names) leave(name);
    for (const name of names) await rm(path(name), { recursive: true, force: true });
  }

  return {
    async measure() {
      for (const file of await readdir(dir).catch(() => [])) {
        const found = await stat(path(file)).catch(() => undefined);
        if (found !== undefined && gone?.has(file) !== true) enter(file, { bytes: found.size, at: found.mtimeMs });
      }
      gone = undefined;
    },

    has: (file) => files.has(file),
    path,

    async add(file, from, at) {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const { size } = await stat(from);
      await rename(from, path(file));
      enter(file, { bytes: size, at });
      // Without it a start takes it for older, no more.
      await utimes(path(file), at / 1000, at / 1000).catch(() => undefined);
    },

    remove: (file) => removeAll(files.has(file) || gone !== undefined ? [file] : []),

    shrinkTo(room) {
      let left = bytes;
      if (left <= room) return Promise.resolve();
      const oldestFirst = [...files].sort(([, a], [, b]) => a.at - b.at);
      const oldest = oldestFirst.filter(([, one]) => {
        if (left <= room) return false;
        left -= one.bytes;
        return true;
      });
      return removeAll(oldest.map(([file]) => file));
    },

    // A clock that was set back makes none older than it is.
    expire: () =>
      removeAll([...files].flatMap(([file, { at }]) => (wall() - at >= keepMs || keepMs === 0 ? file : []))),

    get bytes() {
      return bytes;
    },
  };
}
