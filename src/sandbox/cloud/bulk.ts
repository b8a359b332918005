import type { z } from 'zod';
import { type BulkResult, checkItem } from '#cloud/contract/index.ts';
import { isCode } from '#errors.ts';
import { notAMember, strangersIn } from './strict.ts';

/** Why one item of a bulk call fails; the others go on (S-122). */
export interface ItemFailure {
  readonly status: number;
  readonly message: string;
}

export const failItem = (status: number, message: string): ItemFailure => ({ status, message });

const isFailure = (value: object): value is ItemFailure => 'message' in value && 'status' in value;

interface BulkRules<S extends z.ZodType, Res extends object> {
  readonly item: S;
  /** Members nobody knows fail their item (S-012). */
  readonly strict?: boolean;
  apply(item: z.output<S>): Res | ItemFailure;
}

/**
 * A bulk call over its items in their order, one result each, counts that agree (S-122 to S-127). Each item is checked
 * on its own; `apply` does its work or says why it fails. The call itself never fails.
 */
export function runBulk<S extends z.ZodType, Res extends object>(
  items: readonly unknown[],
  options: BulkRules<S, Res>,
): BulkResult<unknown, Res> {
  const results = items.map((req) => {
    const outcome = applyOne(req, options);
    return isFailure(outcome)
      ? { is_successful: false as const, status_code: outcome.status, error_message: outcome.message, req }
      : { is_successful: true as const, req, res: outcome };
  });
  const success_count = results.filter((entry) => entry.is_successful).length;
  return { success_count, failure_count: results.length - success_count, results };
}

function applyOne<S extends z.ZodType, Res extends object>(
  req: unknown,
  { item, strict = false, apply }: BulkRules<S, Res>,
): Res | ItemFailure {
  const checked = checkItem(item, req);
  if ('problem' in checked) return failItem(400, checked.problem);
  const [stranger] = strict ? strangersIn(item, req) : [];
  if (stranger !== undefined) return failItem(400, `${stranger}: ${notAMember}`);
  try {
    return apply(checked.value);
  } catch (error) {
    if (isCode(error, 'queue_full')) return failItem(400, error instanceof Error ? error.message : 'there is no room');
    throw error;
  }
}
