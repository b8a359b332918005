import { z } from 'zod';
import { duration, size } from '#lib/duration.ts';

/** The `media:` section: how many pictures go with an alarm, and how much disk they may use. */
export const mediaOptions = z.strictObject({
  snapshots: z.int().min(0).max(10).default(2).describe('Pictures per camera and alarm.'),
  interval: duration({ min: '200ms', max: '30s' }).default(1000).describe('Time between two pictures of one camera.'),
  max_per_event: z
    .int()
    .min(0)
    .max(50)
    .default(8)
    .describe('At most so many pictures with one event, all cameras together.'),
  upload_rate: size()
    .refine((bytesPerS) => bytesPerS >= 32_000, 'must be at least 32KB')
    .optional()
    .describe('Most bytes per second uploads may send; no limit unless set.'),
  budget: size()
    .default(512_000_000)
    .describe(
      'Disk space pictures and clips may use. When it is used up, lesser and older ones give way to fresh ones.',
    ),
});
