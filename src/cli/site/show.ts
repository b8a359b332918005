import { keptContacts, siteMirror } from '#lan/http/index.ts';
import { type AtCloud, atCloud, type CloudOptions, show } from '../cloud/change.ts';
import { answered, openControl, patience } from '../control.ts';
import type { ExitCode } from '../exit-codes.ts';

export interface ShowOptions extends CloudOptions {
  /** What the daemon has kept, for a time without a line. */
  readonly kept: boolean;
  readonly socket: string;
}

const fromCloud = (
  options: CloudOptions,
  read: (at: AtCloud) => Promise<{ readonly raw: unknown }>,
): Promise<ExitCode> => atCloud(options, async (at) => show((await read(at)).raw, options));

/** `siteward site show`. */
export const site = (options: ShowOptions): Promise<ExitCode> =>
  options.kept
    ? mirror(options, ({ stations: _, contacts: __, ...rest }) => ({ ...rest.site, state: rest.state }))
    : fromCloud(options, ({ manage, place, signal }) => manage.getSite({ params: place, signal }));

/** `siteward site list`. */
export const sites = (
  options: CloudOptions & { readonly filter: readonly string[]; readonly limit: number },
): Promise<ExitCode> =>
  atCloud(options, async ({ manage, dealer, signal }) => {
    const found: unknown[] = [];
    const query = options.filter.length > 0 ? { filter: [...options.filter] } : {};
    for await (const row of manage.listAllSites({ params: dealer, query, signal })) {
      found.push(row);
      if (found.length === options.limit) break;
    }
    return show(found, options);
  });

/** `siteward station list`. */
export const stations = (options: ShowOptions): Promise<ExitCode> =>
  options.kept
    ? mirror(options, ({ stations: { items } }) => items)
    : fromCloud(options, ({ manage, dealer, signal }) => manage.listMonitoringStations({ params: dealer, signal }));

/** `siteward station show`. */
export const station = (options: CloudOptions & { readonly id: string }): Promise<ExitCode> =>
  fromCloud(options, ({ manage, dealer, signal }) =>
    manage.getMonitoringStation({ params: { ...dealer, monitoringStationId: options.id }, signal }),
  );

/** `siteward dealer show`. */
export const dealer = (options: CloudOptions): Promise<ExitCode> =>
  fromCloud(options, (at) => at.manage.getDealer({ params: at.dealer, signal: at.signal }));

/** `siteward contact list`. */
export async function contacts(options: ShowOptions): Promise<ExitCode> {
  if (!options.kept)
    return fromCloud(options, ({ manage, place, signal }) => manage.listContacts({ params: place, signal }));
  await using control = openControl(options.socket);
  const { json } = answered(await control.client.listContacts({ signal: patience() }));
  const kept = keptContacts.parse(json);
  tellAge(kept);
  return show(options.json ? kept : kept.items, options);
}

async function mirror(
  options: ShowOptions,
  part: (kept: ReturnType<typeof siteMirror.parse>) => unknown,
): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const { json } = answered(await control.client.getSiteMirror({ signal: patience() }));
  const kept = siteMirror.parse(json);
  tellAge(kept.site);
  return show(options.json ? kept : part(kept), options);
}

function tellAge({ read_at: at, stale }: { readonly read_at: string | null; readonly stale: boolean }): void {
  console.error(
    `siteward: ${at === null ? 'never read from the cloud' : `read ${at}`}${stale && at !== null ? ', stale' : ''}`,
  );
}
