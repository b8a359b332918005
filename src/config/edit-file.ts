import { type FileHandle, open, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SitewardError } from '#errors.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { syncFolder } from '#lib/durable-file.ts';

/** Who a file belongs to. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Puts `after` in the place of `before`: whoever reads the file meanwhile, and whatever power cut or kill comes, finds the
 * old text or the new one whole. Mode and owner stay; a link stays one. Throws `file_unusable` when the file does not hold
 * `before` any more, since somebody else changed it, and what the system throws.
 */
export async function replaceConfigText(file: string, before: string, after: string): Promise<void> {
  const path = await realpath(file);
  const { mode, uid, gid } = await stat(path);
  await removeLeftovers(path);
  await writePart(path, after, { mode: mode & 0o777, owner: { uid, gid } }, async () => {
    if ((await readFile(path, 'utf8')) === before) return;
    throw new SitewardError(
      'file_unusable',
      `${file} was changed by somebody else meanwhile; nothing was written. Try again`,
    );
  });
}

/** Writes a secret, or another one in its place, that only `owner` may read. Throws what the system throws. */
export async function writeSecretFile(path: string, text: string, owner: Owner): Promise<void> {
  await removeLeftovers(path);
  await writePart(path, `${text}\n`, { mode: 0o600, owner });
}

async function writePart(
  path: string,
  text: string,
  { mode, owner }: { readonly mode: number; readonly owner: Owner },
  check?: () => Promise<void>,
): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  try {
    const handle = await open(part, 'w', 0o600);
    try {
      await own(handle, owner);
      // Not before the owner: nobody else is to read it in between.
      await handle.chmod(mode);
      await handle.writeFile(text);
      crashPoint('file.part');
      await handle.sync();
      crashPoint('file.synced');
    } finally {
      await handle.close();
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

/** Only root may give a file away, and only then is it needed. */
async function own(handle: FileHandle, { uid, gid }: Owner): Promise<void> {
  const now = await handle.stat();
  if (now.uid !== uid || now.gid !== gid) await handle.chown(uid, gid);
}

/** What processes left behind that were killed at it. */
async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    const [, pid] = /\.(\d+)\.part$/.exec(name.startsWith(`${basename(path)}.`) ? name : '') ?? [];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(folder, name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
