import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { size } from '#lib/duration.ts';
import { alarmCopies } from './alarm-log.ts';
import { defaultLimits, type StoreLimits } from './limits.ts';

/** An event takes some KiB: half of it keeps several thousand that wait. */
const leastBudget = 64_000_000;

/** The `store:` section: where everything durable lies. */
export const storeOptions = z.strictObject({
  dir: z
    .string()
    .refine(isAbsolute, 'must be an absolute path')
    .default('/var/lib/siteward')
    .describe('State directory: databases, pictures, last good configuration.'),
  budget: size()
    .refine((bytes) => bytes >= leastBudget, 'must be at least 64MB')
    .default(8_000_000_000)
    .describe(
      'Disk space the databases may use, from 64MB on: each of the two gets half of it, at most 1GiB. At that size what is delivered gives way first.',
    ),
  alarm_copy: z
    .enum(alarmCopies)
    .default('written')
    .describe(
      'Second copy of waiting alarms, for a database damaged beyond reading: "synced" is on disk before an alarm counts as stored, and costs a second wait for the disk; "written" follows within about a second.',
    ),
});

/** The bounds of the store that an installer sets. */
export function limitsOf(
  options: z.output<typeof storeOptions>,
): Pick<StoreLimits, 'alarmCopy' | 'siteBytes' | 'bulkBytes'> {
  const half = Math.floor(options.budget / 2);
  return {
    alarmCopy: options.alarm_copy,
    siteBytes: Math.min(defaultLimits.siteBytes, half),
    bulkBytes: Math.min(defaultLimits.bulkBytes, half),
  };
}
