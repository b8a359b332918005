import { z } from 'zod';

/** Error body of the event endpoint (S-162, S-166). */
export const eventError = z.looseObject({ error: z.string(), message: z.string() });

/** Error body of both token endpoints (RFC 6749 5.2, S-036). */
export const oauthError = z.looseObject({ error: z.string(), error_description: z.string().optional() });

const field = z.looseObject({ field: z.string().optional(), message: z.string() });

/** Error body of the partner endpoints; the specification shows none, this is ours (S-010). */
export const partnerError = z.looseObject({
  statusCode: z.int(),
  error: z.string(),
  message: z.string(),
  field: z.string().optional(),
  errors: z.array(field).optional(),
});

/** Error body of the audio and public interfaces; the specification shows none, this is ours (S-172). */
export const apiError = z.looseObject({
  error: z.looseObject({ code: z.string(), message: z.string(), field: z.string().optional() }),
});
