import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { SitewardError } from '#errors.ts';
import { unlessAborted } from '#lib/wait.ts';

/** 32 MiB and some 90 ms on a small box. */
const cost: ScryptOptions = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };
/** One at a time, since each takes so much memory; these may wait. */
export const hashesWaiting = 8;
/** Beside them, those who have been let in before, at the box or elsewhere: they go first, whoever floods the bridge. */
export const hashesAhead = 4;

const deriveKey = promisify<string, Uint8Array, number, ScryptOptions, Buffer>(scrypt);

/** The slow function of passwords; a port, so that tests need not be slow. */
export type Derive = (password: string, salt: Uint8Array) => Promise<Buffer>;
export const scryptDerive: Derive = (password, salt) => deriveKey(password, salt, 32, cost);

const bytes = (count: number) => z.base64url().length(Math.ceil((count * 4) / 3));

/** What is kept of a password. */
export const keptPassword = z.strictObject({ salt: bytes(16), hash: bytes(32) });
export type KeptPassword = z.infer<typeof keptPassword>;

export interface PasswordHash {
  /** For those who are in already. Throws `access_busy`, or the signal's reason while it waits. */
  make(password: string, signal: AbortSignal): Promise<KeptPassword>;
  /** The same work whether there is one to compare with or not. Throws as `make`. */
  isRight(password: string, kept: KeptPassword | undefined, signal: AbortSignal, isAhead?: boolean): Promise<boolean>;
}

export function createPasswordHash(derive: Derive = scryptDerive): PasswordHash {
  let isRunning = false;
  const ahead = new Set<() => void>();
  const others = new Set<() => void>();

  async function turn(signal: AbortSignal, isAhead: boolean): Promise<void> {
    signal.throwIfAborted();
    if (!isRunning) {
      isRunning = true;
      return;
    }
    const [waiting, cap] = isAhead ? [ahead, hashesAhead] : [others, hashesWaiting];
    if (waiting.size >= cap)
      throw new SitewardError('access_busy', 'too many passwords wait to be checked; ask again in a moment', {
        facts: { retryAfterMs: 1000 },
      });
    let go = (): void => undefined;
    const mine = new Promise<void>((resolve) => {
      go = resolve;
    });
    waiting.add(go);
    try {
      await unlessAborted(mine, signal);
    } catch (error) {
      // Whose turn it was at that very moment hands it on.
      if (!waiting.delete(go)) next();
      throw error;
    }
  }

  function next(): void {
    const waiting = ahead.size > 0 ? ahead : others;
    const [first] = waiting;
    if (first === undefined) {
      isRunning = false;
      return;
    }
    waiting.delete(first);
    first();
  }

  async function derived(password: string, salt: Uint8Array, signal: AbortSignal, isAhead: boolean): Promise<Buffer> {
    await turn(signal, isAhead);
    try {
      // What has begun cannot be called off: it is waited for, so that there is never a second one beside it.
      return await derive(canonical(password), salt);
    } finally {
      next();
    }
  }

  return {
    async make(password, signal) {
      const salt = randomBytes(16);
      const hash = await derived(password, salt, signal, true);
      return { salt: salt.toString('base64url'), hash: hash.toString('base64url') };
    },
    async isRight(password, kept, signal, isAhead = false) {
      const { salt, hash } = kept ?? passwordOfNobody;
      const made = await derived(password, Buffer.from(salt, 'base64url'), signal, isAhead);
      return timingSafeEqual(made, Buffer.from(hash, 'base64url')) && kept !== undefined;
    },
  };
}

/** What a password of nobody is compared with. */
export const passwordOfNobody: KeptPassword = { salt: 'A'.repeat(22), hash: 'A'.repeat(43) };

/** The same letters typed on another keyboard are the same password. */
export const canonical = (password: string): string => password.normalize('NFKC');
