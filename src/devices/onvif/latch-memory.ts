import { randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '#lib/clock.ts';
import { never, withDeadline } from '#lib/wait.ts';
import type { AuthLatch } from './auth-latch.ts';
import type { MemoryPort } from './camera.ts';

/**
 * Refused logins over a restart, so that one that comes again and again cannot lock the account. They count for this user
 * and password alone: corrected ones are tried at once. Best effort: a memory that fails keeps no camera from being watched.
 */
export interface LatchMemory {
  /** Takes what earlier runs left; once. */
  recall(): Promise<void>;
  refused(): Promise<void>;
  accepted(): Promise<void>;
}

interface Kept {
  readonly tries: number;
  /** Wall clock, milliseconds: when it was written, and until when nothing is tried. */
  readonly at: number;
  readonly until: number;
  readonly salt: string;
  readonly mark: string;
}

const memoryMs = 1000;
/** For the reading: the store answers late while a machine starts. */
const readMs = 5000;

export function latchMemory(options: {
  latch: AuthLatch;
  memory: MemoryPort;
  key: string;
  login: { readonly username: string; readonly password: string };
  clock: Clock;
  holdMs: number;
}): LatchMemory {
  const { latch, memory, key, clock, holdMs } = options;
  let reading: Promise<void> | undefined;
  let isKept = false;

  const attempt = <T>(ms: number, work: () => Promise<T>): Promise<T | undefined> =>
    withDeadline(ms, never(), async () => work(), 'the memory').catch(() => undefined);

  async function read(): Promise<void> {
    const text = await attempt(readMs, () => memory.get(key));
    isKept = text !== undefined;
    const kept = parse(text);
    if (kept === undefined || kept.mark !== (await markOf(options.login, kept.salt))) return;
    const now = clock.wall();
    // A clock that went back tells nothing of how long it was: the whole pause again.
    const leftMs = now < kept.at ? holdMs : Math.min(holdMs, Math.max(0, kept.until - now));
    latch.resume(kept.tries, kept.until > kept.at ? leftMs : 0);
  }

  return {
    recall() {
      reading ??= read();
      return reading;
    },
    async refused() {
      const salt = randomBytes(8).toString('hex');
      const at = clock.wall();
      const mark = await markOf(options.login, salt);
      const kept: Kept = { tries: latch.refusals, at, until: at + latch.leftMs, salt, mark };
      isKept = true;
      await attempt(memoryMs, () => memory.set(key, JSON.stringify(kept)));
    },
    async accepted() {
      if (!isKept) return;
      isKept = false;
      await attempt(memoryMs, () => memory.delete(key));
    },
  };
}

const derive = promisify<string, string, number, Buffer>(scrypt);

/** Tells a corrected login from the refused one, and is too short to find the password by. */
const markOf = async ({ username, password }: { username: string; password: string }, salt: string): Promise<string> =>
  (await derive(`${username}\n${password}`, salt, 2)).toString('hex');

function parse(text: string | undefined): Kept | undefined {
  try {
    const { tries, at, until, salt, mark } = JSON.parse(text ?? '') as Partial<Kept>;
    const isWhole = Number.isInteger(tries) && Number.isFinite(at) && Number.isFinite(until);
    if (!isWhole || typeof salt !== 'string' || typeof mark !== 'string') return undefined;
    return { tries, at, until, salt, mark } as Kept;
  } catch {
    return undefined;
  }
}
