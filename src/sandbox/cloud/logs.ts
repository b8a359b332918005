import { type ActivityLog, type ActivityLogQuery, activityLogLimits, instant } from '#cloud/contract/index.ts';
import { activityOf } from './world/answers.ts';
import type { ActivityRow } from './world/rows.ts';

/** A page of a site's entries, newest first; from `startDate` on, up to but without `endDate` (S-145). Pure. */
export function pageOfLog(entries: readonly ActivityRow[], query: ActivityLogQuery): ActivityLog[] {
  const { offset = 0, limit = activityLogLimits.default } = query;
  const from = query.startDate === undefined ? Number.NEGATIVE_INFINITY : instant(query.startDate);
  const to = query.endDate === undefined ? Number.POSITIVE_INFINITY : instant(query.endDate);
  return entries
    .filter(({ created_at }) => Date.parse(created_at) >= from && Date.parse(created_at) < to)
    .sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at) || b.activity_log_id - a.activity_log_id)
    .slice(offset, offset + limit)
    .map(activityOf);
}
