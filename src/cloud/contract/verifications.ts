import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { type VerificationAction, verificationActions } from '#site/model/index.ts';
import { answerTime, id, idNumber, oneOf, record, timestamp, uuid } from './fields.ts';
import { checkedRefusals, json, partner, siteParams, sitePath } from './partner.ts';

export { type VerificationAction, verificationActions };

/** The answer of a contact to a request to verify an alarm (S-150). */
export const verificationResponse = record({
  contact_id: idNumber().describe('The contact who handled it.'),
  action: oneOf(verificationActions),
  responded_at: timestamp(),
});
export type VerificationResponse = z.output<typeof verificationResponse>;

/** The specification promises an echo of the action; the rest is our choice (S-154). */
export const alarmVerification = z.object({
  verification_id: uuid(),
  contact_id: id(),
  action: z.enum(verificationActions),
  responded_at: answerTime(),
});

const path = `${sitePath}/alarm-verifications/{verificationId}` as const;
const shared = {
  ...partner,
  params: siteParams.extend({ verificationId: uuid() }),
  body: json(verificationResponse),
  responses: {
    200: { description: 'The recorded action', schema: alarmVerification },
    ...checkedRefusals,
    404: { ...checkedRefusals[404], description: 'The verification is unknown or has expired' },
  },
  rules: ['S-150', 'S-151', 'S-152', 'S-153', 'S-154', 'S-155', 'S-156', 'S-157'],
  tags: ['alarm verifications'],
} as const;

/** The same action once more is no harm (S-153). */
export const answerVerification = defineOperation({
  ...shared,
  id: 'answerVerification',
  method: 'PATCH',
  path,
  summary: 'Record the dispatch or disregard of an alarm verification',
  repeatable: 'yes',
});

/** Nothing of this variant is shown; it takes the same body (S-155), and nothing says that a repeat is no harm. */
const respondVerification = defineOperation({
  ...shared,
  id: 'respondVerification',
  method: 'POST',
  path: `${path}/response`,
  summary: 'Submit the response to an alarm verification',
  repeatable: 'no',
});

export const verificationOperations = { answerVerification, respondVerification } as const;
