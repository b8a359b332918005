import { z } from 'zod';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import { personCode } from '#site/model/index.ts';
import { answerDeadlineMs, json } from './answering.ts';
import { lanOperation, problemResponse } from './lan-operation.ts';

/** The security type of the site, changed by a technician on this machine. */

const securityTypeBody = z.strictObject({
  security_type: z.literal([1, 2, 3, 4], { error: 'must be 1, 2, 3 or 4' }),
  while_armed: z
    .boolean()
    .default(false)
    .describe('In force at once, also while a partition is armed; takes the code of an owner or installer.'),
  code: personCode.exactOptional(),
});
export type SecurityTypeBody = z.output<typeof securityTypeBody>;

export const securityTypeAnswer = z.object({
  /** In force now. */
  security_type: z.int(),
  /** Another one that waits for every partition to be disarmed. */
  asked: z.int().optional(),
  /** Schedules that arm or disarm nothing once it is in force: with type 4 another system decides. */
  idle_schedules: z.array(z.string()).optional(),
});
export type SecurityTypeAnswer = z.output<typeof securityTypeAnswer>;

export interface SecurityTypePort {
  /** Resolves with what is in force after it. Rejects with `config_fixed` where the configuration names the type, `code_refused`. */
  change(wish: SecurityTypeBody): Promise<SecurityTypeAnswer>;
}

const setSecurityType = lanOperation({
  id: 'setSecurityType',
  method: 'POST',
  path: '/api/v1/security-type',
  summary: 'Say which security system handles the site',
  body: { media: 'application/json', schema: securityTypeBody },
  responses: {
    200: { description: 'What is in force now, and what waits', media: 'application/json', schema: securityTypeAnswer },
    400: problemResponse('The body is wrong'),
    409: problemResponse('The configuration fixes another type, or the code is not taken'),
    503: problemResponse('The site is not running'),
  },
  repeatable: 'yes',
  rules: ['S-140'],
  tags: ['commands'],
});

export const securityTypeOperations = { setSecurityType } as const;

export function securityTypeHandlers(port: SecurityTypePort): Handlers<typeof securityTypeOperations, By> {
  return {
    setSecurityType: async ({ body, signal }) =>
      json(await withDeadline(answerDeadlineMs, signal, () => port.change(body), 'changing the security type')),
  };
}
