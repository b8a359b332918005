import { hostAndPort } from '#box/known-cameras.ts';
import { addEntry, type Members, shownEntry } from '#config/index.ts';
import type { Inspected } from '#devices/onvif/index.ts';
import { given } from '#lib/given.ts';
import type { ExitCode } from '../exit-codes.ts';
import { openSiteFile, type SiteFile } from '../site-file.ts';
import { deviceAddress } from './address.ts';
import {
  type ChangeOptions,
  fingerprintOf,
  finish,
  foundText,
  keep,
  look,
  refuseAddress,
  refused,
  refuseSame,
  shownFound,
} from './change.ts';
import { passwordFile, placesOf, zoneOwners } from './config.ts';
import { cameraPassword } from './password.ts';

export interface AddOptions extends ChangeOptions {
  readonly id: string;
  readonly name?: string;
  readonly zone?: string;
  readonly zoneType?: string;
  readonly partition?: string;
  readonly nvr: boolean;
  /** When pictures may be taken; default as the configuration has it. */
  readonly pictures?: string;
  /** Of a recorder: what is written of its channels, out of all of them; all unless set. */
  readonly channels?: (all: readonly Members[]) => Promise<readonly Members[]>;
}

/** `siteward camera add ADDRESS`. */
export async function add(address: string, options: AddOptions): Promise<ExitCode> {
  const { site, url, found, section, entry } = await addDevice(address, options);
  const { id, nvr } = options;
  const outcome = { id, url, ...shownFound(found), entry: given(entry) };
  if (options.json) console.log(JSON.stringify({ ...outcome, written: !options.dryRun }));
  else {
    console.log(foundText(found));
    console.log(`\n${shownEntry(section, entry)}\n`);
  }
  return await finish(site, options, `${nvr ? 'recorder' : 'camera'} ${id} is added to ${site.file}`, (cameras) =>
    cameras.some((one) => one.id === id && one.url === url),
  );
}

/** Looks at the device, and puts it into the file unless it is a dry run. */
export async function addDevice(address: string, options: Omit<AddOptions, 'reload' | 'json'>) {
  const url = deviceAddress(address);
  const site = openSiteFile(options.config);
  refuseTaken(site, url, options);
  const password = await cameraPassword(options, hostAndPort(url));
  const found = await look({ url, username: options.user, password });
  await refuseSame(found, options.socket, site);
  const { id, name, zone, zoneType, partition, nvr, pictures } = options;
  if (!nvr && found.sources.length > 1) {
    const tokens = found.sources.map(({ token }) => token).join(', ');
    throw refused(
      `this is a recorder, or a camera with several pictures (${tokens}): say --nvr to add it with its ${found.sources.length} channels`,
    );
  }
  const channels = nvr ? channelsOf(id, found) : undefined;
  const secretFile = password === undefined ? undefined : await passwordFile(site, id, password);
  const entry = {
    ...{ id, name, url, username: options.user },
    ...(secretFile !== undefined && { password: { file: secretFile } }),
    ...fingerprintOf(found),
    ...(channels !== undefined
      ? { channels: (await options.channels?.(channels)) ?? channels }
      : { zone, zone_type: zoneType, partition, pictures }),
  };
  const section = nvr ? 'nvrs' : 'cameras';
  const text = addEntry(site.text, section, given(entry));
  await keep({ site, text, password, secretFile, options });
  return { site, url, found, section, entry };
}

/** What only the file can tell, before anybody types a password. */
function refuseTaken({ settings, file }: SiteFile, url: string, { id, zone }: Pick<AddOptions, 'id' | 'zone'>): void {
  const places = placesOf(settings);
  if (places.some((place) => place.id === id))
    throw refused(
      `${file} has a camera, recorder or channel ${id} already; take another id, or say "siteward camera replace ${id}" for another device at its place`,
    );
  refuseAddress(places.find((place) => hostAndPort(place.url) === hostAndPort(url))?.id, url);
  const owner = zone === undefined ? undefined : zoneOwners(settings).get(zone);
  if (owner !== undefined)
    throw refused(`the zone ${zone} is taken by ${owner}; each number stands once on the whole site`);
}

/** By token; by place where two have one token. */
function channelsOf(id: string, { sources }: Inspected): readonly Members[] {
  if (sources.length === 0) throw refused('this device names no pictures; add it without --nvr');
  const tokens = new Set(sources.map(({ token }) => token));
  return sources.map(({ token }, at) => ({
    id: `${id.slice(0, 28)}-${at + 1}`,
    ...(tokens.size === sources.length ? { source: token } : { position: at + 1 }),
  }));
}
