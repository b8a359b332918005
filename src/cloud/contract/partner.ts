import { z } from 'zod';
import type { BodySpec } from '#lib/contract/operation.ts';
import { partnerError } from './errors.ts';
import { pathId } from './fields.ts';

/** What all operations for platform partners share (S-001, S-002). */
export const partner = { base: 'base', auth: ['partner'] } as const;

export const dealerParams = z.object({ dealerId: pathId() });
export const siteParams = dealerParams.extend({ siteId: pathId() });

export const dealerPath = '/partner/v1/dealers/{dealerId}';
export const sitePath = `${dealerPath}/sites/{siteId}` as const;

/** A JSON body that must be there. */
export const json = <S extends z.ZodType>(schema: S) =>
  ({ media: 'application/json', schema }) as const satisfies BodySpec;

/** A JSON body that may be left out; when it is there, it must fit. */
export const optionalJson = <S extends z.ZodType>(schema: S) =>
  ({ media: 'application/json', schema, optional: true }) as const satisfies BodySpec;

/** A bulk call: only the list as a whole can fail it; each item is judged on its own by `items` (S-122, S-125). */
export const bulkJson = <S extends z.ZodType, I extends z.ZodType>(schema: S, items: I) =>
  ({ media: 'application/json', schema, items }) as const satisfies BodySpec;

/** Refusals of every operation below a dealer (S-002, S-004, S-005). */
export const refusals = {
  401: { description: 'The access token is missing, expired or invalid', schema: partnerError },
  403: { description: 'The token is valid but its dealers do not include this one', schema: partnerError },
  404: { description: 'An id does not exist or was deleted', schema: partnerError },
} as const;

/** Refusals of an operation with a body or a query (S-009). */
export const checkedRefusals = {
  400: { description: 'A field is missing, has a wrong type or is not valid; the body names it', schema: partnerError },
  ...refusals,
} as const;

export const noContent = { 204: { description: 'Done; there is no body' } } as const;
