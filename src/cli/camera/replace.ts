import { hostAndPort } from '#box/known-cameras.ts';
import { changeEntry, type Members } from '#config/index.ts';
import { deviceName, type Inspected } from '#devices/onvif/index.ts';
import { certificateAnswer } from '#lan/http/index.ts';
import { sleep } from '#lib/wait.ts';
import { answered, openControl } from '../control.ts';
import type { ExitCode } from '../exit-codes.ts';
import { openSiteFile, type SiteFile } from '../site-file.ts';
import { printable } from '../table.ts';
import { deviceAddress } from './address.ts';
import {
  type ChangeOptions,
  fingerprintOf,
  finish,
  foundText,
  keep,
  look,
  refuseAddress,
  refuseSame,
  removeSecret,
  shownFound,
} from './change.ts';
import { mustFind, type Place, passwordFile, placesOf, writtenEntry } from './config.ts';
import { camerasOf } from './entries.ts';
import { mayTry } from './held.ts';
import { cameraPassword } from './password.ts';

export interface ReplaceOptions extends ChangeOptions {
  readonly anyway: boolean;
}

/**
 * `siteward camera replace ID ADDRESS`: another device at the same place. Id, name, zone and what else the site knows it by
 * stay; address, user, password and certificate are those of the new one.
 */
export async function replace(id: string, address: string, options: ReplaceOptions): Promise<ExitCode> {
  const url = deviceAddress(address);
  const site = openSiteFile(options.config);
  const place = mustFind(site, id);
  const other = placesOf(site.settings).find((one) =>
    one.index !== place.index || one.section !== place.section ? hostAndPort(one.url) === hostAndPort(url) : false,
  );
  refuseAddress(other?.id, url);
  const before = writtenEntry(site, place);
  if (options.user !== undefined && !options.anyway) await mayTry(url, options.socket);
  const password = await cameraPassword(options, hostAndPort(url));
  const found = await look({ url, username: options.user, password });
  await refuseSame(found, options.socket, site, id);
  const secretFile = password === undefined ? undefined : await passwordFile(site, id, password);
  const text = changeEntry(site.text, place.section, place.index, {
    url,
    username: options.user,
    password: secretFile === undefined ? undefined : { file: secretFile },
    tls_fingerprint: fingerprintOf(found).tls_fingerprint,
    // Of the old device.
    snapshot_url: undefined,
    stream_url: undefined,
    basic_login: undefined,
    ...withoutOldAddresses(before, place),
  });
  await keep({ site, text, password, secretFile, options });
  if (!options.dryRun) await removeSecret(before.password, text, site);
  if (place.kind === 'nvr') tellChannels(site, place, found);
  if (options.json) console.log(JSON.stringify({ id, url, ...shownFound(found), written: !options.dryRun }));
  else console.log(foundText(found));
  const done = await finish(site, options, `${place.kind} ${id} is replaced in ${site.file}`, (cameras) =>
    cameras.some((one) => one.id === id && one.url === url),
  );
  // What the site knows of an address stays; at another one it begins anew by itself.
  if (new URL(place.url).origin === new URL(url).origin && !options.dryRun) await tellNewDevice(id, found, options);
  return done;
}

const namedMs = 30_000;

/** At the address of the old device the new one is another: it was just read, and by that is the one that is meant. */
async function tellNewDevice(id: string, found: Inspected, { reload, socket, json }: ChangeOptions): Promise<void> {
  const device = deviceName(found);
  const isDone = reload && (await isTrusted(id, device, found, socket).catch(() => false));
  if (isDone && !json) console.log(`${id} is ${printable(device)} from now on`);
  if (!isDone)
    console.error(
      `siteward: if it is another device than before, say that it is meant once siteward has met it: siteward camera trust ${id}`,
    );
}

/** Waits until siteward has met the device of this name: as another one than before, or as the one it knows. */
async function isTrusted(id: string, device: string, found: Inspected, socket: string): Promise<boolean> {
  await using control = openControl(socket);
  const { client } = control;
  const params = { id };
  const end = AbortSignal.timeout(namedMs);
  for (;;) {
    const seen = certificateAnswer.parse(answered(await client.cameraCertificate({ params, signal: end })).json).device;
    if (seen?.is === device) {
      answered(await client.trustCamera({ params, body: { device }, signal: end }));
      return true;
    }
    const now = (await camerasOf(socket)).find((one) => one.id === id);
    const isKnown = now?.events === true && now.model === found.model && now.serial === found.serial;
    if (isKnown && seen === undefined) return true;
    await sleep(500, end);
  }
}

/** The channels of a recorder without picture and stream addresses of the old device, which must not get the new password. */
function withoutOldAddresses({ channels }: Record<string, unknown>, { url }: Place): Members {
  if (!Array.isArray(channels)) return {};
  const { hostname } = new URL(url);
  const isOld = (address: unknown) => URL.parse(String(address))?.hostname.toLowerCase() === hostname;
  if (!channels.some((channel: Members) => isOld(channel.snapshot_url) || isOld(channel.stream_url))) return {};
  return {
    channels: channels.map(({ snapshot_url, stream_url, ...rest }: Members) => ({
      ...rest,
      ...(snapshot_url !== undefined && !isOld(snapshot_url) && { snapshot_url }),
      ...(stream_url !== undefined && !isOld(stream_url) && { stream_url }),
    })),
  };
}

/** Says which channels need another word of the installer. */
function tellChannels({ settings }: SiteFile, { index }: Place, { sources }: Inspected): void {
  const channels = settings.nvrs[index]?.channels ?? [];
  const hasPicture = ({ source, position = 0 }: (typeof channels)[number]) =>
    source === undefined ? position <= sources.length : sources.some(({ token }) => token === source);
  const ids = (some: typeof channels) => some.map(({ id }) => id).join(', ');
  const lost = channels.filter((one) => !hasPicture(one));
  if (lost.length > 0)
    console.error(`siteward: the new device has no picture for ${ids(lost)}; correct "source" of these channels`);
  const placed = channels.filter((one) => one.position !== undefined && hasPicture(one));
  if (placed.length > 0)
    console.error(
      `siteward: ${ids(placed)} will be doubted if the new device names its sources otherwise than the old one ("siteward camera list" shows it); name these channels by "source" then`,
    );
}
