import { z } from 'zod';
import { logLevels } from '#lib/log.ts';
import { jsonOf, lanOperation, problemResponse } from './lan-operation.ts';

/** The newest lines of the log, and how much is logged. */

const logLevel = z.enum(logLevels);
const partName = z.string().min(1).max(64);

const logQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(200).describe('How many.'),
  after: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe('Only lines with a higher seq: what came since. Without it, the newest ones.'),
  level: logLevel.optional().describe('This level and worse.'),
  part: partName.optional().describe('Only of this part.'),
});
export type LogQuery = z.output<typeof logQuery>;

const logLine = z.object({
  /** From 1 with each start of siteward. */
  seq: z.int(),
  time: z.string().optional(),
  level: z.string(),
  part: z.string().optional(),
  msg: z.string(),
  /** Whatever else the line says. */
  more: z.record(z.string(), z.unknown()),
});
export type LogLine = z.output<typeof logLine>;

/** Oldest first. */
export const logPage = z.object({
  items: z.array(logLine),
  /** The `after` of the next question. */
  next_after: z.int(),
  /** So many lines behind `after` are no longer kept here; the journal has them. */
  missed: z.int(),
});
export type LogPage = z.output<typeof logPage>;

export const logLevelsShown = z.object({
  /** By `log.level` of the configuration. */
  configured: logLevel,
  /** What each part logs at now. */
  parts: z.array(z.object({ name: z.string(), level: logLevel })),
  /** Until it is as configured again; null while it is. */
  left_s: z.int().nullable(),
});
export type LogLevelsShown = z.output<typeof logLevelsShown>;

const logLevelsBody = z
  .strictObject({
    level: logLevel.exactOptional().describe('Of all parts.'),
    parts: z
      .record(partName, logLevel)
      .refine((parts) => Object.keys(parts).length <= 64, 'must name at most 64 parts')
      .exactOptional()
      .describe('Of single parts.'),
    minutes: z.int().min(1).max(240).default(30).describe('How long; then it is as configured again.'),
  })
  .describe('In place of what was asked for before. With neither level nor parts it is as configured at once.');
export type LogLevelsBody = z.output<typeof logLevelsBody>;

const shared = { rules: ['safety 4'], tags: ['diagnostics'] } as const;

const getLog = lanOperation({
  ...shared,
  id: 'getLog',
  method: 'GET',
  path: '/api/v1/log',
  summary: 'The newest lines of the log, oldest first, as they left siteward; no secret is in them',
  query: logQuery,
  responses: { 200: { description: 'One page', ...jsonOf(logPage) }, 400: problemResponse('A query member is wrong') },
  repeatable: 'yes',
});

const getLogLevels = lanOperation({
  ...shared,
  id: 'getLogLevels',
  method: 'GET',
  path: '/api/v1/log/levels',
  summary: 'How much each part logs',
  responses: { 200: { description: 'The levels now', ...jsonOf(logLevelsShown) } },
  repeatable: 'yes',
});

const setLogLevels = lanOperation({
  ...shared,
  id: 'setLogLevels',
  method: 'PUT',
  path: '/api/v1/log/levels',
  summary: 'Log more for a time, never less than configured; it ends by itself and is recorded',
  body: jsonOf(logLevelsBody),
  responses: {
    200: { description: 'The levels now', ...jsonOf(logLevelsShown) },
    400: problemResponse('The body is wrong, or no part has this name'),
  },
  repeatable: 'yes',
});

export const logOperations = { getLog, getLogLevels, setLogLevels } as const;
