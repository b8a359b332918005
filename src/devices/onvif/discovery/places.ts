import { isIPv4, isIPv6 } from 'node:net';
import { bareHost } from '#lib/host.ts';

/** Without brackets, without a zone id, lower case: what two spellings of one address have in common. */
export const plainHost = (host: string): string => bareHost(host).replace(/%.*$/, '').toLowerCase();

const isLinkLocal = (host: string): boolean => /^169\.254\.|^fe[89ab][0-9a-f]:/i.test(plainHost(host));

const isNowhere = (host: string): boolean => host === '' || host === '0.0.0.0' || host === '::';
const isLoopback = (host: string): boolean => host.startsWith('127.') || host === '::1' || host === 'localhost';

/** An address under which a device may be reached. */
export interface Place {
  /** As for the configuration; with a zone id (`%25eth0`) for IPv6 link-local, which no configuration can hold. */
  readonly url: string;
  /** With its zone id where it has one. */
  readonly host: string;
}

const devicePath = '/onvif/device_service';

/**
 * Where to reach a device that reported `xaddrs` from the address `sender`, best first, at most six. The sender's own
 * address is the one that surely works, so it comes first, if need be with port and path of what was reported (bug 31);
 * then routable IPv4, then the rest; link-local only when there is nothing else (bug 58).
 */
export function placesOf(xaddrs: readonly string[], sender: string): readonly Place[] {
  const from = plainHost(sender);
  const zone = /%(.+)$/.exec(sender)?.[1];
  const reported = xaddrs.flatMap((text) => placeFrom(text, zone)).filter((place) => usable(place, from));
  const own = reported.some(({ host }) => plainHost(host) === from) ? [] : [ownPlace(xaddrs[0], sender)];
  const places = new Map([...own, ...reported].map((place) => [place.url, place]));
  const all = [...places.values()].map((place) => ({ place, rank: rankOf(plainHost(place.host), from) }));
  const routable = all.filter(({ place }) => !isLinkLocal(place.host));
  return (routable.length > 0 ? routable : all)
    .sort((one, other) => one.rank - other.rank)
    .slice(0, 6)
    .map(({ place }) => place);
}

/** The address the configuration would take for a device at this host. */
export function placeAt(host: string, options: { scheme?: string; port?: number } = {}): Place {
  const { scheme = 'http', port } = options;
  const usual = port === undefined || port === (scheme === 'https' ? 443 : 80);
  return { url: `${scheme}://${inUrl(host)}${usual ? '' : `:${port}`}${devicePath}`, host };
}

const inUrl = (host: string): string => (host.includes(':') ? `[${host.replace('%', '%25')}]` : host);

function rankOf(host: string, sender: string): number {
  if (host === sender) return 0;
  return isIPv4(host) ? 1 : isIPv6(host) ? 2 : 3;
}

function usable({ host }: Place, sender: string): boolean {
  const plain = plainHost(host);
  return !isNowhere(plain) && (!isLoopback(plain) || isLoopback(sender));
}

/** Takes zone ids out, which no URL can hold, and puts them in again; nothing for what is no http address. */
function placeFrom(text: string, zone: string | undefined): readonly Place[] {
  const url = URL.parse(text.replace(/%(?:25)?[^\]/]*\]/, ']'));
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return [];
  const plain = plainHost(url.hostname);
  const local = plain.includes(':') && isLinkLocal(plain);
  const host = local && zone !== undefined ? `${plain}%${zone}` : plain;
  const port = url.port === '' ? '' : `:${url.port}`;
  return [{ url: `${url.protocol}//${inUrl(host)}${port}${url.pathname}${url.search}`, host }];
}

function ownPlace(reported: string | undefined, sender: string): Place {
  const [place] = placeFrom(reported ?? '', undefined);
  const parsed = place === undefined ? null : URL.parse(place.url);
  if (parsed === null) return placeAt(sender);
  const port = parsed.port === '' ? '' : `:${parsed.port}`;
  const path = parsed.pathname === '/' ? devicePath : parsed.pathname;
  return { url: `${parsed.protocol}//${inUrl(sender)}${port}${path}${parsed.search}`, host: sender };
}
