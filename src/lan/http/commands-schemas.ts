import { z } from 'zod';
import {
  alarmShown,
  armingWord,
  armMode,
  outcome,
  partitionId,
  personCode,
  replyCodes,
  zoneNumber,
} from '#site/model/index.ts';

const time = z.iso.datetime({ precision: null });
const target = z
  .union([z.literal('all'), partitionId], { error: 'must be all, p1, p2, ...' })
  .describe('A partition, or all that siteward or its panels decide.');

const base = {
  id: z.uuid({ error: 'must be a UUID' }).describe('The same command again under the same id has no second effect.'),
  issued_at: z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 time with a zone' })
    .describe('When the person asked; a command ages from then on (C1).'),
  code: personCode.exactOptional().describe('Code of the person; it is neither kept nor logged.'),
};
const closed = { error: 'must have the members of its verb and no others' } as const;

const armCommand = z.strictObject(
  {
    ...base,
    verb: z.literal('arm'),
    partition: target,
    mode: armMode,
    force: z.boolean().exactOptional().describe('Arm without the zones that are not ready.'),
    bypass: z.array(zoneNumber).max(64).exactOptional().describe('Arm without these zones, until the disarm.'),
    skip_exit_delay: z.boolean().exactOptional(),
  },
  closed,
);
const disarmCommand = z.strictObject({ ...base, verb: z.literal('disarm'), partition: target }, closed);

const minutes = (most: number) => z.int().min(1).max(most).exactOptional();
const bypassCommand = z.strictObject(
  {
    ...base,
    verb: z.literal('bypass'),
    zone: zoneNumber,
    until: z.enum(['disarm', 'cleared']).exactOptional().describe('Default: the next disarm, or `minutes` alone.'),
    minutes: minutes(1440).describe('At most so long.'),
    reason: z.string().max(120, 'must be at most 120 characters').exactOptional().describe('Stands in the event.'),
  },
  closed,
);
const unbypassCommand = z.strictObject({ ...base, verb: z.literal('unbypass'), zone: zoneNumber }, closed);
const clearMemoryCommand = z.strictObject({ ...base, verb: z.literal('clear_memory'), partition: target }, closed);
const testCommand = z.strictObject(
  {
    ...base,
    verb: z.literal('test'),
    partition: target,
    minutes: minutes(240).describe('How long the walk test lasts unless it is ended; default 60.'),
    zones: z.array(zoneNumber).min(1).max(64).exactOptional().describe('Only these.'),
  },
  closed,
);
const endTestCommand = z.strictObject({ ...base, verb: z.literal('end_test'), partition: target }, closed);

const commands = [
  armCommand,
  disarmCommand,
  bypassCommand,
  unbypassCommand,
  clearMemoryCommand,
  testCommand,
  endTestCommand,
] as const;

/** What is wrong is told without what was given: a code in the wrong place must not come back. */
export const commandBody = z.discriminatedUnion('verb', commands, {
  error: `must have a verb: ${commands.map(({ shape }) => shape.verb.value).join(', ')}`,
});
export type CommandBody = z.output<typeof commandBody>;

/** A walk test alone: who mends the bridge may begin one, and neither arm nor disarm. */
export const testCommandBody = z.discriminatedUnion('verb', [testCommand, endTestCommand], {
  error: 'must have a verb: test, end_test',
});

const walkTestResult = z.object({
  partition: z.string(),
  walked: z.int(),
  walked_zones: z.array(zoneNumber),
  missed: z.int(),
  missed_zones: z.array(zoneNumber),
});

export const commandAnswer = z.object({
  id: z.string(),
  outcome,
  error: z
    .object({
      code: z.enum(replyCodes),
      field: z.string().optional(),
      zones: z.array(zoneNumber).optional(),
      retry_after_s: z.int().optional(),
    })
    .optional(),
  partition: z.string().optional(),
  /** Of an arm or disarm of all partitions: those it did not reach, each with why. */
  undone: z
    .array(
      z.object({
        partition: z.string(),
        code: z.enum(replyCodes),
        field: z.string().optional(),
        zones: z.array(zoneNumber).optional(),
      }),
    )
    .optional(),
  /** Of the one partition, after the command. */
  state: armingWord.optional(),
  seq: z.int().optional(),
  /** Of an arm or disarm: alarms that still run in its partitions, such as a fire, which no command ends. */
  alarms: z.array(z.object({ ...alarmShown.shape, partition: z.string() })).optional(),
  /** Walk tests that it ended; of a long list 64 zones are named. */
  tests: z.array(walkTestResult).optional(),
  /** Of an arming: zones it does not watch. */
  left_out: z.array(zoneNumber).optional(),
  /** Of the zones in `alarms`, `tests` and `left_out`. */
  zone_names: z.record(z.string(), z.string()).optional(),
  at: time,
});
export type CommandAnswer = z.output<typeof commandAnswer>;
