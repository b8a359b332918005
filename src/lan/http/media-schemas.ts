import { z } from 'zod';
import { deviceId } from '#site/model/index.ts';
import { seqParams } from './outbox-schemas.ts';

const time = z.iso.datetime({ precision: null });
const state = z.enum(['planned', 'ready', 'uploaded', 'failed']);

/** One picture or clip that an event announced. */
const mediaItem = z.object({
  /** Its place among those of its event, from 0. */
  index: z.int().min(0),
  kind: z.enum(['snapshot', 'short_mp4', 'event_mp4']),
  camera: deviceId,
  /** Milliseconds from the event; negative is before it. */
  offset_ms: z.number(),
  /** `planned`: not made yet. `ready`: it waits for the cloud. */
  state,
  bytes: z.int().optional(),
  sha256: z.string().optional(),
  mime: z.string().optional(),
  /** Why it failed; of others what is to be known of it, such as when it begins. */
  reason: z.string().optional(),
});

/** An event with what it announced. Silent alarms do not exist here (safety 4). */
const mediaEntry = z.object({
  seq: z.int(),
  event_id: z.string(),
  at: time,
  /** Kind of the event. */
  event: z.string(),
  partition: z.string().optional(),
  items: z.array(mediaItem),
});
export type MediaEntry = z.output<typeof mediaEntry>;

export const mediaQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50).describe('How many events, newest first.'),
  before: z.coerce.number().int().min(1).optional().describe('Only events with a lower seq: the next page.'),
  state: state.optional().describe('Only what is in this state.'),
  camera: deviceId.optional().describe('Only what is of this camera.'),
  event: z.coerce.number().int().min(1).optional().describe('Only the event of this seq.'),
});
export type MediaQuery = z.output<typeof mediaQuery>;

export const mediaList = z.object({
  items: z.array(mediaEntry),
  /** The `before` of the next page; null when this one is empty. A page may be short without being the last. */
  next_before: z.int().nullable(),
});

export const mediaParams = seqParams;

const mediaFile = mediaItem.extend({
  /** Whether its file is still on this box. */
  here: z.boolean(),
  /** Why it is not. */
  missing: z.string().optional(),
});
export type MediaFile = z.output<typeof mediaFile>;

export const mediaDetail = mediaEntry.extend({ items: z.array(mediaFile) });
export type MediaDetail = z.output<typeof mediaDetail>;

export const mediaExport = mediaDetail.extend({
  /** By which the files are asked for; null where none is here. */
  export: z.string().nullable(),
});
export type MediaExport = z.output<typeof mediaExport>;

export const mediaPieceBody = z.strictObject({
  export: z.string().min(1).max(100),
  index: z.int().min(0),
  offset: z.int().min(0).describe('From which byte on.'),
});
export type MediaPieceBody = z.output<typeof mediaPieceBody>;
