import { createHmac, randomBytes } from 'node:crypto';
import type { Secret } from '#lib/secret.ts';
import type { CodeCheck } from '#site/model/index.ts';

/** Finds the user of a code. */
export interface CodeBook {
  check(code: string | undefined): CodeCheck;
}

/**
 * Codes of the configuration, kept as keyed hashes under a key of this run: looking one up takes the same time
 * whether it exists or not, and the memory of the process holds no table of codes.
 */
export function createCodeBook(
  users: readonly { readonly id: string; readonly code: Secret; readonly duress_code?: Secret | undefined }[],
): CodeBook {
  const key = randomBytes(32);
  const digest = (code: string) => createHmac('sha256', key).update(code).digest('hex');
  const known = new Map<string, CodeCheck>();
  for (const user of users) {
    known.set(digest(user.code.reveal()), { code: 'ok', actor: user.id });
    if (user.duress_code !== undefined) {
      known.set(digest(user.duress_code.reveal()), { code: 'duress', actor: user.id });
    }
  }
  return {
    check(code) {
      if (code === undefined || code === '') return { code: 'none' };
      return known.get(digest(code)) ?? { code: 'bad' };
    },
  };
}
