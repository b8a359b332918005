import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, SitewardError } from '#errors.ts';

/** What the sandbox makes once and keeps for its next start: files of their owner only (0600) in one folder. */
export interface Kept {
  /** Folder and name of a file. */
  file(name: string): string;
  /** The content of a file, made when it is not there. Throws `state_dir_unusable`. */
  text(name: string, make: () => string): Promise<string>;
  /** Writes a file anew. Throws `state_dir_unusable`. */
  write(name: string, text: string): Promise<void>;
}

export function keptIn(folder: string): Kept {
  const file = (name: string) => join(folder, name);
  const guarded = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return await work();
    } catch (cause) {
      throw new SitewardError('state_dir_unusable', `The sandbox cannot keep ${name}: ${describe(cause)}`, {
        facts: { file: file(name) },
        cause,
      });
    }
  };
  return {
    file,
    text: (name, make) =>
      guarded(name, async () => {
        const known = await readFile(file(name), 'utf8').catch(() => undefined);
        if (known !== undefined && known.trim() !== '') return known.trim();
        const made = make();
        await writeFile(file(name), `${made}\n`, { mode: 0o600, flag: known === undefined ? 'wx' : 'w' });
        return made;
      }),
    write: (name, text) =>
      guarded(name, async () => {
        await writeFile(file(name), '', { mode: 0o600 });
        // One that was there keeps its mode otherwise.
        await chmod(file(name), 0o600);
        await writeFile(file(name), text);
      }),
  };
}

export const randomToken = (): string => randomBytes(32).toString('base64url');

/** The public half of a private key that is kept in a file, as PEM. */
export async function keptKey(kept: Kept, name: string): Promise<string> {
  const pem = await kept.text(name, () =>
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  );
  try {
    return createPublicKey(createPrivateKey(pem)).export({ type: 'spki', format: 'pem' }).toString();
  } catch (cause) {
    throw new SitewardError('state_dir_unusable', `The sandbox cannot use ${name}: ${describe(cause)}`, {
      facts: { file: kept.file(name) },
      cause,
    });
  }
}
