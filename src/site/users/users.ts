import { timingSafeEqual } from 'node:crypto';
import { Counter, type Registry } from 'prom-client';
import { isCode } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { type Health, ok } from '#lib/health.ts';
import type { ClockQuality } from '#site/model/index.ts';
import { type Book, createBook, type Entry } from './book.ts';
import { createChanges } from './changes.ts';
import { type ConfiguredCodes, configuredCodes, configuredRole } from './configured.ts';
import { type SlowHash, scryptHash } from './hashing.ts';
import { createKeeping } from './keeping.ts';
import { type CodeVerdict, type ConfiguredUser, recordOf, type Unfit, type Users } from './types.ts';
import { outOfDates, siteTime, unfit } from './validity.ts';

export interface UsersOptions {
  /** The state directory. */
  readonly dir: string;
  /** File of a key that is kept elsewhere, as by systemd; taken instead of `user-key` where it exists. */
  readonly credential?: string | undefined;
  readonly configured: readonly ConfiguredUser[];
  /** IANA name of the site's zone. */
  readonly timezone: () => string;
  readonly clock: Clock;
  readonly quality: () => ClockQuality;
  readonly metrics: Registry;
  /** Told whose code was tried that does not count now; for the audit alone. */
  readonly onUnfit?: (user: string, why: Unfit) => void;
  /** A duress code was given for a change of users; the id of whose it is. Default: nobody is told. */
  readonly onDuress?: (actor: string) => void;
  /** Default: scrypt. */
  readonly hash?: SlowHash;
}

/** The book of users: `users.json` in the state directory, and beside it those of the configuration. */
export function createUsers(options: UsersOptions): Users {
  const { clock, quality, hash = scryptHash() } = options;
  const book = createBook({ keeping: createKeeping(options), clock });
  const now = () => ({ at: siteTime(clock.wall(), options.timezone()), clock: quality() });
  let configured = configuredCodes(options.configured);
  const onDuress = options.onDuress ?? (() => undefined);
  const changes = createChanges({ book, configured: () => configured, hash, verdict, now, clock, onDuress });
  const checks = new Counter({
    name: 'siteward_code_checks_total',
    help: 'Codes that were checked, by result; duress counts as ok',
    labelNames: ['result'],
    registers: [options.metrics],
  });

  /** Every way through it makes one lookup in each book and one slow hash (safety 10). */
  async function verdict(code: string): Promise<CodeVerdict> {
    await book.lookAgain();
    const keys = keysOf(book) ?? configured.keyed;
    const known = configured.find(code);
    const entry = book.entry(keys.find(code));
    const { salt, hash: expected } = entry?.kept ?? nobody;
    const derived = await hash.derive(keys.secret(code), Buffer.from(salt, 'base64url'));
    const isProven = timingSafeEqual(derived, Buffer.from(expected, 'base64url'));
    if (known !== undefined) return known;
    // The user may have been removed, and the code given to another, while the hash was made.
    const still = book.entry(keys.find(code));
    return isProven && still?.kept.hash === expected ? judged(still) : { code: 'bad', refused: { why: 'unknown' } };
  }

  /** Help is called at any hour and under any clock, though not by somebody who has left (safety 1). */
  function judged({ user, isDuress }: Entry): CodeVerdict {
    const { at, clock: trust } = now();
    const why = !isDuress ? unfit(user, at, trust) : trust === 'doubtful' ? undefined : outOfDates(user, at);
    if (why !== undefined) return { code: 'bad', refused: { why, user: user.id } };
    return { code: isDuress ? 'duress' : 'ok', actor: user.id, role: user.role };
  }

  return {
    name: 'codes',
    start: book.read,
    stop: changes.settled,
    health: () => healthOf(book, configured),
    replace(users) {
      configured = configuredCodes(users);
    },
    async check(code) {
      if (code === undefined || code === '') return { code: 'none' };
      try {
        const found = await verdict(code);
        checks.inc({ result: found.code === 'bad' ? 'bad' : 'ok' });
        const { refused } = found;
        if (refused !== undefined && refused.why !== 'unknown') options.onUnfit?.(refused.user, refused.why);
        return found;
      } catch (error) {
        if (isCode(error, 'queue_full')) checks.inc({ result: 'busy' });
        throw error;
      }
    },
    async list() {
      await book.lookAgain();
      const { at, clock: trust } = now();
      return [
        ...configured.users.map(
          ({ id, name }) => ({ id, name, role: configuredRole, source: 'configuration' }) as const,
        ),
        ...book.usable().users.map((user) => ({
          ...recordOf(user),
          source: 'file' as const,
          now: unfit(user, at, trust) ?? ('valid' as const),
        })),
      ];
    },
    add: changes.add,
    setCode: changes.setCode,
    remove: changes.remove,
  };
}

/** What a code of nobody is compared with: no hash is all zeros. */
const nobody = { salt: 'A'.repeat(22), hash: 'A'.repeat(43) } as const;

function keysOf(book: Book) {
  const kept = book.kept();
  return kept.state === 'usable' ? kept.keyed : undefined;
}

function healthOf(book: Book, configured: ConfiguredCodes): Health {
  const kept = book.kept();
  if (kept.state === 'held') return { state: 'degraded', reason: `${kept.reason}; no code of it counts` };
  const twice = clashes(book, configured);
  if (twice.length > 0) {
    const who = twice.join(', ');
    const reason = `users of the configuration go before others with their id or code: ${who}; give them their own`;
    return { state: 'degraded', reason };
  }
  if (kept.note !== undefined) return { state: 'degraded', reason: kept.note };
  return ok({ users: kept.users.length, configured: configured.users.length });
}

/** Ids of the configuration that have a code, or the id, of somebody in the file: added before they were written there. */
function clashes(book: Book, { users }: ConfiguredCodes): readonly string[] {
  const keys = keysOf(book);
  const ids = new Set(book.usable().users.map(({ id }) => id));
  return users.flatMap(({ id, code, duress_code: duress }) => {
    const codes = [code, ...(duress === undefined ? [] : [duress])];
    const isTaken = codes.some((one) => keys !== undefined && book.entry(keys.find(one.reveal())) !== undefined);
    return ids.has(id) || isTaken ? [id] : [];
  });
}
