import { z } from 'zod';
import { lanOperation, problemResponse } from './lan-operation.ts';

const time = z.iso.datetime({ precision: null });
const moment = z.iso.datetime({ offset: true, error: 'must be a time such as 2026-12-01T08:00:00Z' });

const cloudActivityQuery = z.strictObject({
  session: z.string().max(100).exactOptional().describe('Of an auditor, who is shown everything.'),
  limit: z.int().min(1).max(1000).default(100),
  since: moment.exactOptional().describe('Entries of this time and later.'),
  before: moment.exactOptional().describe('Entries before this time.'),
});
export type CloudActivityQuery = z.output<typeof cloudActivityQuery>;

export const cloudActivity = z.object({
  /** `none`: this configuration cannot ask for it. `away`: the cloud did not answer with it. */
  state: z.enum(['read', 'away', 'none']),
  /** Why it was not read. */
  reason: z.string().optional(),
  /** Newest first. */
  items: z.array(
    z.object({
      /** Null where the cloud told no time that can be read. */
      at: time.nullable(),
      id: z.string().nullable(),
      type: z.string(),
      description: z.string(),
    }),
  ),
});
export type CloudActivity = z.output<typeof cloudActivity>;

/**
 * What the cloud's activity log says of this site. Never rejects for a cloud that is away: that is what it tells then. Rejects with
 * `auditor_needed` for a session that has ended.
 */
export interface ActivityPort {
  cloud(query: CloudActivityQuery, signal: AbortSignal): Promise<CloudActivity>;
}

const getCloudActivity = lanOperation({
  id: 'getCloudActivity',
  // A session is a secret: it goes in a body, never in an address.
  method: 'POST',
  path: '/api/v1/activity/cloud',
  summary: "The cloud's activity log of this site, read now",
  body: { media: 'application/json', schema: cloudActivityQuery },
  responses: {
    200: { description: 'The newest entries, or why there are none', media: 'application/json', schema: cloudActivity },
    400: problemResponse('The body is wrong'),
    403: problemResponse('The session of the auditor has ended'),
  },
  repeatable: 'yes',
  rules: ['S-144', 'S-145'],
  tags: ['audit'],
});

export const activityOperations = { getCloudActivity } as const;
