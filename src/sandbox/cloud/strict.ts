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
  const body: object = JSON.parse(Buffer.from(raw).toString('utf8'));
  return Object.keys(body)
    .filter((name) => !Object.hasOwn(schema.shape, name))
    .map((name) => ({ field: name, message: 'is not a member of this body' }));
}

/** The schema of one item of a bulk call, with or without room for members nobody knows. */
export const itemSchema = <S extends z.ZodObject>(schema: S, strict: boolean): S =>
  strict ? (schema.strict() as unknown as S) : schema;
