import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { describe } from '#errors.ts';
import { syncFolder, writeDurably } from '#lib/durable-file.ts';
import { isMissing } from '#lib/system-code.ts';
import { type Keyed, keyBytes, keyed } from './hashing.ts';
import { type KeptUser, keptUser, maxUsers } from './types.ts';

/** Three times what 500 users with all they can have take. */
const fileCapBytes = 2 * 1024 * 1024;

const usersFile = z
  .strictObject({
    version: z.literal(1),
    /** Mark of the key everything below is hashed with. */
    key: z.string().length(16),
    users: z.array(keptUser).max(maxUsers).readonly(),
  })
  .refine(({ users }) => isUnique(users.map(({ id }) => id)), 'an id stands twice')
  .refine(({ users }) => isUnique(users.flatMap(findsOf)), 'a code stands twice');

const isUnique = (texts: readonly string[]): boolean => new Set(texts).size === texts.length;
const findsOf = ({ code, duress }: KeptUser): string[] => [code.find, ...(duress === undefined ? [] : [duress.find])];

/** What lies in the state directory. */
export type Kept =
  | {
      readonly state: 'usable';
      readonly users: readonly KeptUser[];
      /** Absent until the first user is added. */
      readonly keyed?: Keyed;
      /** See `Keeping.note`. */
      readonly note?: string;
    }
  /** Something is there that must not be written over: no code of it counts and nothing is changed. */
  | { readonly state: 'held'; readonly reason: string };

/** `users.json` and its key. Only one may have a folder at a time. */
export interface Keeping {
  /** Never rejects. A damaged file is set aside as `users.json.damaged`. */
  read(): Promise<Kept>;
  /** What a technician should know, although it works. Never rejects. */
  note(): Promise<string | undefined>;
  /** Makes the key if there is none yet; durable when it resolves. Rejects with what the system says. */
  key(): Promise<Keyed>;
  /** After a power cut there is the old file or the new one. Rejects with what the system says. */
  write(users: readonly KeptUser[], keyed: Keyed): Promise<void>;
}

/** `credential` is the file of a key that somebody else keeps, taken instead of ours where it exists. */
export function createKeeping({ dir, credential }: { dir: string; credential?: string | undefined }): Keeping {
  const path = join(dir, 'users.json');
  const damaged = `${path}.damaged`;
  const ownKey = join(dir, 'user-key');

  async function readKey(): Promise<Keyed | undefined> {
    const given = credential === undefined ? undefined : await readCapped(credential, keyBytes);
    const bytes = given ?? (await readCapped(ownKey, keyBytes));
    if (bytes === undefined) return undefined;
    if (bytes.length !== keyBytes) throw new Error(`user-key must be ${keyBytes} bytes long`);
    return keyed(bytes);
  }

  async function setAside(): Promise<void> {
    await rename(path, damaged);
    await syncFolder(dir);
  }

  async function noted(): Promise<string | undefined> {
    const found = await stat(damaged).catch(() => undefined);
    if (found === undefined) return undefined;
    const since = found.ctime.toISOString();
    return `a damaged list of users was set aside as ${damaged} on ${since}; see who is missing, add them, then remove that file`;
  }

  async function readAll(): Promise<Kept> {
    const bytes = await readCapped(path, fileCapBytes);
    const file = bytes === undefined ? undefined : parsed(bytes);
    if (file === 'damaged') await setAside();
    const { users = [], key: mark } = file === 'damaged' ? {} : (file ?? {});
    const key = await readKey();
    if (users.length > 0 && key === undefined) throw new Error('its key user-key is not there; put it back');
    if (users.length > 0 && key?.mark !== mark) throw new Error('its key is another one than user-key; put that back');
    const note = await noted();
    return { state: 'usable', users, ...(key !== undefined && { keyed: key }), ...(note !== undefined && { note }) };
  }

  return {
    read: () =>
      readAll().catch((error: unknown) => ({ state: 'held', reason: `${path} cannot be used: ${describe(error)}` })),
    note: noted,
    async key() {
      const found = await readKey();
      if (found !== undefined) return found;
      const fresh = randomBytes(keyBytes);
      await writeDurably(ownKey, fresh);
      return keyed(fresh);
    },
    write: (users, { mark }) =>
      writeDurably(path, `${JSON.stringify({ version: 1, key: mark, users } satisfies z.input<typeof usersFile>)}\n`),
  };
}

function parsed(bytes: Buffer): z.output<typeof usersFile> | 'damaged' {
  try {
    return usersFile.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
  } catch {
    // What is wrong with it may be a piece of it, so it is not told.
    return 'damaged';
  }
}

/** At most one byte more than `capBytes`, so that a file that is too long shows; undefined when there is none. */
async function readCapped(path: string, capBytes: number): Promise<Buffer | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    const buffer = Buffer.alloc(capBytes + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) return buffer.subarray(0, length);
    }
  } finally {
    await file.close();
  }
}
