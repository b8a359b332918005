import { z } from 'zod';
import type { ArmingSource, ArmingWord, ArmMode } from './arming.ts';
import type { PartitionId, ZoneNumber } from './ids.ts';

/** Error codes of a reply on the LAN. The list is the MQTT surface's; keep it sorted. */
export const replyCodes = [
  'ALREADY_ANSWERED',
  'AUDIO_UNAVAILABLE',
  'BAD_CODE',
  'BAD_JSON',
  'BAD_REPLY_TOPIC',
  'BUSY',
  'CAMERA_UNAVAILABLE',
  'CLOCK_DOUBTFUL',
  'CLOUD_OFFLINE',
  'CODE_REQUIRED',
  'CONFLICT',
  'EXPIRED',
  'FORBIDDEN',
  'FUTURE',
  'ID_CONFLICT',
  'INTERNAL',
  'LOCKED',
  'NEWER_LOCAL_CHANGE',
  'NOT_ACTIVATED',
  'NOT_ALLOWED',
  'NOT_CONFIGURED',
  'NOT_CONTROLLED',
  'NOT_READY',
  'NOT_UTF8',
  'PANEL_OFFLINE',
  'RATE_LIMITED',
  'RETAINED',
  'SCHEMA',
  'TOO_LARGE',
  'UNCONFIRMED',
  'UNKNOWN_TARGET',
  'UNKNOWN_VERB',
  'VERIFICATION_GONE',
] as const;
export type ReplyCode = (typeof replyCodes)[number];

export const outcome = z.enum([
  'accepted',
  'done',
  'already',
  'refused',
  'expired',
  'superseded',
  'failed',
  'unconfirmed',
]);
export type Outcome = z.infer<typeof outcome>;

/** What a person's code says of them; the code itself goes no further. */
export interface CodeCheck {
  readonly code: 'ok' | 'bad' | 'duress' | 'none';
  /** The user's id; never the name, never the code. */
  readonly actor?: string;
}

/**
 * An arm or disarm command as it enters the core. The code itself never gets here: it was checked before
 * (`ok` names the user), and no member of this type can carry it.
 */
export interface Command {
  readonly id: string;
  readonly verb: 'arm' | 'disarm';
  readonly partition: PartitionId | 'all';
  readonly mode?: ArmMode;
  readonly force?: boolean;
  readonly bypass?: readonly ZoneNumber[];
  readonly skipExitDelay?: boolean;
  /** Wall clock milliseconds. */
  readonly issuedAt: number;
  readonly expiresAt?: number;
  readonly expected?: { readonly seq?: number; readonly state?: readonly ArmingWord[] };
  readonly source: Exclude<ArmingSource, 'panel' | 'engine'>;
  /** The LAN client or program it came from. */
  readonly client: string;
  readonly actor?: string;
  readonly code: CodeCheck['code'];
  /** SHA-256 of the body without the code: tells a repeat from another command under the same id (rule C2). */
  readonly bodyHash: string;
}

export interface CommandResult {
  readonly commandId: string;
  readonly outcome: Outcome;
  readonly error?: {
    readonly code: ReplyCode;
    readonly field?: string;
    readonly zones?: readonly ZoneNumber[];
    readonly retryAfterS?: number;
  };
  readonly partition?: PartitionId | 'all';
  readonly state?: ArmingWord;
  readonly seq?: number;
  /** Wall clock milliseconds. */
  readonly at: number;
  readonly final: boolean;
}
