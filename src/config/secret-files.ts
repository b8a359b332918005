import { chown, mkdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { SitewardError } from '#errors.ts';
import type { Owner } from '#lib/durable-file.ts';
import { parseConfig } from './document.ts';
import { isOurName, removeSecretLeftovers, writeSecretFile } from './edit-file.ts';

/** Files that siteward keeps secrets in, each for one place of the configuration that refers to it. */

export interface SecretFile {
  readonly path: string;
  /** Without a line end. */
  readonly text: string;
}

/** Files that secrets lie in, in the order of the text. */
export function secretFiles(text: string, sections?: readonly string[]): readonly string[] {
  const found: string[] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('file' in node && typeof node.file === 'string') found.push(node.file);
    for (const member of Object.values(node)) walk(member);
  };
  const { value } = parseConfig('', text);
  if (typeof value !== 'object' || value === null) return [];
  for (const [section, node] of Object.entries(value)) if (sections?.includes(section) ?? true) walk(node);
  return found;
}

/** The folder of secrets that belongs to a configuration. */
export const secretsBeside = (file: string): string => join(dirname(resolve(file)), 'secrets');

/** Where a new secret goes: where one of a camera or recorder lies already, else beside the configuration. */
export function secretFolder(file: string, text: string): string {
  const [known] = secretFiles(text, ['cameras', 'nvrs']);
  return known === undefined ? secretsBeside(file) : dirname(known);
}

export const isOurSecret = (path: string): boolean => isOurName(basename(path));

/**
 * A file for a secret that nothing in the configuration refers to, that is none of `taken`, and that is not there yet: it might
 * hold the only copy of something else. One with the text `adopted` is what an earlier try has left, for callers who could read
 * it anyway: its name tells that the text is the same. Throws `file_unusable`.
 */
export async function freeSecretFile(
  folder: string,
  name: string,
  taken: readonly string[],
  adopted?: string,
): Promise<string> {
  const names = [name, ...Array.from({ length: 100 }, (_, n) => `${name}-${n + 2}`)];
  for (const path of names.map((one) => join(folder, one)).filter((one) => !taken.includes(one))) {
    if (!(await isThere(path)) || (adopted !== undefined && (await holds(path, adopted)))) return path;
  }
  throw new SitewardError('file_unusable', `${folder} has no free name like ${name} for a secret`);
}

const holds = async (path: string, secret: string): Promise<boolean> =>
  (await readFile(path, 'utf8').catch(() => '')) === `${secret}\n`;

/** Whether it is one that siteward made for this configuration: by its name, in a folder that siteward puts such into. */
export const isMadeSecret = (file: string, text: string, path: string): boolean =>
  isOurSecret(path) && [secretFolder(file, text), secretsBeside(file)].includes(dirname(path));

const isThere = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );

/** Who must be able to read secrets: the daemon's user, who owns the state directory. Only root can give a file away. */
export async function secretOwner(stateDir: string, file: string): Promise<Owner> {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  if (uid !== 0) return { uid, gid };
  return stat(stateDir).catch(() => stat(file));
}

/**
 * A folder that an administrator has made for keys of his own may be closed to siteward: a secret there would be written, and never read.
 * Throws `file_unusable` with what to do; one that is not there yet is fine.
 */
export async function mustLetIn(folder: string, { uid, gid }: Owner): Promise<void> {
  const about = await stat(folder).catch(() => undefined);
  if (about === undefined || uid === 0) return;
  const bit = about.uid === uid ? 0o100 : about.gid === gid ? 0o010 : 0o001;
  if ((about.mode & bit) === 0)
    throw new SitewardError(
      'file_unusable',
      `${folder} does not let siteward in, so that it could not read a secret there; chown ${uid}:${gid} ${folder}`,
      { facts: { folder } },
    );
}

/**
 * Writes secrets that `owner` alone may read. Gives back what removes those again that were not there before; where one fails, that
 * is done at once. Throws what the system throws.
 */
export async function writeSecrets(files: readonly SecretFile[], owner: Owner): Promise<() => Promise<void>> {
  const made: string[] = [];
  const undo = async () => {
    for (const path of made) await rm(path, { force: true }).catch(() => undefined);
  };
  try {
    for (const { path, text } of files) {
      const folder = await mkdir(dirname(path), { recursive: true, mode: 0o750 });
      // Whoever may read the secret must be let into the folder as well.
      if (folder !== undefined) await chown(folder, owner.uid, owner.gid);
      await mustLetIn(dirname(path), owner);
      if (!(await isThere(path))) made.push(path);
      await writeSecretFile(path, text, owner);
    }
    return undo;
  } catch (error) {
    await undo();
    throw error;
  }
}

/** Those of `paths` that siteward made, and that the text refers to no more. */
export function unusedSecrets(
  file: string,
  paths: readonly string[],
  texts: { before: string; after: string },
): string[] {
  const used = new Set(secretFiles(texts.after));
  return [...new Set(paths)].filter((path) => !used.has(path) && isMadeSecret(file, texts.before, path));
}

/** Throws what the system throws. */
export async function removeSecrets(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await rm(path, { force: true });
    await removeSecretLeftovers(dirname(path)).catch(() => undefined);
  }
}
