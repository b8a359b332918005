import { randomBytes } from 'node:crypto';
import { SitewardError } from '#errors.ts';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import { guessLock } from '#lib/guess-lock.ts';
import { auditNotes } from '#site/audit-notes.ts';
import { type AuditDraft, isoTime } from '#site/model/index.ts';
import type { CodeVerdict } from '#site/users/index.ts';

export interface Auditor {
  readonly session: string;
  readonly actor: string;
  readonly expires_at: string;
}

/** Who looks. Whoever gave a duress code looks like an auditor and sees what everybody sees (safety 4). */
export interface Looker {
  readonly actor: string;
  readonly isForced: boolean;
}

/** Whether what only auditors may see may be shown. */
export const seesAll = (looker: Looker | undefined): boolean => looker?.isForced === false;

/** Who has shown to be an auditor, for a while. */
export interface Auditors {
  /** Throws `auditor_needed`. */
  open(code: string): Promise<Auditor>;
  /** Whose the session is; undefined without one. Throws `auditor_needed` for one that is over. */
  whose(session: string | undefined): Looker | undefined;
}

const sessionMs = 15 * 60_000;
const sessionCap = 8;

export function createAuditors(options: {
  check: (code: string) => Promise<CodeVerdict>;
  note: (entry: AuditDraft) => Promise<void>;
  clock: Clock;
  /** A duress code was given; the id of whose it is. */
  onDuress: (actor: string) => void;
}): Auditors {
  const { clock, note } = options;
  const sessions = new BoundedMap<string, Looker & { readonly untilMono: number }>(sessionCap);
  /** The way to the log is no way to search for codes (C8). */
  const guesses = guessLock(clock);

  /** A call for help depends on nothing that comes of the code, and not on a lock (safety 1). */
  async function check(code: string): Promise<CodeVerdict> {
    const verdict = await options.check(code);
    if (verdict.code === 'duress' && verdict.actor !== undefined) options.onDuress(verdict.actor);
    return verdict;
  }

  return {
    async open(code) {
      const leftMs = guesses.leftMs();
      if (leftMs > 0) {
        await check(code);
        throw needed(`too many codes were refused; wait ${Math.ceil(leftMs / 1000)} s`);
      }
      // Counted before it is known: many tries at once must not get in under the cap.
      const wasRight = guesses.count();
      const { code: verdict, role, actor } = await check(code);
      if (verdict === 'bad' || verdict === 'none' || role !== 'auditor' || actor === undefined) {
        await note(auditNotes.loginRefused(verdict === 'bad' ? 'BAD_CODE' : 'NOT_ALLOWED', actor));
        throw needed('the code is not that of an auditor');
      }
      wasRight();
      const session = randomBytes(24).toString('base64url');
      sessions.set(session, { actor, isForced: verdict === 'duress', untilMono: clock.monotonic() + sessionMs });
      await note(auditNotes.login(actor));
      return { session, actor, expires_at: isoTime(clock.wall() + sessionMs) };
    },

    whose(session) {
      if (session === undefined) return undefined;
      const found = sessions.get(session);
      if (found !== undefined && found.untilMono > clock.monotonic()) return found;
      sessions.delete(session);
      throw ended();
    },
  };
}

export const needed = (reason: string): SitewardError => new SitewardError('auditor_needed', reason);

export const ended = (): SitewardError => needed('the session of the auditor has ended; give the code again');
