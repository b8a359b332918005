import { readFile, realpath, rm, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve } from 'node:path';
import { stringify } from 'yaml';
import { SitewardError } from '#errors.ts';
import { writeDurably } from '#lib/durable-file.ts';
import { parseConfig } from './document.ts';
import { backupOf, partOf, removeLeftovers } from './edit-file.ts';
import { fixedChanges } from './form.ts';
import { checkText, referencedFiles } from './load.ts';
import { isMadeSecret, secretsBeside } from './secret-files.ts';

type Written = Readonly<Record<string, unknown>>;

/** What a factory reset keeps: whose numbers and topics these are, where siteward lies and where it listens. No secret, no device. */
const keptMembers: Readonly<Record<string, readonly string[] | 'all'>> = {
  site: ['id', 'external_id', 'timezone'],
  bridge: 'all',
  store: 'all',
  http: ['control_socket', 'listen', 'names'],
  mqtt: ['broker', 'listen', 'tls', 'names', 'ca'],
  log: 'all',
};

/**
 * The configuration of the first day, made of the one in force. `head` is its first line; `isGone` tells of files that it can
 * name no more. Throws `config_invalid` where no valid one can be made.
 */
export function factoryText(
  file: string,
  text: string,
  { head, isGone }: { head: string; isGone: (path: string) => boolean },
): string {
  const value = parseConfig(file, text).value as Written;
  const sections = Object.entries(keptMembers).flatMap(([name, members]) => {
    const section = value[name];
    if (typeof section !== 'object' || section === null) return [];
    const kept = Object.entries(section).filter(
      ([key, member]) =>
        (members === 'all' || members.includes(key)) && !(key === 'ca' && typeof member === 'string' && isGone(member)),
    );
    return kept.length === 0 ? [] : [[name, Object.fromEntries(kept)] as const];
  });
  const first = { ...Object.fromEntries(sections), partitions: [{ id: 'p1', name: 'Partition 1' }] };
  const made = `# ${head}\n${stringify(first, { aliasDuplicateObjects: false, lineWidth: 0 })}`;
  const [before, after] = [text, made].map((one) => checkText(file, one, { secrets: 'unread' }).loaded?.settings);
  if (after === undefined || (before !== undefined && fixedChanges(before, after).length > 0))
    throw new SitewardError(
      'config_invalid',
      'no configuration of the first day can be made of this one; write one by hand',
    );
  return made;
}

export const isWithin = (folder: string, path: string): boolean => {
  const way = relative(folder, resolve(path));
  return way !== '' && way !== '..' && !way.startsWith('../') && !isAbsolute(way);
};

/** The files it names that lie in its own folder of secrets, or that siteward made elsewhere; others may be somebody else's. */
export const ownSecretFiles = (file: string, text: string): string[] =>
  referencedFiles(text).filter((path) => isWithin(secretsBeside(file), path) || isMadeSecret(file, text, path));

/**
 * Puts a text in the place of the configuration, whatever stands there and whether anything does; nothing of the file before
 * is left beside it. After a power cut there is the old file or the new one. Throws what the system throws.
 */
export async function overwriteConfigText(file: string, text: string): Promise<void> {
  const path = await configPlace(file);
  const about = await stat(path).catch(() => undefined);
  const isRoot = process.getuid?.() === 0;
  await removeLeftovers(path);
  await writeDurably(path, text, {
    ...(about !== undefined && { mode: about.mode & 0o777 }),
    // Nobody else may give a file away.
    ...(about !== undefined && isRoot && { owner: { uid: about.uid, gid: about.gid } }),
    part: partOf(path),
  });
}

/** The backup of a saved configuration holds what stood in it before. */
export async function removeConfigBackup(file: string): Promise<void> {
  const path = await configPlace(file);
  for (const one of new Set([path, resolve(file)])) await rm(backupOf(one), { force: true });
  await removeLeftovers(path);
}

export const holdsConfigText = async (file: string, text: string): Promise<boolean> =>
  (await readFile(file, 'utf8').catch(() => undefined)) === text;

/** Where the file really lies: a link stays one. */
export const configPlace = (file: string): Promise<string> => realpath(file).catch(() => resolve(file));
