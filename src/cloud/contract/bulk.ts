import { z } from 'zod';
import { idNumber, must, record } from './fields.ts';

/** Most items of one bulk call (S-124). */
const bulkCap = 500;

const list = (what: string) =>
  z
    .array(z.unknown(), { error: must(`an array of ${what}`) })
    .min(1, 'must hold at least one item')
    .max(bulkCap, `must hold at most ${bulkCap} items`);

/** The list of a bulk call. Its items are not looked at here: a wrong one fails alone (S-122, S-124, S-125). */
export const bulkList = () => list('items');

/** Ids of devices. A wrong element refuses the whole list under its own name, not the element's (S-136). */
export const deviceIds = record({
  deviceIds: list('device ids')
    .refine((ids) => ids.every((id) => Number.isSafeInteger(id)), 'must hold whole numbers only')
    .pipe(z.array(idNumber()))
    .describe('Ids of devices, whole numbers'),
});

/** A failed item of a bulk call; `req` is the item as it came, whatever it was. */
const bulkFailure = z.object({
  is_successful: z.literal(false),
  status_code: z.int().min(400).max(599),
  error_message: z.string(),
  req: z.unknown(),
});

/** A bulk result: one entry per input item, in the same order, and counts that agree (S-126, S-127). */
export const bulkResult = <Req extends z.ZodType, Res extends z.ZodType>(req: Req, res: Res) =>
  z
    .object({
      success_count: z.int().min(0),
      failure_count: z.int().min(0),
      results: z.array(z.discriminatedUnion('is_successful', [bulkSuccess(req, res), bulkFailure])),
    })
    .refine(
      ({ success_count, failure_count, results }) =>
        success_count === results.filter((entry) => entry.is_successful).length &&
        success_count + failure_count === results.length,
      'the counts must agree with the results',
    );

const bulkSuccess = <Req extends z.ZodType, Res extends z.ZodType>(req: Req, res: Res) =>
  z.object({ is_successful: z.literal(true), req, res });

export type BulkFailure = z.output<typeof bulkFailure>;
export interface BulkSuccess<Req, Res> {
  readonly is_successful: true;
  readonly req: Req;
  readonly res: Res;
}
export interface BulkResult<Req, Res> {
  readonly success_count: number;
  readonly failure_count: number;
  readonly results: readonly (BulkSuccess<Req, Res> | BulkFailure)[];
}

/** One item of a bulk call against its schema; the problem names the field: `zone_number: must be a string` (S-125). */
export function checkItem<S extends z.ZodType>(
  schema: S,
  item: unknown,
): { readonly value: z.output<S> } | { readonly problem: string } {
  const checked = schema.safeParse(item);
  if (checked.success) return { value: checked.data };
  const [first] = checked.error.issues;
  const field = first === undefined || first.path.length === 0 ? 'item' : first.path.join('.');
  return { problem: `${field}: ${first?.message ?? 'is not valid'}` };
}
