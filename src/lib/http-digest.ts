import { createHash, randomBytes } from 'node:crypto';

/** One challenge of a `WWW-Authenticate` header: scheme and parameter names in lower case. */
export interface Challenge {
  readonly scheme: string;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Reads all challenges of one or several `WWW-Authenticate` headers (RFC 9110, 11.6.1). Tolerates what cameras send: any
 * case, blanks round "=", several challenges in one header, unquoted lists. What cannot be read is left out.
 */
export function parseChallenges(headers: string | readonly string[]): readonly Challenge[] {
  const found: { scheme: string; params: Record<string, string> }[] = [];
  for (const header of typeof headers === 'string' ? [headers] : headers) {
    let last = '';
    for (const match of header.slice(0, headerCap).matchAll(piece)) {
      const [, name, quoted, plain, word] = match;
      const current = found.at(-1);
      if (name !== undefined) {
        last = name.toLowerCase();
        if (current !== undefined) current.params[last] ??= quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '';
      } else if (word !== undefined && current !== undefined && last === 'qop' && /^auth(-int)?$/i.test(word)) {
        // An unquoted list: qop=auth,auth-int
        current.params.qop = `${current.params.qop},${word}`;
      } else if (word !== undefined) {
        found.push({ scheme: word.toLowerCase(), params: Object.create(null) });
        last = '';
      }
    }
  }
  return found;
}

const headerCap = 8192;
/** Either name = "quoted" or name = plain, or a single word, which begins the next challenge. */
const piece = /([A-Za-z0-9_*-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]*))|([A-Za-z0-9_-]+)/g;

interface DigestChallenge {
  readonly realm: string;
  readonly nonce: string;
  readonly opaque?: string;
  /** As the server wrote it, to be given back; absent means MD5. */
  readonly algorithm?: string;
  readonly hash: 'md5' | 'sha256' | 'sha512-256';
  readonly session: boolean;
  /** False for servers of RFC 2069, which know no `qop`. */
  readonly qop: boolean;
  /** The nonce was too old; the password was not judged. */
  readonly stale: boolean;
}

const hashes: Readonly<Record<string, DigestChallenge['hash']>> = {
  MD5: 'md5',
  'SHA-256': 'sha256',
  'SHA-512-256': 'sha512-256',
};
const strength: readonly DigestChallenge['hash'][] = ['md5', 'sha256', 'sha512-256'];

/** The strongest digest challenge that can be answered; undefined when there is none. */
export function pickDigest(challenges: readonly Challenge[]): DigestChallenge | undefined {
  return challenges
    .map(readDigest)
    .filter((found) => found !== undefined)
    .sort((a, b) => strength.indexOf(b.hash) - strength.indexOf(a.hash))[0];
}

export const offersBasic = (challenges: readonly Challenge[]): boolean =>
  challenges.some((challenge) => challenge.scheme === 'basic');

function readDigest({ scheme, params }: Challenge): DigestChallenge | undefined {
  if (scheme !== 'digest' || params.nonce === undefined) return undefined;
  const named = (params.algorithm || 'MD5').toUpperCase();
  const hash = hashes[named.replace(/-SESS$/, '')];
  const offered = params.qop?.split(',').map((word) => word.trim().toLowerCase());
  const qop = offered?.includes('auth') ?? false;
  // Only auth-int is offered: it covers the body and is not built, like everywhere else.
  if (hash === undefined || (!qop && offered?.includes('auth-int'))) return undefined;
  return {
    realm: params.realm ?? '',
    nonce: params.nonce,
    ...(params.opaque !== undefined && { opaque: params.opaque }),
    ...(params.algorithm && { algorithm: params.algorithm }),
    hash,
    session: named.endsWith('-SESS'),
    qop,
    stale: params.stale?.toLowerCase() === 'true',
  };
}

interface DigestRequest {
  readonly method: string;
  /** Path and query exactly as in the request line. */
  readonly uri: string;
  readonly username: string;
  readonly password: string;
  /** How often this nonce was used, this time included; from 1. */
  readonly count: number;
  readonly cnonce: string;
}

/** The `Authorization` header that answers a challenge (RFC 7616, 3.4). Pure. */
export function digestAuthorization(challenge: DigestChallenge, request: DigestRequest): string {
  const hash = (text: string) => createHash(challenge.hash).update(text, 'utf8').digest('hex');
  const { username, password, method, uri, cnonce } = request;
  const nc = request.count.toString(16).padStart(8, '0');
  const secret = hash(`${username}:${challenge.realm}:${password}`);
  const ha1 = challenge.session ? hash(`${secret}:${challenge.nonce}:${cnonce}`) : secret;
  const ha2 = hash(`${method}:${uri}`);
  const middle = challenge.qop ? `${challenge.nonce}:${nc}:${cnonce}:auth` : challenge.nonce;
  const parts = [
    `username=${quote(username)}`,
    `realm=${quote(challenge.realm)}`,
    `nonce=${quote(challenge.nonce)}`,
    `uri=${quote(uri)}`,
    `response="${hash(`${ha1}:${middle}:${ha2}`)}"`,
  ];
  if (challenge.algorithm !== undefined) parts.push(`algorithm=${challenge.algorithm}`);
  if (challenge.opaque !== undefined) parts.push(`opaque=${quote(challenge.opaque)}`);
  if (challenge.qop) parts.push('qop=auth', `nc=${nc}`);
  if (challenge.qop || challenge.session) parts.push(`cnonce=${quote(cnonce)}`);
  return `Digest ${parts.join(', ')}`;
}

const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`;

export function basicAuthorization(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}

/** Remembers one server's challenge, so that its nonce is used again with a rising count. */
interface DigestMemory {
  /** Takes a new challenge; the count starts again with a new nonce. */
  learn(challenge: DigestChallenge): void;
  /** The header for a request; undefined until a challenge was learned. */
  authorize(method: string, uri: string, username: string, password: string): string | undefined;
  /** Of the next header; empty until a challenge was learned. */
  readonly nonce: string;
  /** A header with this nonce was accepted. */
  accepted(nonce: string): void;
  /**
   * Whether one with the nonce `sent` may have been refused for its age and not for the password: it was good before, and
   * another is told now. `stale` tells nothing: many never say it, some of every wrong password.
   */
  mayBeOld(sent: string, challenge: DigestChallenge): boolean;
  /** What was accepted so far excuses nothing any more. */
  doubt(): void;
}

export function digestMemory(makeCnonce: () => string = () => randomBytes(8).toString('hex')): DigestMemory {
  let known: DigestChallenge | undefined;
  let good = '';
  let count = 0;
  let cnonce = '';
  return {
    learn(challenge) {
      if (challenge.nonce !== known?.nonce) {
        count = 0;
        // MD5-sess binds its key to the first cnonce, so it stays for the life of the nonce.
        cnonce = makeCnonce();
      }
      known = challenge;
    },
    authorize(method, uri, username, password) {
      if (known === undefined) return undefined;
      count += 1;
      return digestAuthorization(known, { method, uri, username, password, count, cnonce });
    },
    get nonce() {
      return known?.nonce ?? '';
    },
    accepted(nonce) {
      good = nonce;
    },
    mayBeOld: (sent, challenge) => sent !== '' && sent === good && challenge.nonce !== sent,
    doubt() {
      good = '';
    },
  };
}
