import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { readConfigText } from '#config/index.ts';
import { type Owner, writeDurably } from '#lib/durable-file.ts';
import { withFile } from '../named-file.ts';

const keyNote = z.object({
  /** RFC 7638, of the key that becomes the current one. */
  thumbprint: z.string(),
  /** File of the old key that siteward did not make, and that stays. */
  left: z.string().optional(),
});
/** A change of the key that a call is in the middle of: the configuration alone does not tell one that ended from one that was killed. */
export type KeyNote = z.output<typeof keyNote>;

const pathOf = (stateDir: string): string => join(stateDir, 'key-change.json');

/** A note that nobody can read is none. */
export async function readKeyNote(stateDir: string): Promise<KeyNote | undefined> {
  try {
    return keyNote.parse(JSON.parse(await readConfigText(pathOf(stateDir))));
  } catch {
    return undefined;
  }
}

/** Mode 0600, beside the state. Throws `file_unusable`. */
export async function keepKeyNote(stateDir: string, note: KeyNote, owner: Owner): Promise<void> {
  const path = pathOf(stateDir);
  await withFile(path, async () => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeDurably(path, `${JSON.stringify(note)}\n`, { owner });
  });
}

/** Throws `file_unusable`. */
export const dropKeyNote = (stateDir: string): Promise<void> =>
  withFile(pathOf(stateDir), () => rm(pathOf(stateDir), { force: true }));
