import { randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Clock } from '#lib/clock.ts';
import type { Account, Count, Counts, Door } from './account.ts';
import type { MemoryPort } from './camera.ts';
import { firstReadMs, patiently } from './patient-memory.ts';

/**
 * Refused logins over a restart, so that one that comes again and again cannot lock the account. They count for this user
 * and password alone: corrected ones are tried at once. Best effort: a memory that fails keeps no camera from being watched.
 */
export interface AccountMemory {
  /** Takes what earlier runs left; once. */
  recall(): Promise<void>;
  /**
   * Before a password that may be wrong is sent: a run that is killed before it hears the verdict has made a try, too. Where the
   * device has taken this login once it is doubted, not refused: power that comes and goes must not shut a door for a pause.
   */
  trying(door: Door): Promise<void>;
  /** Keeps what the account counts now, where that has changed. */
  keep(): Promise<void>;
}

/** `until` and `at`, when it was written, by the wall clock. */
const count = z.object({ refusals: z.int().min(0).max(9), until: z.number() });
/** What was written before speakers had a door says nothing of it. */
const noCount = { refusals: 0, until: 0 };
const counts = z.object({
  ...{ row: count, events: count, pictures: count, streams: count },
  speaker: count.default(noCount),
});
const keptSchema = z.object({
  ...{ at: z.number(), salt: z.string(), mark: z.string() },
  counts: counts.optional(),
  /** The device has taken this login. */
  taken: z.boolean().default(false),
});

export function accountMemory(options: {
  account: Account;
  kept: { readonly key: string; readonly memory: MemoryPort };
  login: string;
  clock: Clock;
  holdMs: number;
}): AccountMemory {
  const { account, kept, login, clock, holdMs } = options;
  const { key, memory } = kept;
  const salt = randomBytes(8).toString('hex');
  let reading: Promise<void> | undefined;
  /** In the account's own words. */
  let isKept = '';
  let wasTaken = false;
  const isTaken = () => wasTaken || account.wasAcceptedAnywhere;
  const present = () => JSON.stringify([account.counts(), isTaken()]);
  let marking: Promise<string> | undefined;
  const mark = (): Promise<string> => {
    marking ??= markOf(login, salt);
    return marking;
  };
  let writing = Promise.resolve();
  /** Written down, and no verdict heard since. */
  const tried = new Set<Door>();

  async function read(): Promise<void> {
    const text = (await patiently(() => memory.get(key), { ms: firstReadMs }))?.value;
    if (text === undefined) return;
    isKept = 'by an earlier run';
    const found = parse(text);
    if (found === undefined || found.mark !== (await markOf(login, found.salt))) return;
    const now = clock.wall();
    // A clock that went back tells nothing of how long it was: the whole pause again.
    const leftMs = (until: number) => (now < found.at ? holdMs : Math.min(holdMs, Math.max(0, until - now)));
    const here = (until: number) => (until > found.at ? clock.monotonic() + leftMs(until) : 0);
    wasTaken = found.taken;
    if (found.counts !== undefined) account.resume(moved(found.counts, here));
  }

  /** In turn: a slow one must not end up over a newer. */
  function write(now: Counts | undefined): Promise<void> {
    const at = clock.wall();
    const there = (until: number) => at + Math.max(0, until - clock.monotonic());
    const left = { counts: now && moved(now, there), taken: isTaken() };
    const isNothing = left.counts === undefined && !left.taken;
    const put = async () => {
      const text = isNothing ? undefined : JSON.stringify({ at, salt, mark: await mark(), ...left });
      await patiently(() => (text === undefined ? memory.delete(key) : memory.set(key, text)));
    };
    writing = writing.then(put).catch(() => undefined);
    return writing;
  }

  return {
    recall() {
      reading ??= read();
      return reading;
    },
    async trying(door) {
      if (tried.has(door)) return;
      tried.add(door);
      isKept = 'a try';
      const isDoubt = isTaken() && account.triesLeft > 0;
      await write(isDoubt ? account.countsIfDoubted() : account.countsIfRefused(door));
    },
    async keep() {
      tried.clear();
      if (present() === isKept) return;
      isKept = present();
      await write(account.counts());
    },
  };
}

function moved({ row, events, pictures, streams, speaker }: Counts, move: (until: number) => number): Counts {
  const one = ({ refusals, until }: Count) => ({ refusals, until: move(until) });
  return { row: one(row), events: one(events), pictures: one(pictures), streams: one(streams), speaker: one(speaker) };
}

const derive = promisify<string, string, number, Buffer>(scrypt);

/** Tells a corrected login from the refused one, and is too short to find the password by. */
const markOf = async (login: string, salt: string): Promise<string> => (await derive(login, salt, 2)).toString('hex');

function parse(text: string) {
  try {
    return keptSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
