import type { Clock } from '#lib/clock.ts';
import { auditNotes } from '#site/audit-notes.ts';
import type { AuditDraft } from '#site/model/index.ts';
import { type House, running } from './house.ts';

/** Adds one entry to the audit log. Never rejects: what it tells of has happened already. */
export type Note = (entry: AuditDraft) => Promise<void>;

export const noteIn =
  (house: House): Note =>
  async (entry) =>
    house.controller?.audit([entry]).catch(() => undefined);

export const checkWith = (house: House) => async (code: string) => running(house, 'codes').check(code);

/** Entries on unfit codes within a minute; what comes above is in the log as the refusal of its command alone. */
const unfitCap = 20;
const unfitWindowMs = 60_000;

/** Records whose code was tried that does not count now; the one who tries it is told none of it. */
export function noteUnfit(house: House, clock: Clock): (user: string, why: string) => void {
  const note = noteIn(house);
  let from = Number.NEGATIVE_INFINITY;
  let told = 0;
  return (user, why) => {
    const now = clock.monotonic();
    if (now - from >= unfitWindowMs) {
      from = now;
      told = 0;
    }
    told += 1;
    if (told <= unfitCap) void note(auditNotes.codeUnfit(user, why));
  };
}
