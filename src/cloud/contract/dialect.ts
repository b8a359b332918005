import { z } from 'zod';

/**
 * What the service's specification leaves open, gathered in one place (decisions, "What the specification leaves
 * open"). A real service that answers differently needs a line of configuration, not a release.
 */
export const dialectOptions = z.strictObject({
  event_version: z.string().min(1).max(32).default('1.0').describe('Value of the member "version" of each event.'),
  restored_status: z
    .string()
    .min(1)
    .max(64)
    .default('restored')
    .describe('Value of "event_status" when a condition has ended.'),
  cancelled_status: z
    .string()
    .min(1)
    .max(64)
    .default('restored')
    .describe('Value of "event_status" when an alarm was cancelled by a person.'),
});

export type Dialect = z.output<typeof dialectOptions>;

/** The dialect with every choice at its default. */
export const defaultDialect = (): Dialect => dialectOptions.parse({});
