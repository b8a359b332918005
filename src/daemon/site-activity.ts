import { type ActivityLog, type ActivityLogQuery, activityLogLimits, instant } from '#cloud/contract/index.ts';
import { sha256 } from '#lib/digest.ts';
import { type AuditEntry, isoTime } from '#site/model/index.ts';
import { readAuditEntry, type Store } from '#site/store/index.ts';

/** Entries asked of the store at once; a commit waits for one slice at most. */
const slice = 500;
/** Entries one answer looks through at most; `startDate` and `endDate` do not lead further back. */
const lookCap = 20_000;

/**
 * The audit log of the site in the form of the cloud's activity log (S-145), newest first: what everybody may see, so that nothing tells
 * of a silent alarm (safety 4), and references alone, no names (safety 11).
 */
export async function siteActivity(store: Store, query: ActivityLogQuery): Promise<ActivityLog[]> {
  const { offset = 0, limit = activityLogLimits.default } = query;
  const from = query.startDate === undefined ? Number.NEGATIVE_INFINITY : instant(query.startDate);
  const to = query.endDate === undefined ? Number.POSITIVE_INFINITY : instant(query.endDate);
  const found: ActivityLog[] = [];
  let passed = 0;
  let looked = 0;
  for (let below = Number.MAX_SAFE_INTEGER; ; ) {
    const { rows } = await store.auditSlice({ to: below - 1, limit: slice, newest: true });
    if (rows.length === 0) return found;
    for (const { n, hash, record } of rows) {
      below = n;
      const entry = readAuditEntry(record);
      if (entry === undefined || entry.visibility !== undefined) continue;
      looked += 1;
      if (entry.at_wall >= from && entry.at_wall < to) {
        passed += 1;
        if (passed > offset) found.push(shown(entry, hash));
      }
      if (found.length === limit || looked === lookCap) return found;
    }
  }
}

/** The number in the chain would show where something is left out; this one is as lasting, and tells nothing. */
const idOf = (hash: string): number => Number.parseInt(sha256(`activity ${hash}`).slice(0, 13), 16) + 1;

const shown = (entry: AuditEntry, hash: string): ActivityLog => ({
  activity_log_id: idOf(hash),
  type: entry.action,
  description: descriptionOf(entry),
  created_at: isoTime(entry.at_wall),
});

function descriptionOf({ target, outcome, reason, before, after, actor_ref, client_id, source }: AuditEntry): string {
  const change = [before, after].filter((one) => one !== undefined).join(' to ');
  const parts = [
    target,
    outcome === undefined ? '' : `: ${outcome}`,
    reason === undefined ? '' : ` (${reason})`,
    change === '' ? '' : `, ${change}`,
    `, by ${[actor_ref, client_id].find((one) => one !== undefined) ?? source}`,
  ];
  return parts.join('');
}
