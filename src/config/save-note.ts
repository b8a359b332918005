import { realpath, rm } from 'node:fs/promises';
import { z } from 'zod';
import { writeDurably } from '#lib/durable-file.ts';
import { partOf } from './edit-file.ts';
import { readConfigText } from './read-text.ts';
import { isOurSecret, removeSecrets } from './secret-files.ts';

/**
 * Notes down which secrets a save is about to write or to leave without use, so that those of one that was killed are found again
 * (`endSave`). What an earlier note has stays in it. Throws what the system throws.
 */
export async function beginSave(file: string, secrets: readonly string[]): Promise<void> {
  const path = await realpath(file);
  const known = await noted(path);
  await writeDurably(noteOf(path), JSON.stringify([...new Set([...known, ...secrets])].slice(-notedCap)), {
    part: partOf(path),
  });
}

/**
 * Removes what a save has noted down and no text mentions: the text of the file, and the one in force. Where the one in force alone
 * does, the note stays for the next time. Throws what the system throws.
 */
export async function endSave(file: string, texts: { file: string; inForce: string }): Promise<void> {
  const path = await realpath(file);
  const secrets = await noted(path);
  if (secrets.length === 0) return;
  const unused = secrets.filter((one) => isOurSecret(one) && !mentions(texts.file, one));
  await removeSecrets(unused.filter((one) => !mentions(texts.inForce, one)));
  if (!unused.some((one) => mentions(texts.inForce, one))) await rm(noteOf(path), { force: true });
}

/** Anywhere, a comment too: a file may be broken, or an entry be left out for a while. */
const mentions = (text: string, path: string): boolean =>
  text
    .split(path)
    .slice(1)
    .some((rest) => !/^[a-z0-9_-]/i.test(rest));

const notedCap = 1000;
const noteOf = (path: string): string => `${path}.saving`;

async function noted(path: string): Promise<readonly string[]> {
  try {
    return z.array(z.string()).parse(JSON.parse(await readConfigText(noteOf(path))));
  } catch {
    return [];
  }
}
