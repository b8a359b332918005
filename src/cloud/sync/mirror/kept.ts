import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { describe, SitewardError } from '#errors.ts';
import { syncFolder, writeDurably } from '#lib/durable-file.ts';
import { isMissing } from '#lib/system-code.ts';
import { type MirrorContent, mirrorContent } from './content.ts';

/** Of the state directory. */
const mirrorFile = 'cloud-mirror';
const mirrorKeyFile = 'cloud-mirror-key';

const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;
const head = Buffer.from('SWM1');
/** Above what full lists take. */
const fileCapBytes = 4 * 1024 * 1024;

export interface MirrorKeeperOptions {
  /** The state directory. */
  readonly dir: string;
  /** File of a key that somebody else keeps, taken instead of ours where it exists. */
  readonly credential?: string | undefined;
  /** Whose it is: the file of another site cannot be opened. */
  readonly of: string;
  readonly log: Logger;
}

/** The mirror on disk: one file, AES-256-GCM, under a key that lies beside it or is a credential of systemd. */
export interface MirrorKeeper {
  /** None where there is none, where it is another site's, and where it cannot be read. Never rejects. */
  load(): Promise<MirrorContent | undefined>;
  /**
   * After a power cut there is the old file or the new one. Rejects with what the system says, and with `secret_unreadable` where a key is
   * given and cannot be used: then nothing is written, under no other key.
   */
  keep(content: MirrorContent): Promise<void>;
}

export function createMirrorKeeper({ dir, credential, of, log }: MirrorKeeperOptions): MirrorKeeper {
  const path = join(dir, mirrorFile);
  const ownKey = join(dir, mirrorKeyFile);

  /** Undefined where none is given. Rejects with `secret_unreadable` where one is and cannot be used: who gave it wants no other one. */
  async function givenKey(): Promise<Buffer | undefined> {
    if (credential === undefined) return undefined;
    const bytes = await bytesOf(credential).catch((error: unknown) => {
      throw unusable(`cannot be read: ${describe(error)}`);
    });
    if (bytes !== undefined && bytes.length !== keyBytes)
      throw unusable(`is ${bytes.length} bytes long and must be ${keyBytes} random ones`);
    return bytes;
  }

  async function readKey(): Promise<Buffer | undefined> {
    const bytes = (await givenKey()) ?? (await bytesOf(ownKey));
    if (bytes !== undefined && bytes.length !== keyBytes)
      throw new Error(`${mirrorKeyFile} must be ${keyBytes} bytes long`);
    return bytes;
  }

  async function key(): Promise<Buffer> {
    const given = await givenKey();
    if (given !== undefined) return given;
    const found = await readKey().catch(() => undefined);
    if (found !== undefined) return found;
    // Without its key the old file is worth nothing, and the cloud has it all.
    const fresh = randomBytes(keyBytes);
    await writeDurably(ownKey, fresh);
    return fresh;
  }

  return {
    async load() {
      try {
        const sealed = await bytesOf(path);
        if (sealed === undefined) return undefined;
        const secret = await readKey();
        if (secret === undefined) throw new Error(`its key ${mirrorKeyFile} is not there`);
        return mirrorContent.parse(JSON.parse(opened(sealed, secret, of)));
      } catch (error) {
        // What is wrong with it may be a piece of it, so no more than the kind is told.
        const why = error instanceof Error && 'issues' in error ? 'its form is another one' : describe(error);
        log.warn({ reason: why }, 'what was kept of the site in the cloud cannot be read; it is read anew');
        return undefined;
      }
    },
    async keep(content) {
      await writeDurably(path, sealed(JSON.stringify(content), await key(), of));
    },
  };
}

const unusable = (why: string): SitewardError =>
  new SitewardError(
    'secret_unreadable',
    `the credential ${mirrorKeyFile} ${why}. Mend LoadCredential= in the unit and restart, or take the line out`,
  );

/** Takes the file and its own key away: without the key nothing of it can be read, wherever a copy lies. Rejects with what the system says. */
export async function removeMirror(dir: string): Promise<void> {
  // A power cut may have left what was being written.
  for (const name of [mirrorKeyFile, mirrorFile])
    for (const path of [join(dir, name), join(dir, `${name}.part`)]) await rm(path, { force: true });
  await syncFolder(dir);
}

function sealed(text: string, key: Buffer, of: string): Buffer {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(of));
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([head, iv, cipher.getAuthTag(), body]);
}

function opened(bytes: Buffer, key: Buffer, of: string): string {
  const start = head.length + ivBytes + tagBytes;
  if (bytes.length < start || !bytes.subarray(0, head.length).equals(head)) throw new Error('it is damaged');
  const iv = bytes.subarray(head.length, head.length + ivBytes);
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes })
    .setAAD(Buffer.from(of))
    .setAuthTag(bytes.subarray(head.length + ivBytes, start));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(start)), decipher.final()]).toString('utf8');
  } catch {
    throw new Error('it is damaged, of another site, or under another key');
  }
}

/** Undefined where there is none. */
async function bytesOf(path: string): Promise<Buffer | undefined> {
  try {
    if ((await stat(path)).size > fileCapBytes) throw new Error('it is too long');
    return await readFile(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
