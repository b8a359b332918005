import { readdir, readFile, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SitewardError } from '#errors.ts';
import { type Owner, writeDurably } from '#lib/durable-file.ts';
import { systemCode } from '#lib/system-code.ts';

/**
 * Puts `after` in the place of `before`: whoever reads the file meanwhile, and whatever power cut or kill comes, finds the
 * old text or the new one whole. Mode and owner stay; a link stays one. With `backup` the old text is kept beside it as
 * `FILE.bak`, in the place of an earlier one. Throws `config_changed` when the file does not hold `before` any more, since
 * somebody else changed it, and what the system throws.
 */
export async function replaceConfigText(
  file: string,
  before: string,
  after: string,
  { backup = false }: { backup?: boolean } = {},
): Promise<void> {
  const path = await realpath(file);
  const { mode, uid, gid } = await stat(path);
  await removeLeftovers(path);
  const check = async () => {
    if ((await readFile(path, 'utf8')) === before) return;
    throw configChanged(file);
  };
  const as = { mode: mode & 0o777, owner: { uid, gid }, part: partOf(path), check };
  if (backup) {
    await check();
    await writeDurably(backupOf(path), before, as);
  }
  await writeDurably(path, after, as);
}

/** The file is not the one any more that a change was made for. */
export const configChanged = (file: string): SitewardError =>
  new SitewardError(
    'config_changed',
    `${file} was changed by somebody else meanwhile; nothing was written. Look at it again and repeat the change`,
  );

/** Where the text before the last save lies. */
export const backupOf = (path: string): string => `${path}.bak`;

/** Writes a secret, or another one in its place, that only `owner` may read. Throws what the system throws. */
export async function writeSecretFile(path: string, text: string, owner: Owner): Promise<void> {
  await removeLeftovers(path);
  await removeSecretLeftovers(dirname(path));
  await writeDurably(path, `${text}\n`, { owner, part: partOf(path) });
}

const writingMs = 10 * 60_000;

/** Where a file is written first. */
export const partOf = (path: string): string => `${path}.${process.pid}.part`;

/** Names of files with secrets that siteward makes, and of no others: what has one it may remove again. */
export const isOurName = (name: string): boolean => /^(camera|speaker|cloud)-[a-z0-9][a-z0-9_-]{0,99}$/.test(name);

/** What processes left behind that were killed at it. */
export async function removeLeftovers(path: string): Promise<void> {
  await removeParts(dirname(path), (name) => name.startsWith(`${basename(path)}.`));
}

/** The same for the secrets in a folder, whatever they were of. Throws what the system throws. */
export async function removeSecretLeftovers(folder: string): Promise<void> {
  await removeParts(folder, (name) => isOurName(name.replace(/\.\d+\.part$/, '')));
}

async function removeParts(folder: string, isOurs: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid] = /\.(\d+)\.part$/.exec(isOurs(name) ? name : '') ?? [];
    if (pid === undefined) continue;
    const path = join(folder, name);
    const about = await stat(path).catch(() => undefined);
    // A number is given out again after a restart; nobody writes a few bytes for so long.
    const isOld = about === undefined || Date.now() - about.mtimeMs > writingMs;
    if (isOld || !isAlive(Number(pid))) await rm(path, { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}
