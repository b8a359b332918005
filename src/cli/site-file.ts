import { otherProblems } from '#box/other-problems.ts';
import {
  checkText,
  secretFolder as folderFor,
  formatProblem,
  loadConfig,
  secretOwner as ownerFor,
  pathAndText,
  replaceConfigText,
  type Settings,
} from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import type { Owner } from '#lib/durable-file.ts';
import { withFile } from './named-file.ts';

/** The configuration file as it is now. */
export interface SiteFile {
  readonly file: string;
  readonly text: string;
  readonly settings: Settings;
}

/** Throws `config_unreadable`, or `config_invalid`: what has errors already is not changed. Secrets are not needed for it. */
export function openSiteFile(file: string): SiteFile {
  const { text, settings } = loadConfig(file, { unreadableSecrets: 'degrade', alsoCheck: otherProblems(file) });
  return { file, text, settings };
}

/** As `openSiteFile`, of a text that is not written. Throws `config_invalid` with all that is wrong with it. */
export function siteFileOf(file: string, text: string): SiteFile {
  const { loaded, problems } = checkText(file, text, {
    unreadableSecrets: 'degrade',
    alsoCheck: otherProblems(file),
  });
  if (loaded === undefined)
    throw new SitewardError(
      'config_invalid',
      `nothing was written, since the configuration would be wrong: ${problems.map(formatProblem).join('; ')}`,
    );
  return { file, text, settings: loaded.settings };
}

/**
 * Puts the changed text in the place of the file once siteward's own check finds nothing wrong with it. Throws
 * `config_invalid` with what it found, in words of the change, since the lines are not those of the file. With `backup` the text
 * before stays beside it as `FILE.bak`.
 */
export async function writeSiteFile(site: SiteFile, text: string, options?: { backup: boolean }): Promise<void> {
  mustBeGood(site, text);
  await withFile(site.file, () => replaceConfigText(site.file, site.text, text, options));
}

/** The check alone. */
export function mustBeGood({ file }: SiteFile, text: string): void {
  const { problems } = checkText(file, text, { unreadableSecrets: 'degrade', alsoCheck: otherProblems(file) });
  if (problems.length === 0) return;
  throw new SitewardError(
    'config_invalid',
    `nothing was changed, since ${file} would be wrong: ${problems.map(pathAndText).join('; ')}`,
  );
}

export const secretFolder = ({ file, text }: SiteFile): string => folderFor(file, text);

export const secretOwner = ({ settings, file }: SiteFile): Promise<Owner> => ownerFor(settings.store.dir, file);
