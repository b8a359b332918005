import { randomBytes } from 'node:crypto';
import { type Keyed, keyed } from './hashing.ts';
import type { CodeVerdict, ConfiguredUser } from './types.ts';

/** The users of the configuration, found by their codes. */
export interface ConfiguredCodes {
  readonly users: readonly ConfiguredUser[];
  readonly keyed: Keyed;
  find(code: string): CodeVerdict | undefined;
}

/** What their codes allow; the configuration knows no roles. */
export const configuredRole = 'user';

/**
 * Hashed under a key of this run, which is nowhere else: their codes lie in secrets of their own, so that nothing of them
 * is kept here, and a slow hash would guard nothing.
 */
export function configuredCodes(users: readonly ConfiguredUser[]): ConfiguredCodes {
  const keys = keyed(randomBytes(32));
  const verdicts = new Map<string, CodeVerdict>(
    users.flatMap(({ id: actor, code, duress_code: duress }) => {
      const ok = [keys.find(code.reveal()), { code: 'ok', actor, role: configuredRole }] as const;
      if (duress === undefined) return [ok];
      return [ok, [keys.find(duress.reveal()), { code: 'duress', actor, role: configuredRole }] as const];
    }),
  );
  return { users, keyed: keys, find: (code) => verdicts.get(keys.find(code)) };
}
