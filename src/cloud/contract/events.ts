import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { eventError } from './errors.ts';
import { count, flag, requiredText, text, timestamp } from './fields.ts';

/** `event_type` values the specification names; a server takes any other text too (S-161). */
export const cloudEventTypes = ['alarm', 'trouble', 'arming'] as const;
export type CloudEventType = (typeof cloudEventTypes)[number];

/** Most snapshots one event may announce (S-162). */
export const maxSnapshots = 50;

/** The event as a strict server takes it: 14 fields (S-160), six of them required (S-162); others are ignored. */
export const cloudEvent = z.looseObject({
  version: requiredText(),
  location_id: requiredText(),
  recorder_id: text().optional(),
  camera_id: text().optional(),
  event_id: requiredText(),
  event_type: requiredText(),
  event_status: requiredText().optional(),
  event_time: timestamp(),
  sent_at: timestamp(),
  should_signal_to_monitoring_center: flag().optional(),
  upload_snapshot_count: count(0, maxSnapshots).optional(),
  upload_short_mp4: flag().optional(),
  upload_event_mp4: flag().optional(),
  payload: z.record(z.string(), z.unknown(), { error: 'must be an object' }).nullish(),
});
export type CloudEvent = z.infer<typeof cloudEvent>;

export const mediaKinds = ['snapshot', 'short_mp4', 'event_mp4'] as const;
export type MediaKind = (typeof mediaKinds)[number];

/** Where one announced picture or clip is to be put. `index` counts from 0 within its kind. */
const uploadAddress = z.looseObject({
  kind: z.enum(mediaKinds),
  index: z.int().min(0),
  url: z.string(),
  method: z.string(),
  expires_at: z.string(),
});
export type UploadAddress = z.infer<typeof uploadAddress>;

/** Our choice for a body the specification does not show (S-164); clients read it tolerantly (S-167). */
export const eventAnswer = z.looseObject({
  event_id: z.string(),
  uploads: z.array(uploadAddress),
});

/** Ingestion of one event; repeating it under its `event_id` gives the same event and fresh addresses (S-165). */
export const postEvent = defineOperation({
  id: 'postEvent',
  method: 'POST',
  path: '/partner/v1/events',
  base: 'base',
  summary: 'Send one event; the answer holds upload addresses for the media it announces',
  body: { media: 'application/json', schema: cloudEvent },
  responses: {
    200: { description: 'The event is accepted; addresses for the announced media', schema: eventAnswer },
    400: { description: 'The event is not valid; the body names the field', schema: eventError },
    401: { description: 'The access token is invalid or expired', schema: eventError },
    403: { description: 'The auth application lacks the event ingestion permission', schema: eventError },
  },
  auth: ['event'],
  repeatable: 'by_id',
  rules: ['S-160', 'S-161', 'S-162', 'S-163', 'S-164', 'S-165', 'S-166', 'S-167', 'S-168'],
  tags: ['events'],
});
