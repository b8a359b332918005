import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { size } from '#lib/duration.ts';
import { alarmCopies } from './alarm-log.ts';

/** The `store:` section: where everything durable lies. */
export const storeOptions = z.strictObject({
  dir: z
    .string()
    .refine(isAbsolute, 'must be an absolute path')
    .default('/var/lib/siteward')
    .describe('State directory: databases, pictures, last good configuration.'),
  budget: size().default(8_000_000_000).describe('Disk space the databases may use, such as 8GB.'),
  alarm_copy: z
    .enum(alarmCopies)
    .default('written')
    .describe(
      'Second copy of waiting alarms, for a database damaged beyond reading: "synced" is on disk before an alarm counts as stored, and costs a second wait for the disk; "written" follows within about a second.',
    ),
});
