import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type FoundDevice, type Inspected, isOwnSerial } from '#devices/onvif/index.ts';
import type { CameraEntry } from '#lan/http/index.ts';
import { bareHost } from '#lib/host.ts';
import { never, withDeadline } from '#lib/wait.ts';

/** What of the site a device is that was found in the network; the command line and the LAN API ask it alike. */

/** What a found device is to the site; nothing for one that is new to it. */
export interface Place {
  readonly configured?: string;
  readonly moved?: Moved;
}

/** A configured device that was found under another address. */
export interface Moved {
  readonly id: string;
  /** It does not answer at the address of the configuration. */
  readonly isMissing: boolean;
}

export interface KnownCameras {
  /** Cameras and recorders of the configuration. */
  readonly configured: readonly { readonly id: string; readonly url: string }[];
  /** What the daemon knows of them; empty where none runs. */
  readonly cameras: readonly CameraEntry[];
  readonly neighbours: ReadonlyMap<string, string>;
}

/** By what the daemon knows of its cameras, which may have got each other's addresses; else by the address in the configuration. */
export async function placesIn(
  found: readonly FoundDevice[],
  { configured, cameras, neighbours }: KnownCameras,
): Promise<(device: FoundDevice) => Place> {
  const idOf = await configuredAs(configured, found);
  const moved = movedFrom(cameras, neighbours);
  return (device) => {
    const id = idOf(device);
    const other = moved(device);
    if (other !== undefined && other.id !== id) return { moved: other };
    return id === undefined ? {} : { configured: id };
  };
}

/** Under which id a device stands in the configuration: by address and port; by address alone where only one was found at it. */
async function configuredAs(configured: KnownCameras['configured'], found: readonly FoundDevice[]) {
  const known = (await Promise.all(configured.map(configuredAt))).flat();
  const alone = (host: string) => found.filter(({ addresses }) => addresses.includes(host)).length === 1;
  return ({ url, addresses }: FoundDevice): string | undefined => {
    const [port] = url === undefined ? [''] : [portOf(new URL(url))];
    const here = known.filter(({ host }) => addresses.includes(host) || (url !== undefined && hostOf(url) === host));
    return (here.find((one) => one.port === port) ?? here.find(({ host }) => alone(host)))?.id;
  };
}

interface Configured {
  readonly id: string;
  readonly host: string;
  readonly port: string;
}

async function configuredAt({ id, url: text }: { id: string; url: string }): Promise<readonly Configured[]> {
  const url = new URL(text);
  const port = portOf(url);
  const host = hostOf(text);
  if (isIP(host) !== 0) return [{ id, host, port }];
  const address = await withDeadline(2000, never(), () => lookup(host)).then(
    (one) => one.address,
    () => host,
  );
  return [host, address].map((at) => ({ id, host: at, port }));
}

const hostOf = (url: string): string => bareHost(new URL(url).hostname);
const portOf = ({ port, protocol }: URL): string => (port !== '' ? port : protocol === 'https:' ? '443' : '80');

type Identity = NonNullable<CameraEntry['identity']>;

/**
 * Which configured device one is that was found under an address nobody has: by its MAC, or by model and serial number, as
 * the daemon learned them while it watched it. Few tell their serial number to who has no password. The MAC is in their
 * scopes, in the UUID by which they name themselves, or known to this machine.
 */
export function movedFrom(
  cameras: readonly CameraEntry[],
  neighbours: ReadonlyMap<string, string>,
): (device: FoundDevice) => Moved | undefined {
  return (device) => {
    const macs = macsOf(device, neighbours);
    const same = cameras.find(
      ({ identity }) =>
        identity !== undefined && ((identity.mac !== undefined && macs.has(identity.mac)) || isSame(identity, device)),
    );
    if (same === undefined) return undefined;
    const isThere = same.reachable === true && same.serial === same.identity?.serial;
    return { id: same.id, isMissing: !isThere };
  };
}

function macsOf({ mac, endpoint, addresses }: FoundDevice, neighbours: ReadonlyMap<string, string>): Set<string> {
  const [, node = ''] =
    /^(?:urn:)?(?:uuid:)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-([0-9a-f]{12})$/i.exec(endpoint ?? '') ?? [];
  const inEndpoint = node.toLowerCase().match(/../g)?.join(':');
  const found = [mac, inEndpoint, ...addresses.map((address) => neighbours.get(address))];
  return new Set(found.filter((one) => one !== undefined));
}

const isSame = (identity: Identity, { serial = '', model }: Pick<FoundDevice, 'serial' | 'model'>): boolean =>
  isOwnSerial(serial) && serial === identity.serial && model === identity.model;

/** Tells two ways to one device apart from two devices; what cheap ones all say tells nothing. `but` is not looked at. */
export const sameDevice = (
  cameras: readonly CameraEntry[],
  device: Pick<Inspected, 'serial' | 'model'>,
  but?: string,
): string | undefined =>
  cameras.find(({ id, identity }) => identity !== undefined && id !== but && isSame(identity, device))?.id;

/**
 * The camera at this address, by whichever id, whose refused password the daemon rests from: two tries beside its own may
 * be the ones that lock the account.
 */
export function heldAt(
  cameras: readonly CameraEntry[],
  url: string,
): { readonly id: string; readonly heldS: number } | undefined {
  const place = loginPlace(url);
  for (const { id, url: at, login_held_s: heldS } of cameras)
    if (heldS !== undefined && loginPlace(at) === place) return { id, heldS };
  return undefined;
}

/** http and https of one host are one device. */
const loginPlace = (url: string): string => hostAndPort(url).replace(/:443$/, ':80');

/** Host and port, which are what tells two devices apart. */
export function hostAndPort(address: string): string {
  const url = new URL(address);
  return `${url.hostname.toLowerCase()}:${portOf(url)}`;
}
