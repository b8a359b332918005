import { z } from 'zod';
import { deviceId } from '#site/model/index.ts';
import { jsonOf, lanOperation, problemResponse } from './lan-operation.ts';

/** Changes of the configuration file that somebody saves on purpose. Comments and every other line of it stay. */

/**
 * Sections that may be changed over the LAN API. Users and their codes have operations of their own; where state lies and
 * how the bridge is reached is changed on the box alone.
 */
const mapSections = ['site', 'cloud', 'media', 'audio', 'supervision'] as const;
const listSections = ['cameras', 'nvrs', 'speakers', 'schedules', 'holidays', 'rules'] as const;

/** The text is read again with each member that changes. More than any group of the configuration has, and deeper. */
const memberCap = 64;
const depthCap = 6;

/**
 * As they stand in the file. `null` takes a member away. `{ "secret": "TEXT" }` in the place of a reference: the text goes
 * into a file that only siteward may read, and the reference to it into the configuration; it never comes out again.
 */
const members = z
  .record(z.string().min(1).max(64), z.unknown())
  .refine(
    (group) => !isLarger(group, 0),
    `has more than ${memberCap} members in one group, or groups more than ${depthCap} deep`,
  );

/** `depth`: of lists and groups that it lies in. Nothing deeper is looked at. */
function isLarger(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth >= depthCap) return true;
  const within = Object.values(value);
  return (!Array.isArray(value) && within.length > memberCap) || within.some((one) => isLarger(one, depth + 1));
}

const configChange = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('set'), section: z.enum(mapSections), members }),
  z.strictObject({ do: z.literal('add'), section: z.enum(listSections), entry: members }),
  z.strictObject({ do: z.literal('change'), section: z.enum(listSections), id: deviceId, members }),
  z.strictObject({ do: z.literal('remove'), section: z.enum(listSections), id: deviceId }),
]);
export type ConfigChange = z.output<typeof configChange>;

export const configChangesBody = z.strictObject({
  version: z.string().max(64).describe('The `version` of the file that the changes were made for (getConfig).'),
  changes: z.array(configChange).min(1).max(50).describe('All of them, or none.'),
  dry_run: z.boolean().default(false).describe('Only say what would be written.'),
});
export type ConfigChangesBody = z.output<typeof configChangesBody>;

export const configSaved = z.object({
  /** Of the file as it is now; with `dry_run` the old one. */
  version: z.string(),
  /** Sections that differ from the file before. */
  sections: z.array(z.string()),
  /** Lines that go (-) and come (+), in the order of the file. */
  patch: z.array(z.object({ sign: z.enum(['+', '-']), line: z.int(), text: z.string() })),
  written: z.boolean(),
  /** Whether siteward runs on it; `reason` says why not. */
  taken: z.boolean(),
  reason: z.string().optional(),
});
export type ConfigSaved = z.output<typeof configSaved>;

export const changeConfig = lanOperation({
  id: 'changeConfig',
  method: 'POST',
  path: '/api/v1/config/changes',
  summary:
    'Change the configuration file and take it: checked as a whole first, written in one piece, the file before kept as one backup',
  body: jsonOf(configChangesBody),
  responses: {
    200: { description: 'What was written', ...jsonOf(configSaved) },
    400: problemResponse('The file would be wrong; nothing was written'),
    409: problemResponse(
      'The file was changed meanwhile, or siteward may not write it, or a partition is armed; nothing was written',
    ),
    503: problemResponse('Another change is under way'),
  },
  repeatable: 'no',
  rules: ['safety 2', 'safety 11'],
  tags: ['setup'],
});
