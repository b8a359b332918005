import { z } from 'zod';
import { duration, size } from '#lib/duration.ts';

/** The `media:` section: which pictures and clips go with an alarm, and how much disk they may use. */
export const mediaOptions = z.strictObject({
  snapshots: z.int().min(0).max(10).default(2).describe('Pictures per camera and alarm.'),
  interval: duration({ min: '200ms', max: '30s' }).default(1000).describe('Time between two pictures of one camera.'),
  max_per_event: z
    .int()
    .min(0)
    .max(50)
    .default(8)
    .describe('At most so many pictures with one event, all cameras together.'),
  short_clip: duration({ min: '2s', max: '60s' })
    .default(10_000)
    .describe('How long a short clip goes on after its event.'),
  event_clip: duration({ min: '2s', max: '2m' })
    .default(30_000)
    .describe('How long an event clip goes on after its event.'),
  upload_rate: size()
    .refine((bytesPerS) => bytesPerS >= 32_000, 'must be at least 32KB')
    .optional()
    .describe('Most bytes per second uploads may send; no limit unless set.'),
  budget: size()
    .default(512_000_000)
    .describe(
      'Disk space pictures and clips may use. When it is used up, lesser and older ones give way to fresh ones.',
    ),
  keep: duration({ max: '30d' })
    .prefault('0s')
    .describe(
      'How long pictures and clips stay here after the cloud has them, within the budget; they are the first to give way.',
    ),
  processes: z
    .int()
    .min(1)
    .max(8)
    .default(2)
    .describe(
      'So many clips, and as many pictures of what was recorded, are made at a time; twice as many streams are asked for a picture.',
    ),
  ring_budget: size()
    .default(128_000_000)
    .describe('Space for what cameras with `pre_roll` keep of the last seconds, all together.'),
});
