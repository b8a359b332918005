import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { answerTime, id, queryCount, queryText } from './fields.ts';
import { checkedRefusals, partner, siteParams, sitePath } from './partner.ts';

/** The specification shows no entry (S-145). Newest first. */
export const activityLog = z.object({
  activity_log_id: id(),
  type: z.string(),
  description: z.string(),
  created_at: answerTime(),
});
export type ActivityLog = z.output<typeof activityLog>;

/**
 * Types of entries that somebody in the office causes and no event, answer or arming of the site does. Any other may come of a
 * silent alarm, and an entry on something that nobody on the site saw tells of it whatever its words are, so those are for
 * auditors (safety 4 and 6). The service describes none of its types: these are the ones the sandbox writes.
 */
const officeTypes: ReadonlySet<string> = new Set([
  ...['site_created', 'site_updated', 'arming_settings', 'monitoring_bindings'],
  ...['device_created', 'device_updated', 'device_deleted', 'nvr_created', 'nvr_updated'],
  ...['contact_created', 'contact_updated', 'contact_deleted'],
]);
/** Also in these: a device may be called after its button. */
const silentWords = /duress|silent|hold.?up|coerc|panic|verif|dispatch|disregard/i;
export const isOfOffice = ({ type, description }: Pick<ActivityLog, 'type' | 'description'>): boolean =>
  officeTypes.has(type) && !silentWords.test(description);

/** Entries of one answer when `limit` is absent, and at most. */
export const activityLogLimits = { default: 100, max: 1000 } as const;

/** A day means its first moment in UTC. */
const moment = () =>
  queryText().pipe(
    z.union([z.iso.datetime({ offset: true, local: true }), z.iso.date()], {
      error: 'must be an ISO 8601 time such as 2030-01-31T00:00:00Z',
    }),
  );

/** From `startDate` on, up to but without `endDate` (S-144, S-145). */
export const activityLogQuery = z
  .object({
    startDate: moment().optional(),
    endDate: moment().optional(),
    limit: queryCount(1, activityLogLimits.max).optional(),
    offset: queryCount(0, 1_000_000_000).optional(),
  })
  .refine(
    ({ startDate, endDate }) =>
      startDate === undefined || endDate === undefined || instant(startDate) <= instant(endDate),
    { path: ['endDate'], message: 'must not be before startDate' },
  );
export type ActivityLogQuery = z.output<typeof activityLogQuery>;

/** Milliseconds of an ISO 8601 time; a time without a zone means UTC (S-018), whatever zone this machine is in. */
export function instant(time: string): number {
  const zoned = !time.includes('T') || /(Z|[+-]\d{2}:?\d{2})$/.test(time);
  return Date.parse(zoned ? time : `${time}Z`);
}

const listActivityLogs = defineOperation({
  ...partner,
  id: 'listActivityLogs',
  method: 'GET',
  path: `${sitePath}/activity-logs`,
  summary: 'Read what happened at a site, newest first',
  params: siteParams,
  query: activityLogQuery,
  responses: { 200: { description: 'The entries', schema: z.array(activityLog) }, ...checkedRefusals },
  repeatable: 'yes',
  availability: 'only A',
  rules: ['S-137', 'S-144', 'S-145'],
  tags: ['activity logs'],
});

export const activityLogOperations = { listActivityLogs } as const;
