import { SitewardError } from '#errors.ts';

/** What to do with addresses a camera reports about itself. */
export type AddressMode = 'repaired' | 'as_reported';

/**
 * The address to use for one the camera reported. Cameras behind NAT, port forwards or with a second interface report
 * inner, empty or relative addresses, so scheme, host and port are those that have already answered (`base`) and only path
 * and query are taken over. `as_reported` keeps a usable absolute address as it is. Never throws.
 */
export function repairAddress(reported: string | undefined, base: URL, mode: AddressMode = 'repaired'): URL {
  const text = reported?.replace(/\s+/g, '') ?? '';
  const url = text === '' ? undefined : parse(text, base);
  if (url === undefined) return new URL(base);
  if (mode === 'as_reported' && !isUnspecified(url.hostname)) return withoutUser(url);
  const result = new URL(base);
  result.pathname = url.pathname;
  result.search = url.search;
  return result;
}

/**
 * The same for pictures, which are often served by another port of the same camera: every address worth a try, best
 * first, at most three.
 */
export function pictureAddresses(reported: string, base: URL, mode: AddressMode): readonly URL[] {
  const repaired = repairAddress(reported, base, mode);
  if (mode === 'as_reported') return [repaired];
  const url = parse(reported.replace(/\s+/g, ''), base);
  const tries = [repaired];
  if (url !== undefined && url.protocol === base.protocol && url.port !== base.port) {
    const otherPort = new URL(repaired);
    otherPort.port = url.port;
    // On the host that was configured the reported port is believable; behind NAT ours comes first.
    if (url.hostname === base.hostname) tries.unshift(otherPort);
    else tries.push(otherPort);
  }
  return tries;
}

/** The same for streams, whose port is their own. Throws `camera_bad_answer` where it is no address of a stream. */
export function streamAddress(reported: string, base: URL, mode: AddressMode): string {
  const url = URL.parse(withoutZone(reported));
  if (url === null || !/^rtsps?:$/.test(url.protocol)) {
    throw new SitewardError(
      'camera_bad_answer',
      'What the camera reports is no address of an RTSP stream: set stream_url',
    );
  }
  if (mode === 'repaired' || url.hostname === '' || isUnspecified(url.hostname)) url.hostname = base.hostname;
  return withoutUser(url).href;
}

function parse(reported: string, base: URL): URL | undefined {
  // Some firmware leaves the scheme out.
  const text = withoutZone(reported).replace(/^(?=\d+(\.\d+){3}(:\d+)?\/)/, 'http://');
  const url = URL.parse(text, base.href);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url : undefined;
}

/** A zone means nothing outside the camera, and URLs know none. */
const withoutZone = (address: string) => address.replace(/^(\w+:\/\/\[[^\]%]*)%[^\]]*\]/, '$1]');

const isUnspecified = (host: string) => host === '0.0.0.0' || host === '[::]';

/**
 * A reported address as people may see it: scheme, host, port and path, without the user before the host. Nobody needs the
 * query, and where a path holds what looks like a value (`/user=admin_password=x_channel=1.sdp`) the rest of it may be a login.
 */
export function shownAddress(address: string): string {
  const [, place, path = ''] =
    /^([a-z][\w+.-]*:\/\/[^/?#]*)([^?#]*)/i.exec(address.replace(/^([^/]*\/\/).*@/s, '$1')) ?? [];
  return place === undefined ? '...' : place + path.replace(/(?:[=:;&]|%3[abd]|%26).*$/is, '...');
}

/** Name and password inside an address would end up in logs. */
function withoutUser(url: URL): URL {
  url.username = '';
  url.password = '';
  return url;
}
