import { z } from 'zod';
import { changeConfig } from './config-changes.ts';
import { jsonOf, lanOperation, problemResponse } from './lan-operation.ts';

/** The configuration: what is in force, and what is wrong with a text that somebody would put in its place. */

export const configShown = z.object({
  /** The file. */
  path: z.string(),
  /** The file has errors: siteward runs on the copy of the last good one, which is shown. */
  last_good: z.boolean(),
  /** Why the file was not taken at the last try. */
  error: z.string().optional(),
  warnings: z.array(z.string()),
  /** Of the file as it stands on the disk; null where it cannot be read. It goes with what is to be changed. */
  version: z.string().nullable(),
  /** SHA-256 of the text in force; `version` is the same where the file is the text in force. */
  in_force: z.string(),
  /** As written; what is left out has its default. Secrets are the references they are, users their ids. */
  config: z.record(z.string(), z.unknown()),
});
export type ConfigShown = z.output<typeof configShown>;

const configCheckBody = z.strictObject({
  yaml: z.string().max(60_000).describe('The whole text of a configuration file.'),
});

const configProblem = z.object({
  /** A file with an `error` is not taken. */
  severity: z.enum(['error', 'warning']),
  /** Counted from 1; warnings tell none. */
  line: z.int().optional(),
  column: z.int().optional(),
  /** Such as `cameras[0].url`; empty for the text as a whole. */
  path: z.string(),
  message: z.string(),
});

export const configChecked = z.object({
  ok: z.boolean(),
  problems: z.array(configProblem),
  /** Sections that differ from what is in force; absent where the text is not taken. */
  changes: z.array(z.string()).optional(),
});
export type ConfigChecked = z.output<typeof configChecked>;

const shared = { rules: ['safety 11'], tags: ['diagnostics'] } as const;

const getConfig = lanOperation({
  ...shared,
  id: 'getConfig',
  method: 'GET',
  path: '/api/v1/config',
  summary: 'The configuration in force; no secret and no name of a person is in it',
  responses: { 200: { description: 'As written', ...jsonOf(configShown) } },
  repeatable: 'yes',
});

const checkConfig = lanOperation({
  ...shared,
  id: 'checkConfig',
  method: 'POST',
  path: '/api/v1/config/check',
  summary:
    'What is wrong with the text of a configuration; nothing is changed, and no file or secret that it names is looked for',
  body: jsonOf(configCheckBody),
  responses: {
    200: { description: 'Everything that is wrong with it', ...jsonOf(configChecked) },
    400: problemResponse('The body is wrong'),
    503: problemResponse('Another text is being checked'),
  },
  repeatable: 'yes',
});

export const configOperations = { getConfig, checkConfig, changeConfig } as const;
