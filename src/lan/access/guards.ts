import { isIP } from 'node:net';

/** What the guards look at, as it came; undefined where there is no such header. */
export interface RequestHead {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly secFetchSite: string | undefined;
  readonly contentType: string | undefined;
  readonly hasBody: boolean;
  /** With a bearer token, whether it counts or not. No browser sends one by itself. */
  readonly isBearer: boolean;
  readonly query: URLSearchParams;
}

export interface GuardRules {
  /** Names of the bridge beside its addresses, `localhost` and `*.local`; lower case. */
  readonly names: ReadonlySet<string>;
  readonly scheme: 'http' | 'https';
  /** What the operation takes; default: JSON. */
  readonly media?: string;
}

/** Why a request is refused before anything of it counts. Nothing of the request is in it. */
export interface GuardRefusal {
  readonly status: 400 | 403 | 415 | 421;
  readonly reason: 'host' | 'token_in_query' | 'origin' | 'media';
  readonly detail: string;
}

/** The first guard that refuses; undefined when the request may go on to `identify`. */
export function guard(head: RequestHead, rules: GuardRules): GuardRefusal | undefined {
  if (!isOurHost(head.host, rules.names)) return refusals.host;
  if (hasToken(head.query)) return refusals.token_in_query;
  if (safeMethods.has(head.method)) return undefined;
  if (!head.isBearer && !isOurPage(head, rules.scheme)) return refusals.origin;
  const media = rules.media ?? 'application/json';
  return isMedia(head, media) ? undefined : mediaRefused(media);
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD']);

const refusals = {
  host: {
    status: 421,
    reason: 'host',
    detail: 'This bridge has no such name. Use its address, its name ending in .local, or a configured name.',
  },
  token_in_query: {
    status: 400,
    reason: 'token_in_query',
    detail: 'Secrets do not belong into an address, which is written into logs. Send keys as "Authorization: Bearer".',
  },
  origin: {
    status: 403,
    reason: 'origin',
    detail:
      'Another page asked for this, or a program without an API key. A page of this bridge may, or a program that ' +
      'sends "Authorization: Bearer KEY"; to claim or to log in, one that names the address of this bridge as "Origin".',
  },
} as const satisfies Partial<Record<GuardRefusal['reason'], GuardRefusal>>;

const mediaRefused = (media: string): GuardRefusal => ({
  status: 415,
  reason: 'media',
  detail: `The body is of another type than this operation takes. Send it as "Content-Type: ${media}".`,
});

/**
 * Against DNS rebinding: a name in the Internet that points here now is none of ours, whatever `Origin` says.
 * Addresses cannot be rebound; `.local` is answered by the LAN alone.
 */
export function isOurHost(host: string | undefined, names: ReadonlySet<string>): boolean {
  const name = nameOf(host);
  if (name === undefined) return false;
  return isIP(name) !== 0 || name === 'localhost' || /^(?:[a-z0-9-]+\.)+local$/.test(name) || names.has(name);
}

/** The name of a `Host` header, without port and last dot; undefined for what is no host. */
function nameOf(host: string | undefined): string | undefined {
  const match = /^(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9._-]{1,253}))(?::\d{1,5})?$/.exec(host?.toLowerCase() ?? '');
  const [, v6, name] = match ?? [];
  if (v6 !== undefined) return isIP(v6) === 6 ? v6 : undefined;
  return name?.replace(/\.$/, '');
}

/** Against other pages in the browser of somebody who is logged in. A browser says at least one of both with such a request. */
function isOurPage({ origin, secFetchSite, host }: RequestHead, scheme: string): boolean {
  if (origin === undefined && secFetchSite === undefined) return false;
  if (secFetchSite !== undefined && secFetchSite !== 'same-origin') return false;
  return origin === undefined || isSame(origin, scheme, host);
}

function isSame(origin: string, scheme: string, host: string | undefined): boolean {
  try {
    // `Host` may name the usual port, an origin never does.
    return origin === new URL(`${scheme}://${host}`).origin;
  } catch {
    return false;
  }
}

function isMedia({ contentType, hasBody }: RequestHead, media: string): boolean {
  if (contentType === undefined) return !hasBody;
  return contentType.split(';')[0]?.trim().toLowerCase() === media;
}

const secretNames: ReadonlySet<string> = new Set([
  'accesstoken',
  'apikey',
  'auth',
  'authorization',
  'bearer',
  'claimcode',
  'code',
  'jwt',
  'passwd',
  'password',
  'secret',
  'session',
  'sid',
  'token',
  'xapikey',
]);
const keyLike = /sw_[0-9a-z]{8}_[\w-]{43}/i;

/** By name, and by what looks like a key of ours under any name. */
function hasToken(query: URLSearchParams): boolean {
  return [...query].some(
    ([name, value]) =>
      secretNames.has(name.toLowerCase().replaceAll(/[^a-z]/g, '')) || keyLike.test(name) || keyLike.test(value),
  );
}
