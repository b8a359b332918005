import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import {
  checkText,
  formatProblem,
  loadConfig,
  type Problem,
  replaceConfigText,
  type Settings,
  sitePlan,
} from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import type { Owner } from '#lib/durable-file.ts';
import type { Secret } from '#lib/secret.ts';
import { panelProblems } from '../daemon/folders.ts';
import { withFile } from './user-file.ts';

/** The configuration file as it is now. */
export interface SiteFile {
  readonly file: string;
  readonly text: string;
  readonly settings: Settings;
}

/** Throws `config_unreadable`, or `config_invalid`: what has errors already is not changed. Secrets are not needed for it. */
export function openSiteFile(file: string): SiteFile {
  const { text, settings } = loadConfig(file, { unreadableSecrets: 'degrade', alsoCheck: panelProblems(file) });
  return { file, text, settings };
}

/**
 * Puts the changed text in the place of the file once siteward's own check finds nothing wrong with it. Throws
 * `config_invalid` with what it found, in words of the change, since the lines are not those of the file.
 */
export async function writeSiteFile(site: SiteFile, text: string): Promise<void> {
  mustBeGood(site, text);
  await withFile(site.file, () => replaceConfigText(site.file, site.text, text));
}

/** The check alone. */
export function mustBeGood({ file }: SiteFile, text: string): void {
  const { problems } = checkText(file, text, { unreadableSecrets: 'degrade', alsoCheck: panelProblems(file) });
  if (problems.length === 0) return;
  throw new SitewardError(
    'config_invalid',
    `nothing was changed, since ${file} would be wrong: ${problems.map(said).join('; ')}`,
  );
}

const said = (problem: Problem): string => formatProblem(problem).slice(formatProblem(problem).indexOf(' ') + 1);

/** Where a camera, recorder or channel stands in the file. */
export interface Place {
  readonly id: string;
  readonly kind: 'camera' | 'nvr' | 'channel';
  /** Of a channel: the recorder. */
  readonly nvr?: string;
  readonly section: 'cameras' | 'nvrs';
  /** Of the camera, or of the recorder, in its section. */
  readonly index: number;
  readonly url: string;
}

export function placesOf({ cameras, nvrs }: Settings): readonly Place[] {
  return [
    ...cameras.map(({ id, url }, index): Place => ({ id, url, index, kind: 'camera', section: 'cameras' })),
    ...nvrs.flatMap(({ id, url, channels }, index): Place[] => {
      const at = { url, index, section: 'nvrs' } as const;
      return [
        { id, kind: 'nvr', ...at },
        ...channels.map((one): Place => ({ id: one.id, kind: 'channel', nvr: id, ...at })),
      ];
    }),
  ];
}

/** A camera or a recorder. Throws `camera_unknown`, and `camera_refused` for a channel, which is changed with its recorder. */
export function mustFind({ settings, file }: SiteFile, id: string): Place {
  const found = placesOf(settings).find((place) => place.id === id);
  if (found === undefined) throw new SitewardError('camera_unknown', `${file} has no camera or recorder ${id}`);
  if (found.kind !== 'channel') return found;
  throw new SitewardError(
    'camera_refused',
    `${id} is a channel of the recorder ${found.nvr}: change the recorder, or edit the line of the channel in ${file}`,
  );
}

/** The members of an entry as they stand in the file. */
export function writtenEntry({ text }: SiteFile, { section, index }: Place): Record<string, unknown> {
  const value = parse(text, { logLevel: 'silent' }) as Record<string, Record<string, unknown>[]>;
  return value[section]?.[index] ?? {};
}

/** The folder of the cameras' secrets: where one lies already, else `secrets` beside the configuration. */
export function secretFolder({ file, text }: SiteFile): string {
  const [known] = secretFiles(text, ['cameras', 'nvrs']);
  return known === undefined ? join(dirname(resolve(file)), 'secrets') : dirname(known);
}

/**
 * A file for the password of `id` that nothing in the configuration refers to and that is not there yet: it might hold the
 * only copy of something else. One with this very password is what an earlier try has left.
 */
export async function freeSecretFile(site: SiteFile, id: string, password: Secret): Promise<string> {
  const taken = secretFiles(site.text);
  const folder = secretFolder(site);
  const names = [`camera-${id}`, ...Array.from({ length: 100 }, (_, n) => `camera-${id}-${n + 2}`)];
  for (const path of names.map((name) => join(folder, name)).filter((name) => !taken.includes(name))) {
    if (!existsSync(path) || (await readFile(path, 'utf8').catch(() => '')) === `${password.reveal()}\n`) return path;
  }
  throw new SitewardError('file_unusable', `${folder} has no free name for the password of ${id}`);
}

/** Files that secrets lie in, in the order of the text. */
export function secretFiles(text: string, sections?: readonly string[]): readonly string[] {
  const value = parse(text, { logLevel: 'silent' }) as Record<string, unknown>;
  const found: string[] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('file' in node && typeof node.file === 'string') found.push(node.file);
    for (const member of Object.values(node)) walk(member);
  };
  for (const [section, node] of Object.entries(value)) if (sections?.includes(section) ?? true) walk(node);
  return found;
}

/** Who must be able to read the secret: the daemon's user, who owns the state directory. Only root can give a file away. */
export async function secretOwner({ settings, file }: SiteFile): Promise<Owner> {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  if (uid !== 0) return { uid, gid };
  return stat(settings.store.dir).catch(() => stat(file));
}

/** Zone numbers and whose they are, in words. */
export const zoneOwners = (settings: Settings): ReadonlyMap<string, string> =>
  new Map(sitePlan(settings).zones.map(({ number, source }) => [number, `the ${source.kind} ${source.id}`]));
