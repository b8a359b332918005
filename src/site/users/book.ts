import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { never, withDeadline } from '#lib/wait.ts';
import type { Keyed } from './hashing.ts';
import type { Keeping, Kept } from './keeping.ts';
import type { KeptCode, KeptUser } from './types.ts';

export interface Entry {
  readonly user: KeptUser;
  readonly kept: KeptCode;
  readonly isDuress: boolean;
}

/** What `users.json` says, in memory. */
export interface Book {
  read(): Promise<void>;
  /**
   * What was held, or has a note, may have been mended meanwhile: it is looked at again, at most every ten seconds, and
   * waited for 200 ms. Never rejects.
   */
  lookAgain(): Promise<void>;
  kept(): Kept;
  /** Throws `users_unusable` with the reason. */
  usable(): Extract<Kept, { state: 'usable' }>;
  /** By the keyed hash of a code. */
  entry(find: string): Entry | undefined;
  /** Makes the key if there is none. Throws `users_unusable`. */
  keys(): Promise<Keyed>;
  /** Throws `users_unusable`. */
  write(users: readonly KeptUser[], keys: Keyed): Promise<void>;
}

const rereadMs = 10_000;
/** A coded disarm takes less than 250 ms in all. */
const lookMs = 200;

export function createBook({ keeping, clock }: { keeping: Keeping; clock: Clock }): Book {
  let kept: Kept = { state: 'held', reason: 'the users were not read yet' };
  let entries: ReadonlyMap<string, Entry> = new Map();
  let readMono = Number.NEGATIVE_INFINITY;
  let reads = 0;

  function take(next: Kept): void {
    kept = next;
    entries = new Map(next.state === 'usable' ? next.users.flatMap(entriesOf) : []);
  }

  /**
   * Never while a write is under way: that needs a usable file, and this one is read only while it is not. A read that
   * was overtaken by a later one, because the disk hung, is worth nothing any more.
   */
  async function read(): Promise<void> {
    readMono = clock.monotonic();
    reads += 1;
    const mine = reads;
    const next = await keeping.read();
    if (mine === reads) take(next);
  }

  async function look(): Promise<void> {
    if (kept.state === 'held') await read();
    else if (kept.note !== undefined) await refreshNote();
  }

  async function refreshNote(): Promise<void> {
    readMono = clock.monotonic();
    const note = await keeping.note();
    if (kept.state !== 'usable') return;
    const { note: _, ...rest } = kept;
    kept = { ...rest, ...(note !== undefined && { note }) };
  }

  function usable() {
    if (kept.state === 'usable') return kept;
    throw new SitewardError('users_unusable', kept.reason);
  }

  return {
    read,
    async lookAgain() {
      if (clock.monotonic() - readMono < rereadMs) return;
      // A disk that hangs must not hold up a disarm: what is known counts then, and the look goes on behind it.
      await withDeadline(lookMs, never(), look, 'looking at the users again').catch(() => undefined);
    },
    kept: () => kept,
    usable,
    entry: (find) => entries.get(find),
    async keys() {
      const { keyed } = usable();
      if (keyed !== undefined) return keyed;
      return keeping.key().catch((cause: unknown) => {
        throw new SitewardError('users_unusable', 'no key could be made for the codes of users', { cause });
      });
    },
    async write(users, keys) {
      try {
        await keeping.write(users, keys);
        reads += 1;
        take({ ...usable(), users, keyed: keys });
      } catch (cause) {
        // The new file may stand there all the same: the book is what the folder says.
        await read();
        throw new SitewardError('users_unusable', 'the list of users could not be written', { cause });
      }
    },
  };
}

const entriesOf = (user: KeptUser): (readonly [string, Entry])[] => [
  [user.code.find, { user, kept: user.code, isDuress: false }],
  ...(user.duress === undefined ? [] : [[user.duress.find, { user, kept: user.duress, isDuress: true }] as const]),
];
