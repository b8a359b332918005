import { z } from 'zod';
import { duration } from '#lib/duration.ts';
import {
  armMode,
  dayRange,
  holidayRule,
  localDate,
  localTime,
  partitionId,
  postponeDefault,
  scheduleId,
} from '#site/model/index.ts';

const name = z.string().min(1).max(64);

const postponeOptions = z.strictObject({
  times: z.int().min(0).max(10).default(postponeDefault.times).describe('How often for one day; 0: never.'),
  total: duration({ min: '1m', max: '6h' }).prefault('2h').describe('By how much in all for one day.'),
});

const armOptions = z.strictObject({
  partitions: z.array(partitionId).min(1).max(32).describe('The partitions that are armed, such as [p1].'),
  mode: armMode.default('away').describe('The mode they are armed in.'),
  not_ready: z
    .enum(['report', 'bypass'])
    .default('report')
    .describe('With an open zone: report leaves it disarmed and tells the station, bypass arms without the zone.'),
  wait: duration({ min: '0s', max: '5m' })
    .prefault('60s')
    .describe('How long zones may take to close, and a panel to be there, before that.'),
  postpone: postponeOptions.prefault({}).describe('How far people with a code may put it off.'),
});

const disarmOptions = z.strictObject({
  schedule: scheduleId.describe('The schedule whose arming it undoes; no other arming is touched.'),
});

const announceOptions = z.strictObject({
  message: z.string().min(1).max(500).describe('What is to be said; an event on the LAN.'),
});

/** What a schedule may do; exactly one of them. */
const actions = ['arm', 'disarm', 'announce', 'test_report'] as const;

export const scheduleOptions = z
  .strictObject({
    id: scheduleId.describe('Short id, unique among schedules; it appears in events as who armed.'),
    name: name.optional().describe('Name for people.'),
    days: z.array(dayRange).min(1).max(7).describe('Days of the week, such as [mon-fri, sun], or [daily].'),
    at: localTime.describe("Time of day on the site's own clocks, in quotes."),
    holidays: holidayRule
      .optional()
      .describe('On a holiday: skip, only (then and never else) or ignore; default ignore to arm and test, else skip.'),
    arm: armOptions.optional().describe('Arms partitions, with their exit delay.'),
    disarm: disarmOptions.optional().describe('Disarms what a schedule armed, if nobody changed it since.'),
    announce: announceOptions.optional().describe('Announces something.'),
    test_report: z.literal(true).optional().describe('Sends a test report to the station.'),
  })
  .refine((schedule) => actions.filter((action) => schedule[action] !== undefined).length === 1, {
    error: `must have exactly one of ${actions.join(', ')}`,
  });

export const holidayOptions = z
  .strictObject({
    name: name.describe('Name for people.'),
    from: localDate.describe('First day, such as 2026-12-24.'),
    to: localDate.optional().describe('Last day; without it, one day.'),
  })
  .refine(({ from, to }) => to === undefined || from <= to, { path: ['to'], error: 'is before from' });
