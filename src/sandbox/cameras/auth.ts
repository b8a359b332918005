import { createHash, randomBytes } from 'node:crypto';
import { BoundedMap } from '#lib/bounded.ts';
import type { UsernameToken } from './soap.ts';

export type AuthMode = 'wsse' | 'digest' | 'both' | 'none';

const digestType = '#PasswordDigest';
/** How far `Created` may be from the camera's clock. */
const createdWindowMs = 5 * 60_000;
const nonceLifeMs = 5 * 60_000;

/**
 * The camera's password check: WS-UsernameToken with digest, and HTTP digest (RFC 7616; MD5 and SHA-256, qop auth).
 * Nonces of tokens are remembered while their time could pass (at most 4,000, then the oldest gives way); so are the
 * counters of HTTP nonces (at most 256 nonces).
 */
export class Authenticator {
  readonly #realm: string;
  readonly #now: () => number;
  readonly #usedNonces = new BoundedMap<string, true>(4000);
  readonly #challenges = new BoundedMap<string, { issuedAt: number; highest: number }>(256);
  username: string;
  password: string;

  /** `now` is the camera's own clock, milliseconds. */
  constructor(options: { realm: string; username: string; password: string; now: () => number }) {
    this.#realm = options.realm;
    this.#now = options.now;
    this.username = options.username;
    this.password = options.password;
  }

  tokenFits(token: UsernameToken): boolean {
    const created = Date.parse(token.created);
    const expected = createHash('sha1')
      .update(Buffer.from(token.nonce, 'base64'))
      .update(token.created + this.password, 'utf8')
      .digest('base64');
    const fits =
      token.passwordType.endsWith(digestType) &&
      token.username === this.username &&
      token.password === expected &&
      Math.abs(created - this.#now()) <= createdWindowMs;
    const key = `${token.nonce} ${token.created}`;
    if (!fits || token.nonce === '' || this.#usedNonces.has(key)) return false;
    this.#usedNonces.set(key, true);
    return true;
  }

  /** `stale`: the answer is right, its nonce is old or its counter was used. */
  digestFits(header: string, method: string, uri: string): 'yes' | 'no' | 'stale' {
    const given = readDigest(header);
    const algorithm = (given.get('algorithm') ?? 'MD5').toUpperCase();
    const hash = algorithm === 'SHA-256' ? hashWith('sha256') : algorithm === 'MD5' ? hashWith('md5') : undefined;
    if (hash === undefined || given.get('username') !== this.username || given.get('uri') !== uri) return 'no';
    const part = (name: string) => given.get(name) ?? '';
    const a1 = hash(`${this.username}:${this.#realm}:${this.password}`);
    const a2 = hash(`${method}:${uri}`);
    const qop = given.get('qop');
    const middle = qop === undefined ? part('nonce') : [part('nonce'), part('nc'), part('cnonce'), qop].join(':');
    if ((qop !== undefined && qop !== 'auth') || part('response') !== hash(`${a1}:${middle}:${a2}`)) return 'no';
    const challenge = this.#challenges.get(part('nonce'));
    if (challenge === undefined || this.#now() - challenge.issuedAt > nonceLifeMs) return 'stale';
    if (qop === undefined) return 'yes';
    const count = Number.parseInt(part('nc'), 16);
    if (!(count > challenge.highest)) return 'stale';
    challenge.highest = count;
    return 'yes';
  }

  /** Values for `WWW-Authenticate`, the stronger first. */
  challenge(stale: boolean): string[] {
    const nonce = randomBytes(16).toString('hex');
    this.#challenges.set(nonce, { issuedAt: this.#now(), highest: 0 });
    return ['SHA-256', 'MD5'].map(
      (algorithm) =>
        `Digest realm="${this.#realm}", qop="auth", algorithm=${algorithm}, nonce="${nonce}", opaque="siteward"` +
        (stale ? ', stale=true' : ''),
    );
  }
}

const hashWith = (name: string) => (text: string) => createHash(name).update(text, 'utf8').digest('hex');

function readDigest(header: string): Map<string, string> {
  const parts = new Map<string, string>();
  if (!/^digest\s/i.test(header)) return parts;
  for (const match of header.slice(7).matchAll(/([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/g)) {
    parts.set((match[1] ?? '').toLowerCase(), match[2]?.replaceAll(/\\(.)/g, '$1') ?? match[3] ?? '');
  }
  return parts;
}
