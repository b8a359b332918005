import { z } from 'zod';
import type { Operation } from '#lib/contract/operation.ts';
import type { FieldError } from './answers.ts';

/**
 * Members of a JSON body that its schema does not name, as errors (the `strict_unknown` choice, S-012). Items of a bulk
 * call are judged one by one, so they are none of its business.
 */
export function unknownMembers(operation: Operation, raw: Uint8Array): FieldError[] {
  const { schema, items } = operation.body ?? {};
  if (!(schema instanceof z.ZodObject) || items !== undefined || raw.length === 0) return [];
  const body: unknown = JSON.parse(Buffer.from(raw).toString('utf8'));
  return strangersIn(schema, body).map((field) => ({ field, message: notAMember }));
}

export const notAMember = 'is not a member of this body';

/** Names of members of an object that its schema does not name. */
export const strangersIn = (schema: z.ZodType, value: unknown): string[] =>
  schema instanceof z.ZodObject && typeof value === 'object' && value !== null
    ? Object.keys(value).filter((name) => !Object.hasOwn(schema.shape, name))
    : [];
