import { z } from 'zod';
import type { Asker } from './asker.ts';
import { type DeviceId, deviceId } from './ids.ts';
import {
  type AudioMessageShown,
  audioCategories,
  type PlaybackReason,
  type PlaybackShown,
  playDefaults,
} from './playback.ts';

/** What is to be played (S-171, S-173). */
export const playWish = z.strictObject({
  playback_id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{8,64}$/, 'must be 8 to 64 letters, digits, _ or -')
    .exactOptional()
    .describe('Becomes the id of the playback: the same request again plays nothing anew.'),
  audio_message_id: z.string().min(1).max(255).describe('Key of the message in the library, or the id of the service.'),
  target_devices: z
    .array(z.string().min(1).max(255))
    .min(1)
    .max(500)
    .exactOptional()
    .describe('Speakers; all when absent.'),
  volume: z.int().min(0).max(100).default(playDefaults.volume).describe('Percent.'),
  repeat: z.int().min(1).max(5).default(playDefaults.repeat).describe('How often it is played.'),
  category: z.enum(audioCategories).exactOptional().describe('Of the message, or a higher one.'),
});
export type PlayWish = z.input<typeof playWish>;

export const speakerShown = z.strictObject({
  device_id: deviceId,
  name: z.string(),
  driver: z.string(),
  enabled: z.boolean(),
  up: z.boolean().nullable().describe('Null while nobody has asked it.'),
  detail: z.string().exactOptional().describe('What answered, or what is wrong with it.'),
});
export type SpeakerShown = z.output<typeof speakerShown>;

/** The largest sound file that is taken. */
export const soundFileBytes = 10_000_000;

/** What the test tone came to on one speaker. */
export interface SelfTestResult {
  readonly device_id: DeviceId;
  /** Null where it was not tried to the end: quiet hours, or something above it. */
  readonly ok: boolean | null;
  readonly reason?: PlaybackReason;
}

export interface ImportWish {
  readonly sound: AsyncIterable<Uint8Array>;
  /** As the file was called; only its ending is looked at. */
  readonly fileName?: string;
  /** Name, and where they differ from the defaults key, description, language and category. */
  readonly fields: {
    readonly name: string;
    readonly key?: string;
    readonly description?: string;
    readonly language?: string;
    readonly category?: (typeof audioCategories)[number];
  };
  readonly replace?: boolean;
}

/** Whom a cancel means; see docs/audio.md. */
export type CancelWish =
  | { readonly playback: string }
  | { readonly speaker: DeviceId }
  | { readonly category: (typeof audioCategories)[number] }
  | 'all';

/**
 * Messages on speakers, as the rooms of the LAN ask for them. `by` is who asks: `user:ID`, `client:ID`, `local`, or whoever asks over
 * the LAN API. Calls reject with
 * `audio_unknown`, `audio_invalid` (the field is in the facts), `audio_refused`, `queue_full` or `stopped`; `audio_unavailable` where
 * only the service holds a message, and it is not played through it.
 */
export interface AudioPort {
  messages(): readonly AudioMessageShown[];
  speakers(): readonly SpeakerShown[];
  /** Newest first. */
  playbacks(): readonly PlaybackShown[];
  /**
   * Resolves with the first sample, or after a second as it is then; what the service plays with its answer, of which nothing
   * more is heard: it stands in no list and cannot be cancelled. `anew`: an alarm joins none that waits and says the same.
   */
  play(wish: unknown, by: string | Asker, signal: AbortSignal, how?: { readonly anew?: true }): Promise<PlaybackShown>;
  /** `alarms`: whoever asks may end alarms, too. Resolves with what it meant; what had ended stays as it was. */
  cancel(target: CancelWish, alarms: boolean, by: string | Asker): Promise<readonly PlaybackShown[]>;
  /** Plays the test tone, not loud, on every speaker; rejects with `audio_refused` while an alarm is active. Takes up to some minutes. */
  selfTest(by: string, signal: AbortSignal): Promise<readonly SelfTestResult[]>;
  import(wish: ImportWish, by: string | Asker, signal: AbortSignal): Promise<AudioMessageShown>;
  remove(key: string, by: string | Asker): Promise<void>;
}
