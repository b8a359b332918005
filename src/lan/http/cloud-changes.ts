import { z } from 'zod';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import type { Asker } from '#site/model/index.ts';
import { answerDeadlineMs, askerOf, json } from './answering.ts';
import { lanOperation, problemResponse } from './lan-operation.ts';

/** What a technician changes in the cloud by hand, by the command on this machine; it stands in the audit log as `cloud_` and this word. */
const cloudChangeActions = [
  'site_created',
  'site_changed',
  'site_activated',
  'site_deactivated',
  'site_linked',
  'site_unlinked',
  'site_bound',
  'site_deleted',
  'contact_added',
  'contact_changed',
  'contact_deleted',
  'device_changed',
  'devices_deleted',
  'arming_source_changed',
  /** Any operation of the interface, named first among the ids. */
  'operation_called',
] as const;

const id = z.string().regex(/^[\x20-\x7e]{1,64}$/, 'must be 1 to 64 plain characters');

const cloudChange = z.strictObject({
  action: z.enum(cloudChangeActions),
  site_id: id.nullable().describe('Null: the site does not exist yet.'),
  ids: z.array(id).max(20).describe('Of the contact or the devices; the first ones where there are more.'),
  members: z
    .array(z.string().regex(/^[a-z_\d]{1,40}$/))
    .max(20)
    .describe('Names of what was changed, never its value.'),
  outcome: z.enum(['done', 'failed', 'unknown']).describe('unknown: no answer came, it may be done.'),
  reason: z
    .string()
    .regex(/^[a-z_\d]{1,40}$/)
    .optional()
    .describe('Code of the error.'),
});
export type CloudChange = z.output<typeof cloudChange>;

export interface CloudChangesPort {
  /** Into the audit log. Never rejects: it has happened already. */
  note(change: CloudChange, by: Asker): Promise<void>;
}

const noteCloudChange = lanOperation({
  id: 'noteCloudChange',
  method: 'POST',
  path: '/api/v1/cloud/changes',
  summary: 'Have it in the audit log that somebody on this machine changed something in the cloud by hand',
  body: { media: 'application/json', schema: cloudChange },
  responses: {
    200: { description: 'It is in the log', media: 'application/json', schema: z.object({ noted: z.literal(true) }) },
    400: problemResponse('The body is wrong'),
    503: problemResponse('The log takes nothing at the moment'),
  },
  repeatable: 'no',
  rules: ['safety 11'],
  tags: ['audit'],
});

export const cloudChangesOperations = { noteCloudChange } as const;

export function cloudChangesHandlers(port: CloudChangesPort): Handlers<typeof cloudChangesOperations, By> {
  return {
    async noteCloudChange({ body, identity, signal }) {
      await withDeadline(answerDeadlineMs, signal, () => port.note(body, askerOf(identity)), 'noting the change');
      return json({ noted: true });
    },
  };
}
