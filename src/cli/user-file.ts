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
