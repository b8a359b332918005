import { z } from 'zod';
import { localDate, localTime, personCode, scheduleId } from '#site/model/index.ts';

const time = z.iso.datetime({ precision: null });

const scheduleRun = z.object({
  schedule: z.string(),
  name: z.string(),
  action: z.enum(['arm', 'disarm', 'announce', 'test_report']),
  /** As written: date and time on the clocks of the site. */
  date: localDate,
  time: localTime,
  /** When it runs. */
  at: time,
  /** The same on the clocks of the site, with their offset. */
  local: z.iso.datetime({ offset: true }),
  holiday: z.string().optional(),
  /** The holiday takes it away. */
  skipped: z.boolean(),
  /** Its time does not exist on that date, so it runs right after. */
  after_gap: z.boolean(),
  postponed: z.boolean(),
});
export type ScheduleRun = z.output<typeof scheduleRun>;

export const scheduleList = z.object({
  timezone: z.string(),
  items: z.array(scheduleRun),
});
export type ScheduleList = z.output<typeof scheduleList>;

export const schedulesQuery = z.strictObject(
  { limit: z.coerce.number().int().min(1).max(100).default(20).describe('How many runs, 1 to 100.') },
  { error: 'may be limit alone' },
);

export const scheduleParams = z.object({ id: scheduleId });

/** What is wrong is told without what was given: a code in the wrong place must not come back. */
export const postponeBody = z.strictObject(
  {
    minutes: z.int({ error: 'must be whole minutes' }).min(1).max(1440).describe('Counted from the planned time.'),
    code: personCode.describe('Of somebody who may disarm.'),
  },
  { error: 'must have minutes and code and nothing else' },
);

export const postponedAnswer = z.object({
  schedule: z.string(),
  at: time,
  local: z.iso.datetime({ offset: true }),
  times_left: z.int(),
});
export type PostponedAnswer = z.output<typeof postponedAnswer>;
