import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { checkText, formatProblem, loadConfig, type Problem, replaceConfigText, type Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import type { Owner } from '#lib/durable-file.ts';
import { panelProblems } from '../daemon/folders.ts';
import { withFile } from './named-file.ts';

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

/** The folder of the cameras' secrets: where one lies already, else `secrets` beside the configuration. */
export function secretFolder({ file, text }: SiteFile): string {
  const [known] = secretFiles(text, ['cameras', 'nvrs']);
  return known === undefined ? join(dirname(resolve(file)), 'secrets') : dirname(known);
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
