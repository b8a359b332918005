import { isIPv4, isIPv6 } from 'node:net';
import { SitewardError } from '#errors.ts';
import { bareHost } from '#lib/host.ts';

/** One address that somebody wants asked. */
export interface Target {
  /** IPv4, IPv6 (with a zone id where given) or a name. */
  readonly host: string;
  /** Only this port is asked; otherwise the usual ones. */
  readonly port?: number;
  /** Only this address is asked. */
  readonly url?: string;
}

const maxTargets = 4096;

/**
 * Reads `192.0.2.10`, `192.0.2.10:8899`, `192.0.2.0/24`, `192.0.2.10-40`, `192.0.2.250-192.0.3.9`, `fd00::10`,
 * `[fd00::10]:8899`, a host name, or an address such as `http://192.0.2.10:81/onvif/device_service`. Throws
 * `request_invalid` for what is none of these and for more than 4,096 addresses.
 */
export function readTargets(texts: readonly string[]): readonly Target[] {
  const found = new Map<string, Target>();
  for (const text of texts) {
    for (const target of expand(text.trim())) {
      found.set(`${target.host} ${target.port ?? ''} ${target.url ?? ''}`, target);
      if (found.size > maxTargets) throw tooMany();
    }
  }
  return [...found.values()];
}

function expand(text: string): Iterable<Target> {
  if (/^https?:\/\//i.test(text)) return [fromUrl(text)];
  const [, network, bits] = /^([\d.]+)\/(\d{1,2})$/.exec(text) ?? [];
  if (network !== undefined) return subnet(text, network, Number(bits));
  const [, first, last] = /^([\d.]+)-([\d.]+)$/.exec(text) ?? [];
  if (first !== undefined && last !== undefined) return range(text, first, last);
  const [, bracketed, port6] = /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(text) ?? [];
  if (bracketed !== undefined) return [hostOf(text, bracketed, port6)];
  if (isIPv6(text.replace(/%.*$/, ''))) return [{ host: text }];
  const [, host = '', port] = /^([^:]*)(?::(\d{1,5}))?$/.exec(text) ?? [];
  return [hostOf(text, host, port)];
}

function hostOf(text: string, host: string, portText: string | undefined): Target {
  const port = portText === undefined ? undefined : Number(portText);
  const digits = /^[\d.]+$/.test(host);
  const good = isIPv4(host) || isIPv6(host.replace(/%.*$/, '')) || (!digits && namePattern.test(host));
  if (!good || (port !== undefined && (port < 1 || port > 65_535))) throw unreadable(text);
  return port === undefined ? { host } : { host, port };
}

const namePattern = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_-]{1,63})*\.?$/i;

function fromUrl(text: string): Target {
  const url = URL.parse(text);
  if (url === null) throw unreadable(text);
  if (url.username !== '' || url.password !== '')
    throw new SitewardError('request_invalid', 'an address must not hold a user name or password');
  const path = url.pathname === '/' ? '/onvif/device_service' : url.pathname;
  return { host: bareHost(url.hostname), url: `${url.origin}${path}${url.search}` };
}

function* subnet(text: string, network: string, bits: number): Generator<Target> {
  if (!isIPv4(network) || bits > 32) throw unreadable(text);
  const size = 2 ** (32 - bits);
  if (size > maxTargets) throw tooMany(`${text} is ${size} addresses`);
  const base = Math.floor(toNumber(network) / size) * size;
  // The first and the last address of a network are no hosts.
  const [from, to] = size > 2 ? [base + 1, base + size - 2] : [base, base + size - 1];
  for (let at = from; at <= to; at += 1) yield { host: toText(at) };
}

function* range(text: string, first: string, end: string): Generator<Target> {
  const last = /^\d{1,3}$/.test(end) ? first.replace(/\d+$/, end) : end;
  if (!isIPv4(first) || !isIPv4(last)) throw unreadable(text);
  const [from, to] = [toNumber(first), toNumber(last)];
  if (to < from) throw new SitewardError('request_invalid', `${text} ends before it begins`);
  if (to - from >= maxTargets) throw tooMany(`${text} is ${to - from + 1} addresses`);
  for (let at = from; at <= to; at += 1) yield { host: toText(at) };
}

const toNumber = (address: string): number => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
const toText = (value: number): string => [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');

/** What may hold a password is not repeated. */
const unreadable = (text: string) =>
  new SitewardError(
    'request_invalid',
    `${/@|:\/\//.test(text) ? 'this' : `"${text.slice(0, 60)}"`} is no address: give 192.0.2.10, 192.0.2.0/24, 192.0.2.10-40, an IPv6 address, a host name or http://...`,
  );

const tooMany = (what?: string) =>
  new SitewardError(
    'request_invalid',
    `at most ${maxTargets} addresses are asked at once${what === undefined ? '' : `; ${what}`}; name a smaller range`,
  );
