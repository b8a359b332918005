import { z } from 'zod';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import type { Asker } from '#site/model/index.ts';
import { askerOf, json } from './answering.ts';
import { jsonOf, lanOperation, problemResponse } from './lan-operation.ts';

/** For `siteward backup`, which copies the files of the state directory itself. */

const backupBody = z.strictObject({
  step: z
    .enum(['hold', 'release', 'done'])
    .describe(
      '`hold`: leave the database files as they are for 30 s more, what is written goes to their logs. `release`: let them go. `done`: put on record that a backup was made.',
    ),
});
export type BackupStep = z.output<typeof backupBody>['step'];

export const backupAnswer = z.object({
  /** False after `hold` too where a database is away. */
  held: z.boolean(),
});

export interface BackupPort {
  /** Resolves with whether the files are held. What is done is put on record. */
  step(step: BackupStep, by: Asker): Promise<boolean>;
}

const backupStep = lanOperation({
  id: 'backupStep',
  method: 'POST',
  path: '/api/v1/backup',
  summary: 'Keep the database files still while a backup is made; a backup that is done is recorded',
  body: jsonOf(backupBody),
  responses: {
    200: { description: 'Whether they are held', ...jsonOf(backupAnswer) },
    503: problemResponse('siteward cannot answer at the moment'),
  },
  repeatable: 'yes',
  rules: [],
  tags: ['diagnostics'],
});

export const backupOperations = { backupStep } as const;

export function backupHandlers(port: BackupPort): Handlers<typeof backupOperations, By> {
  return {
    backupStep: async ({ body, identity }) => json({ held: await port.step(body.step, askerOf(identity)) }),
  };
}
