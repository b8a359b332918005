import { z } from 'zod';

/** As the service names them (S-170). */
export const audioCategories = ['alarm', 'announcement', 'test', 'greeting', 'reminder', 'custom'] as const;
export type AudioCategory = (typeof audioCategories)[number];

/** Of a playback and of each of its speakers (S-174). The last three are ends. */
export const playbackStates = ['queued', 'playing', 'completed', 'failed', 'cancelled'] as const;
export type PlaybackState = (typeof playbackStates)[number];

/** What a device did not do, as its driver tells. */
export const driverFailures = [
  'not_found',
  'busy',
  'auth',
  'unsupported',
  'format',
  'refused',
  'timeout',
  'connection_lost',
  'device_error',
] as const;
export type DriverFailure = (typeof driverFailures)[number];

/** Why a speaker did not play, or not to the end. The list may grow; `docs/audio.md` says what to do about each. */
export const playbackReasons = [
  ...driverFailures,
  // Of the queue.
  'queue_full',
  'evicted',
  'expired',
  'unhealthy',
  'quiet_hours',
  'message_gone',
  // Of siteward.
  'interrupted',
  'shutdown',
  // Of a cancelled one.
  'user',
  'preempted',
  'disarmed',
  'too_long',
] as const;
export type PlaybackReason = (typeof playbackReasons)[number];

/**
 * How sure it is that somebody could hear it: the device's own clock took the samples, they were sent in real time, or the
 * device took the order to play.
 */
export const deliveries = ['heard', 'sent', 'accepted'] as const;
export type Delivery = (typeof deliveries)[number];

const time = z.string().describe('ISO 8601, UTC.');

const speakerPlayback = z.strictObject({
  device_id: z.string().describe('Id of the speaker in the configuration.'),
  name: z.string(),
  status: z.enum(playbackStates),
  reason: z.enum(playbackReasons).exactOptional(),
  started_at: time.exactOptional().describe('When the first sample was handed over.'),
  ended_at: time.exactOptional(),
  played_ms: z.int().min(0).exactOptional(),
  delivered: z.enum(deliveries).exactOptional(),
});
export type SpeakerPlayback = z.output<typeof speakerPlayback>;

/** One message on some speakers, once or several times. The first eight members are those of the service (S-174). */
export const playbackShown = z.strictObject({
  playback_id: z.string(),
  audio_message_id: z.string().describe('Key of the message in the library, or the id of the service.'),
  status: z.enum(playbackStates).describe('`completed` only where every speaker played it to the end.'),
  started_at: time.describe('When the first speaker began; until then, when it was asked for.'),
  volume: z.int().min(0).max(100).describe('Percent, as it was asked for.'),
  repeat: z.int().min(1).max(5),
  devices: z.array(speakerPlayback),
  name: z.string().describe('Of the message.'),
  category: z.enum(audioCategories),
  requested_by: z.string().describe('Who or what asked: `user:ID`, `client:ID`, `rule:ID`, `schedule:ID`, `local`.'),
  created_at: time,
  seq: z.int().min(0).describe('Grows with every change of it.'),
  summary: z.strictObject({
    completed: z.int().min(0),
    failed: z.int().min(0),
    cancelled: z.int().min(0),
    total: z.int().min(1),
  }),
});
export type PlaybackShown = z.output<typeof playbackShown>;

/** A message of the library. */
export const audioMessageShown = z.strictObject({
  audio_message_id: z.string().describe('The id of the service where the message is matched to one, else its key.'),
  key: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9._-]{0,63}$/,
      'must be lower-case letters, digits, . _ -, such as front-gate; 1 to 64, the first a letter or digit',
    ),
  name: z.string(),
  description: z.string(),
  duration_seconds: z.number().min(0),
  language: z.string().describe('Tag such as en-US; `zxx` where nobody speaks.'),
  category: z.enum(audioCategories),
  source: z.enum(['builtin', 'imported', 'cloud']).describe('`cloud`: only the service holds it.'),
  sha256: z.string().exactOptional(),
  loudness_lufs: z.number().exactOptional().describe('How loud it is at volume 100, in LUFS (ITU-R BS.1770).'),
});
export type AudioMessageShown = z.output<typeof audioMessageShown>;

/** A message as the service lists it (S-170), in forms that every room can show. */
export const cloudMessage = audioMessageShown.omit({ key: true, source: true, sha256: true, loudness_lufs: true });
export type CloudMessage = z.output<typeof cloudMessage>;

/** What a request to play may leave out (S-171). */
export const playDefaults = { volume: 70, repeat: 1 } as const;

/** Of a playback, or of its part on one speaker. */
export const hasEnded = ({ status }: { readonly status: PlaybackState }): boolean =>
  status !== 'queued' && status !== 'playing';

/** One playback on speakers as it lies on disk. */
export interface PlaybackRow {
  readonly id: string;
  /** JSON text; null deletes it. */
  readonly record: string | null;
}
