import { rm } from 'node:fs/promises';
import { changeEntry } from '#config/index.ts';
import type { Inspected } from '#devices/onvif/index.ts';
import {
  type ChangeOptions,
  fingerprintOf,
  finish,
  foundText,
  keep,
  look,
  refuseAddress,
  refuseSame,
  shownFound,
} from './camera-add.ts';
import { deviceAddress, hostAndPort } from './camera-address.ts';
import {
  freeSecretFile,
  mustFind,
  openSiteFile,
  type Place,
  placesOf,
  type SiteFile,
  secretFiles,
  secretFolder,
  writtenEntry,
} from './camera-config.ts';
import { cameraPassword } from './camera-password.ts';
import type { ExitCode } from './exit-codes.ts';

/**
 * `siteward camera replace ID ADDRESS`: another device at the same place. Id, name, zone and what else the site knows it by
 * stay; address, user, password and certificate are those of the new one.
 */
export async function replace(id: string, address: string, options: ChangeOptions): Promise<ExitCode> {
  const url = deviceAddress(address);
  const site = openSiteFile(options.config);
  const place = mustFind(site, id);
  const other = placesOf(site.settings).find((one) =>
    one.index !== place.index || one.section !== place.section ? hostAndPort(one.url) === hostAndPort(url) : false,
  );
  refuseAddress(other?.id, url);
  const before = writtenEntry(site, place);
  const password = await cameraPassword(options);
  const found = await look({ url, username: options.user, password });
  await refuseSame(found, options.socket, id);
  const secretFile = password === undefined ? undefined : freeSecretFile(site, id);
  const text = changeEntry(site.text, place.section, place.index, {
    url,
    username: options.user,
    password: secretFile === undefined ? undefined : { file: secretFile },
    tls_fingerprint: fingerprintOf(found).tls_fingerprint,
    // An address of the old device.
    snapshot_url: undefined,
  });
  await keep({ site, text, password, secretFile, options });
  if (!options.dryRun) await removeSecret(before.password, text, secretFolder(site));
  const lost = place.kind === 'nvr' ? lostChannels(site, place, found) : [];
  if (lost.length > 0)
    console.error(`siteward: the new device has no picture for ${lost.join(', ')}; correct "source" of these channels`);
  if (options.json) console.log(JSON.stringify({ id, url, ...shownFound(found), written: !options.dryRun }));
  else console.log(foundText(found));
  return await finish(site, options, `${place.kind} ${id} is replaced in ${site.file}`, (cameras) =>
    cameras.some((one) => one.id === id && one.url === url),
  );
}

/** Channels whose source the new device does not have. */
function lostChannels({ settings }: SiteFile, { index }: Place, { sources }: Inspected): string[] {
  const tokens = sources.map(({ token }) => token);
  return (settings.nvrs[index]?.channels ?? [])
    .filter(({ source }) => source !== undefined && !tokens.includes(source))
    .map(({ id }) => id);
}

/** A secret of ours that nothing refers to any more. */
export async function removeSecret(password: unknown, text: string, folder: string): Promise<string | undefined> {
  if (typeof password !== 'object' || password === null || !('file' in password)) return undefined;
  const { file } = password;
  if (typeof file !== 'string' || !file.startsWith(`${folder}/`) || secretFiles(text).includes(file)) return undefined;
  await rm(file, { force: true });
  return file;
}
