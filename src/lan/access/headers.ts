/** What every answer of the HTTPS listener carries. No CORS headers at all: no other page may read anything here. */
export const securityHeaders = {
  'content-security-policy':
    "default-src 'self'; img-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

/** A browser takes a cookie of this name only with Secure, Path=/ and without a domain (RFC 6265bis, "__Host-"). */
const cookieName = '__Host-sw';
const attributes = 'Path=/; Secure; HttpOnly; SameSite=Strict';

/** A session cookie ends with the browser; how long it counts is the bridge's to say. */
export const sessionCookie = (token: string): string => `${cookieName}=${token}; ${attributes}`;
export const endedCookie = `${cookieName}=; ${attributes}; Max-Age=0`;

/** What a request shows of who sends it. With a bearer token the cookie does not count: the two are not mixed. */
export interface Credentials {
  readonly bearer?: string;
  readonly session?: string;
}

/** Longer than any token of ours: what is longer is none. */
const tokenCap = 128;

export function credentialsOf(authorization: string | undefined, cookie: string | undefined): Credentials {
  if (authorization !== undefined) {
    const bearer = /^Bearer +([\w.~+/-]+=*) *$/i.exec(authorization)?.[1];
    // Another scheme, or one that cannot be read, is somebody's mistake: it must not fall back to the cookie.
    return { bearer: bearer !== undefined && bearer.length <= tokenCap ? bearer : '' };
  }
  const session = sessionOf(cookie ?? '');
  return session === undefined ? {} : { session };
}

/** Undefined also for two of the name: somebody else put one there. */
function sessionOf(cookie: string): string | undefined {
  const found = cookie.split(';').flatMap((pair) => {
    const [name, ...value] = pair.trim().split('=');
    return name === cookieName ? [value.join('=')] : [];
  });
  const [only] = found;
  return found.length === 1 && only !== undefined && only.length <= tokenCap ? only : undefined;
}
