import { createHash, randomBytes } from 'node:crypto';
import { Shelf } from './bounded.ts';

/** What a token opens; the service shows no scopes, so this stays inside (S-042). */
export type Capability = 'event' | 'partner' | 'user' | 'api_key';

/** Whose a token is when nobody says: the one partner there is, whatever its clients are called. */
export const anyClient = '*';

export interface Grant {
  readonly capability: Capability;
  readonly clientId: string;
  readonly mayIngest: boolean;
  /** Dealers it reaches; absent: those of its client. A user token is tied to the first. */
  readonly dealers?: readonly number[] | undefined;
}

interface Issued extends Grant {
  readonly hash: string;
  readonly expiresAt: number;
  readonly standing: boolean;
}

/** Issued access tokens and keys, at most 10,000; the oldest gives way and its holder sees a 401. Only hashes are kept. */
export class TokenBook {
  readonly #issued = new Shelf<string, Issued>({ maxEntries: 10_000 });

  /** `now` (ms) and `lifetimeS` by the sandbox's clock. A `standing` token outlives a reset; `token` is its text. */
  issue(
    grant: Grant,
    now: number,
    lifetimeS: number,
    options: { standing?: boolean; token?: string | undefined } = {},
  ): string {
    const { token = randomBytes(32).toString('base64url') } = options;
    const hash = hashOf(token);
    const expiresAt = now + lifetimeS * 1000;
    this.#issued.set(hash, { ...grant, hash, expiresAt, standing: options.standing === true });
    return token;
  }

  find(token: string, now: number): Grant | 'expired' | undefined {
    const found = this.#issued.get(hashOf(token));
    return found !== undefined && now >= found.expiresAt ? 'expired' : found;
  }

  /** Makes every access token invalid at once, API keys not: they are none. Returns how many there were. */
  revokeAll(): number {
    return this.#forget(({ capability }) => capability !== 'api_key');
  }

  reset(): void {
    this.#forget(({ standing }) => !standing);
  }

  #forget(doomed: (issued: Issued) => boolean): number {
    const gone = this.#issued.values().filter(doomed);
    for (const { hash } of gone) this.#issued.delete(hash);
    return gone.length;
  }
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('base64url');

/**
 * Assertion ids that were used, until they could not be valid any more (S-037). At 100,000 remembered ids a new one
 * is not taken: forgetting one would open a replay.
 */
export class ReplayMemory {
  readonly #until = new Map<string, number>();
  readonly #cap: number;

  constructor(cap = 100_000) {
    this.#cap = cap;
  }

  /** Remembers the id until `until` (ms); says whether it was new. */
  use(id: string, until: number, now: number): 'new' | 'used' | 'full' {
    if ((this.#until.get(id) ?? 0) > now) return 'used';
    if (this.#until.size >= this.#cap) this.#forget(now);
    if (this.#until.size >= this.#cap) return 'full';
    this.#until.set(id, until);
    return 'new';
  }

  clear(): void {
    this.#until.clear();
  }

  #forget(now: number): void {
    for (const [id, until] of this.#until) if (until <= now) this.#until.delete(id);
  }
}
