import { z } from 'zod';
import {
  contactDoubts,
  outcome,
  personCode,
  replyCodes,
  verificationActions,
  verificationDocument,
  verificationId,
  verificationRequest,
} from '#site/model/index.ts';

export const verificationParams = z.object({ id: verificationId });
export const verificationBody = z
  .strictObject({
    ...verificationRequest.shape,
    expires_in_s: z
      .int()
      .min(1)
      .max(86_400)
      .exactOptional()
      .describe(
        'The deadline in seconds from receipt, in place of expires_at; the same request again keeps the first one.',
      ),
  })
  .refine(({ expires_at: at, expires_in_s: inS }) => at === undefined || inS === undefined, {
    error: 'must not stand beside expires_at',
    path: ['expires_in_s'],
  });

export const verificationList = z.object({ items: z.array(verificationDocument) });

const warning = z
  .enum(contactDoubts)
  .optional()
  .describe(
    'It was taken, but: the service lists no such contact (CONTACT_UNKNOWN), or its list here is old or has gaps (CONTACT_UNSURE).',
  );

export const verificationAsked = z.object({
  outcome: z.enum(['done', 'already']),
  verification: verificationDocument,
  warning,
});

const uuid = z.string({ error: 'must be text' }).regex(/^[0-9a-fA-F-]{36}$/, 'must be a UUID');

/** What is wrong is told without what was given: a code in the wrong place must not come back. */
export const answerBody = z.strictObject(
  {
    id: uuid.describe('Of this answer; the same one again is no second answer.'),
    action: z.enum(verificationActions, { error: `must be one of ${verificationActions.join(', ')}` }),
    code: personCode.describe('Of the user who answers; the contact is the one that is bound to them.'),
    issued_at: z.iso.datetime({ offset: true }).describe('When the person answered.'),
  },
  { error: 'must have id, action, code and issued_at, and no others' },
);
export type AnswerBody = z.output<typeof answerBody>;

/** As the reply on MQTT; `accepted`: it is on disk and on its way to the service. */
export const answerAnswer = z.object({
  outcome,
  error: z
    .object({ code: z.enum(replyCodes), field: z.string().optional(), retry_after_s: z.int().optional() })
    .optional(),
  verification: verificationDocument.optional(),
  warning,
});
export type AnswerAnswer = z.output<typeof answerAnswer>;
