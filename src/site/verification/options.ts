import { z } from 'zod';
import { contactNumber, userId } from '#site/model/index.ts';

const account = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -');

/** The `verification` part of the configuration: who answers as which contact of the service (safety 6). */
export const verificationOptions = z.strictObject({
  contacts: z
    .array(
      z
        .strictObject({
          user: userId.optional().describe('Id of a user, who answers with a code.'),
          client: account
            .optional()
            .describe('Name of a client in mqtt.clients with the role guard, which answers without a code.'),
          contact_id: contactNumber.describe('Number of the contact at the service, under which they answer.'),
        })
        .refine(({ user, client }) => (user === undefined) !== (client === undefined), {
          error: 'must name either a user or a client',
        }),
    )
    .max(600)
    .default([])
    .describe('Who may answer an alarm verification, and as which contact of the service.'),
});
