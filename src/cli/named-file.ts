import { access, constants, type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SitewardError } from '#errors.ts';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not open it',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'it is there already',
  EISDIR: 'it is a folder; name a file',
  ELOOP: 'it is a link that leads nowhere',
  ENOENT: 'there is no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'its folder is a file',
  EPERM: 'this user may not open it',
  EROFS: 'the disk takes no writes',
};

export const unusable = (message: string, cause?: unknown): SitewardError =>
  new SitewardError('file_unusable', message, cause === undefined ? {} : { cause });

/** What the system says of a file that somebody named, in a sentence; anything else comes back as it is. */
export function fileFailure(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return error;
  return unusable(`${path} cannot be used: ${reasons[String(error.code)] ?? error.message}`);
}

/** Does something with a file that somebody named. Throws `file_unusable` where the system refuses it. */
export async function withFile<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileFailure(path, error);
  }
}

/** Why no file can be written at `out`, as far as can be told before. Throws `file_unusable`. */
export async function refuseTaken(out: string, force: boolean | 'never'): Promise<void> {
  await withFile(dirname(out), () => access(dirname(out), constants.W_OK));
  const there = await lstat(out).catch(() => undefined);
  if (there !== undefined && !there.isFile()) throw unusable(`${out} is no regular file; name a file`);
  if (there !== undefined && force !== true) throw unusable(taken(out, force !== 'never'));
}

const taken = (path: string, mayForce = true) =>
  `${path} is there already; name another file${mayForce ? ', or replace it with --force' : ''}`;

/**
 * A file that is there is replaced as a whole or, without `force`, not touched (`never`: the verb has no --force); a device or a link never is. What failed
 * half-way leaves nothing. Throws `file_unusable`, and what `fill` does.
 */
export async function intoFile(
  out: string,
  force: boolean | 'never',
  fill: (file: FileHandle) => Promise<number>,
): Promise<number> {
  const there = await lstat(out).catch(() => undefined);
  if (there !== undefined && !there.isFile()) {
    throw unusable(`${out} is no regular file; name a file, or leave --out away to write to standard output`);
  }
  const isForced = force === true;
  const path = isForced ? `${out}.${process.pid}.part` : out;
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw fileFailure(path, error);
    throw unusable(taken(path, force !== 'never'));
  });
  try {
    const count = await fill(file);
    await withFile(out, async () => {
      await file.sync();
      await file.close();
      if (isForced) await rename(path, out);
    });
    return count;
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(path, { force: true });
    throw fileFailure(out, error);
  }
}
