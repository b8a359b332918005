import type { z } from 'zod';

/** What a strict server says of a value: `field: message` of each issue; empty when it takes the value. */
export function problemsOf(schema: z.ZodType, value: unknown): string[] {
  const checked = schema.safeParse(value);
  if (checked.success) return [];
  return checked.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`);
}

/** Members without one, and with some replaced. */
export const without = (value: object, ...names: readonly string[]): object =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
