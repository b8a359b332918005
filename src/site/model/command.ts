import { z } from 'zod';
import type { ArmingSource, ArmingWord, ArmMode } from './arming.ts';
import type { PartitionId, ZoneNumber } from './ids.ts';
import type { ScheduleId } from './schedule.ts';
import type { UserRole } from './user.ts';

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

/**
 * `postpone` puts off the next arming of a schedule; `test` begins a walk test. `verify` says who answers an alarm
 * verification; the answer itself is none of the core's business.
 */
/**
 * The client of whoever speaks over the control socket, which does not tell who opened it: its file's permissions say who
 * may. All of them share its locks (C8), so the name stands here alone.
 */
export const localClient = 'control socket';

/** Clients that have not proven who they are share one name, so that a guesser cannot dodge the lock of rule C8 by renaming itself. */
export const unknownClient = 'unknown';

export const commandVerbs = [
  'arm',
  'disarm',
  'postpone',
  'verify',
  'security_type',
  'silence',
  'snapshot',
  'play',
  'cancel',
  'dispatch',
  'watch',
  'bypass',
  'unbypass',
  'clear_memory',
  'test',
  'end_test',
] as const;
export type CommandVerb = (typeof commandVerbs)[number];

/** What a person's code says of them; the code itself goes no further. */
export interface CodeCheck {
  readonly code: 'ok' | 'bad' | 'duress' | 'none';
  /** The user's id; never the name, never the code. */
  readonly actor?: string;
  /** What the user is on this site; see `roles`. */
  readonly role?: UserRole;
}

/**
 * A command as it enters the core. The code itself never gets here: it was checked before
 * (`ok` names the user), and no member of this type can carry it.
 */
export interface Command {
  readonly id: string;
  readonly verb: CommandVerb;
  readonly partition: PartitionId | 'all';
  readonly mode?: ArmMode;
  readonly force?: boolean;
  readonly bypass?: readonly ZoneNumber[];
  readonly skipExitDelay?: boolean;
  /** Of a postponement, whose partition is `all`: which schedule. */
  readonly schedule?: ScheduleId;
  /** Whole minutes: of a postponement, by how many; of a bypass or a walk test, for how many. */
  readonly minutes?: number;
  /** What `bypass` and `unbypass` are about; their partition follows from it. */
  readonly zone?: ZoneNumber;
  /** How long a bypass lasts: until the next disarm, or until somebody ends it. */
  readonly until?: 'disarm' | 'cleared';
  /** Why, for the site's record; at most 120 characters. */
  readonly reason?: string;
  /** Of a walk test: only these. */
  readonly zones?: readonly ZoneNumber[];
  /** Wall clock milliseconds. */
  readonly issuedAt: number;
  readonly expiresAt?: number;
  readonly expected?: { readonly seq?: number; readonly state?: readonly ArmingWord[] };
  readonly source: Exclude<ArmingSource, 'panel' | 'engine'>;
  /** The LAN client or program it came from. */
  readonly client: string;
  /** It is one account or one API key of the LAN API, which nobody else can be. */
  readonly isProven?: true;
  readonly actor?: string;
  /** What the actor is on this site, where a code has shown it. */
  readonly role?: UserRole;
  readonly code: CodeCheck['code'];
  /** SHA-256 of the body without the code: tells a repeat from another command under the same id (rule C2). */
  readonly bodyHash: string;
}

/** What came of a walk test. Of a long list 64 zones are named; the counts are those of all. */
export interface WalkTestResult {
  readonly partition: PartitionId;
  readonly walked: number;
  readonly walkedZones: readonly ZoneNumber[];
  readonly missed: number;
  readonly missedZones: readonly ZoneNumber[];
}

/** A partition in which a command for all of them did not do what it asked, and why. */
export interface Undone {
  readonly partition: PartitionId;
  readonly code: ReplyCode;
  readonly field?: string;
  readonly zones?: readonly ZoneNumber[];
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
  /** Of an arm or disarm of all partitions: those it did not reach; the error above is that of the first. */
  readonly undone?: readonly Undone[];
  readonly state?: ArmingWord;
  readonly seq?: number;
  /** Of an arming: the zones it does not watch, by name, by force or left out before; 64 are named. */
  readonly leftOut?: readonly ZoneNumber[];
  /** Of a postponement: when the arming comes now, wall clock milliseconds, and how often it can be put off again. */
  readonly postponed?: { readonly due: number; readonly timesLeft: number };
  /** Walk tests that it ended. */
  readonly tests?: readonly WalkTestResult[];
  /** Wall clock milliseconds. */
  readonly at: number;
  readonly final: boolean;
}
