import { z } from 'zod';
import { duration } from '#lib/duration.ts';
import {
  armModes,
  audioCategories,
  dayRange,
  deviceId,
  eventClass,
  eventKinds,
  eventStatus,
  holidayRule,
  localTime,
  partitionId,
  playDefaults,
  shortId,
  zoneNumber,
} from '#site/model/index.ts';

const days = z.array(dayRange).min(1).max(7);
const kind = z.enum(eventKinds);

const on = z
  .strictObject({
    kind: kind.optional().describe('Kind of the event, such as burglary_perimeter; or several as `kinds`.'),
    kinds: z.array(kind).min(1).max(32).optional().describe('Several kinds, in place of `kind`.'),
    class: eventClass.optional().describe('Class of the event.'),
    status: eventStatus.default('active').describe('active when it begins, restored or cancelled when it ends.'),
    zones: z.array(zoneNumber).min(1).max(64).optional().describe('Zones it is of, such as ["1", "2"]; else any.'),
    partitions: z
      .array(partitionId)
      .min(1)
      .max(32)
      .optional()
      .describe('Partitions it is of, such as [p1]; else any, and those of no partition.'),
    armed: z
      .array(z.enum(['disarmed', 'arming', ...armModes]))
      .min(1)
      .max(7)
      .optional()
      .describe('How its partition is armed, such as [away, night]; not for life safety.'),
  })
  .refine(({ kind, kinds, class: of }) => [kind, kinds, of].some((one) => one !== undefined), {
    error: 'must have kind, kinds or class',
  })
  .refine(({ kind, kinds }) => kind === undefined || kinds === undefined, {
    path: ['kinds'],
    error: 'must not stand beside kind',
  });

const between = z
  .strictObject({
    days: days.optional().describe('Days on which this time begins, such as [mon-fri]; else every day.'),
    from: localTime.describe("When it begins, on the site's own clocks, in quotes."),
    to: localTime.describe('When it ends; before `from`, it is on the day after.'),
  })
  .refine(({ from, to }) => from !== to, { path: ['to'], error: 'must be another time than from' });

const play = z.strictObject({
  message: z.string().min(1).max(255).describe('Key of the message in the library, as `siteward audio list` shows it.'),
  speakers: z
    .array(deviceId)
    .min(1)
    .max(64)
    .optional()
    .describe('Speakers, such as [gate]; else those that are heard in the zone and partition of the event.'),
  volume: z.int().min(0).max(100).default(playDefaults.volume).describe('Percent.'),
  repeat: z.int().min(1).max(5).default(playDefaults.repeat).describe('How often it is played.'),
  category: z.enum(audioCategories).optional().describe('Of the message, or a higher one.'),
});

/** The keys that belong to one of both alone. */
const only = { on: ['between', 'cool_down'], at: ['days', 'holidays'] } as const;

/** An entry of `rules:`. */
export const ruleOptions = z
  .strictObject({
    id: shortId.describe('Short id, unique among rules; it stands in playbacks as who asked.'),
    on: on.optional().describe('With each such event; or by the clock, with `at`.'),
    between: between.optional().describe('With `on`: only within this time.'),
    cool_down: duration({ min: '0s', max: '24h' })
      .optional()
      .describe('With `on`: not again within this time, 60s unless set; life safety always plays.'),
    at: localTime.optional().describe("By the clock: time of day on the site's own clocks, in quotes."),
    days: days.optional().describe('With `at`, required: days of the week, such as [mon-fri, sun], or [daily].'),
    holidays: holidayRule
      .optional()
      .describe('With `at`, on a holiday: skip (unless set), only (then and never else) or ignore.'),
    play: play.describe('What is played.'),
  })
  .superRefine((rule, { addIssue }) => {
    const has = (key: keyof typeof rule) => rule[key] !== undefined;
    if (has('on') === has('at')) return addIssue({ code: 'custom', message: 'must have exactly one of on, at' });
    const [mine, others] = has('on') ? (['on', only.at] as const) : (['at', only.on] as const);
    for (const key of others)
      if (has(key)) addIssue({ code: 'custom', path: [key], message: `has no place beside ${mine}; leave it out` });
    if (mine === 'at' && !has('days')) addIssue({ code: 'custom', path: ['days'], message: 'is missing' });
  });
export type RuleOptions = z.output<typeof ruleOptions>;

export const coolDownDefaultMs = 60_000;
