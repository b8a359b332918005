import { parseConfig, removeEntry } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { agreed } from '../consent.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { openSiteFile, type SiteFile, writeSiteFile } from '../site-file.ts';
import { finish, refused, removeSecret } from './change.ts';
import { mustFind, type Place, writtenEntry } from './config.ts';

export interface RemoveOptions {
  readonly config: string;
  readonly socket: string;
  readonly yes: boolean;
  readonly reload: boolean;
  readonly json: boolean;
}

/** `siteward camera remove ID`. */
export async function remove(id: string, options: RemoveOptions): Promise<ExitCode> {
  const site = openSiteFile(options.config);
  const place = mustFind(site, id);
  refuseNamed(site, place);
  const before = writtenEntry(site, place);
  if (!options.yes) {
    const answer = await agreed(`Remove the ${place.kind} ${id} from ${site.file}?`);
    if (answer === 'nobody to ask') throw new SitewardError('no_terminal', 'nobody is there to be asked; say --yes');
    if (answer === 'no') {
      console.error('siteward: nothing was changed');
      return exitCodes.failure;
    }
  }
  const text = removeEntry(site.text, place.section, place.index);
  await writeSiteFile(site, text);
  const secret = await removeSecret(before.password, text, site);
  if (options.json) console.log(JSON.stringify({ removed: id, ...(secret !== undefined && { secret_file: secret }) }));
  return await finish(
    site,
    { ...options, dryRun: false },
    `the ${place.kind} ${id} is removed from ${site.file}`,
    (cameras) => cameras.every((one) => one.id !== id),
  );
}

/** Other parts of the file that name it, or a channel of it, with their lines. */
function refuseNamed({ file, text, settings }: SiteFile, { id, kind, index }: Place): void {
  const channels = kind === 'nvr' ? (settings.nvrs[index]?.channels ?? []).map((channel) => channel.id) : [];
  const named = [id, ...channels];
  const document = parseConfig(file, text);
  const lineOf = (path: readonly (string | number)[]) => document.problem(path, { message: '' }).line;
  const places = settings.panels.flatMap(({ zones }, panel) =>
    Object.entries(zones ?? {}).flatMap(([number, zone]) =>
      (zone.cameras ?? []).some((camera) => named.includes(camera))
        ? [lineOf(['panels', panel, 'zones', number, 'cameras'])]
        : [],
    ),
  );
  if (places.length > 0)
    throw refused(
      `${id} is named elsewhere: ${places.map((line) => `${file}:${line}`).join(', ')}. Take it out of the cameras of these zones first`,
    );
}
