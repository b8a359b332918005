import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crashPoint } from './crash-point.ts';

/**
 * Writes a whole file that only this user may read (mode 0600). File, rename and folder are each synced: after a power
 * cut there is the old file or the new one, never half of one. Throws what the system throws and leaves nothing behind.
 */
export async function writeDurably(path: string, content: string | Uint8Array): Promise<void> {
  const part = `${path}.part`;
  try {
    const file = await open(part, 'w', 0o600);
    try {
      await file.chmod(0o600);
      await file.writeFile(content);
      crashPoint('file.part');
      await file.sync();
      crashPoint('file.synced');
    } finally {
      await file.close();
    }
    await rename(part, path);
    crashPoint('file.renamed');
    await syncFolder(dirname(path));
    crashPoint('file.dirsynced');
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Makes names in a folder durable: what was created, renamed or removed there. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
