import { readFileSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crashPoint } from './crash-point.ts';

/** Who a file belongs to. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export interface DurableFile {
  /** Only this user may read it unless it says otherwise. */
  readonly mode?: number;
  readonly owner?: Owner;
  /** Where it is written first; in the same folder. */
  readonly part?: string;
  /** What must hold when it takes its place; throws when it does not. */
  readonly check?: () => Promise<void>;
}

/**
 * Writes a whole file. File, rename and folder are each synced: after a power cut there is the old file or the new one,
 * never half of one. Throws what the system throws and leaves nothing behind.
 */
export async function writeDurably(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600, owner, part = `${path}.part`, check }: DurableFile = {},
): Promise<void> {
  try {
    const file = await open(part, 'w', 0o600);
    try {
      if (owner !== undefined) await own(file, owner);
      // Not before the owner: nobody else is to read it in between.
      await file.chmod(mode);
      await file.writeFile(content);
      crashPoint('file.part');
      await file.sync();
      crashPoint('file.synced');
    } finally {
      await file.close();
    }
    await check?.();
    await rename(part, path);
    crashPoint('file.renamed');
    await syncFolder(dirname(path));
    crashPoint('file.dirsynced');
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw error;
  }
}

/**
 * As `writeDurably`, for a file that another program has written as `part`, in the same folder. Throws what the system
 * throws and leaves the part behind.
 */
export async function takeDurably(path: string, part: string): Promise<void> {
  const file = await open(part, 'r+');
  try {
    await file.chmod(0o600);
    crashPoint('clip.part');
    await file.sync();
    crashPoint('clip.synced');
  } finally {
    await file.close();
  }
  await rename(part, path);
  crashPoint('clip.renamed');
  await syncFolder(dirname(path));
  crashPoint('clip.dirsynced');
}

/** Only root may give a file away, and only then is it needed. */
async function own(file: FileHandle, { uid, gid }: Owner): Promise<void> {
  const now = await file.stat();
  if (now.uid !== uid || now.gid !== gid) await file.chown(uid, gid);
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

/** Undefined where it is not there or cannot be read. At once: where a start waits, nothing else takes its turn meanwhile. */
export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
