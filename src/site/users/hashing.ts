import { createHmac, type ScryptOptions, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { SitewardError } from '#errors.ts';

/** The slow hash of the book: one call for each try. */
export interface SlowHash {
  /** 32 bytes. Throws `queue_full` when too many wait. */
  derive(secret: Uint8Array, salt: Uint8Array): Promise<Buffer>;
}

/** What version 1 of `users.json` is hashed with: 16 MiB and some 30 ms on a small box. */
const cost: ScryptOptions = { N: 2 ** 14, r: 8, p: 1, maxmem: 32 * 1024 * 1024 };
/** Half the threads of libuv's pool: files and names of the daemon must not wait for codes. */
const atOnce = 2;
/** More than clients can have under way each with one, less than a person's patience. */
const waitingCap = 64;

const deriveKey = promisify<Uint8Array, Uint8Array, number, ScryptOptions, Buffer>(scrypt);

/** scrypt on libuv's threads, in the order of the calls. */
export function scryptHash(): SlowHash {
  let running = 0;
  const waiting: (() => void)[] = [];

  async function turn(): Promise<void> {
    if (running < atOnce) {
      running += 1;
      return;
    }
    if (waiting.length >= waitingCap)
      throw new SitewardError('queue_full', `more than ${waitingCap} codes wait to be checked; try again in a moment`);
    await new Promise<void>((resolve) => waiting.push(resolve));
  }

  function done(): void {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }

  return {
    async derive(secret, salt) {
      await turn();
      try {
        return await deriveKey(secret, salt, 32, cost);
      } finally {
        done();
      }
    },
  };
}

/** The fast half: hashes of codes under a key, worth nothing without it. */
export interface Keyed {
  /** The same for the same code: by it the user is found. */
  find(code: string): string;
  /** What the slow hash takes in the code's place, so that `users.json` alone cannot be searched for codes. */
  secret(code: string): Buffer;
  /** Tells this key from another, and nothing about it. */
  readonly mark: string;
}

export const keyBytes = 32;

export function keyed(key: Uint8Array): Keyed {
  const mac = (use: string, text: string) => createHmac('sha256', key).update(`siteward ${use}\0${text}`);
  return {
    find: (code) => mac('find', code).digest('base64url'),
    secret: (code) => mac('secret', code).digest(),
    mark: mac('mark', '').digest('base64url').slice(0, 16),
  };
}
