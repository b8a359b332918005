import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { textOf, writeDurably } from '#lib/durable-file.ts';

/** Backups that were made while no daemon was there to put them on record. In the state directory, and yet no part of the state. */
export const backupsName = 'backups-done.json';

const note = z.object({ count: z.int().positive(), last: z.iso.datetime() });

/** For the next start of the daemon. Throws what the system throws. */
export async function noteBackup(dir: string, at: string): Promise<void> {
  const { uid, gid } = await stat(dir);
  const before = readNote(dir);
  const text = JSON.stringify({ count: (before?.count ?? 0) + 1, last: at });
  await writeDurably(join(dir, backupsName), text, process.getuid?.() === 0 ? { owner: { uid, gid } } : {});
}

/** Those that were noted, until `forget`. */
export function notedBackups(
  dir: string,
): { readonly count: number; readonly last: string; forget(): Promise<void> } | undefined {
  const found = readNote(dir);
  if (found === undefined) return undefined;
  return { ...found, forget: () => rm(join(dir, backupsName), { force: true }).catch(() => undefined) };
}

function readNote(dir: string): z.output<typeof note> | undefined {
  try {
    return note.parse(JSON.parse(textOf(join(dir, backupsName)) ?? ''));
  } catch {
    return undefined;
  }
}
