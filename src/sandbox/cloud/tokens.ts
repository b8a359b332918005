import { createHash, randomBytes } from 'node:crypto';
import { Shelf } from './bounded.ts';

/** What a token opens; the service shows no scopes, so this stays inside (S-042). */
export type Capability = 'event' | 'partner';

export interface Grant {
  readonly capability: Capability;
  readonly clientId: string;
  readonly mayIngest: boolean;
}

/** Issued access tokens, at most 10,000; the oldest gives way and its holder sees a 401. Only hashes are kept. */
export class TokenBook {
  readonly #issued = new Shelf<string, Grant & { readonly expiresAt: number }>({ maxEntries: 10_000 });

  /** `now` and `lifetimeS` by the sandbox's clock. */
  issue(grant: Grant, now: number, lifetimeS: number): string {
    const token = randomBytes(32).toString('base64url');
    this.#issued.set(hashOf(token), { ...grant, expiresAt: now + lifetimeS * 1000 });
    return token;
  }

  find(token: string, now: number): Grant | 'expired' | undefined {
    const found = this.#issued.get(hashOf(token));
    return found !== undefined && now >= found.expiresAt ? 'expired' : found;
  }

  /** Makes every token invalid at once; returns how many there were. */
  revokeAll(): number {
    const count = this.#issued.size;
    this.#issued.clear();
    return count;
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
