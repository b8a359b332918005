import type {
  AudioCategory,
  Delivery,
  DeviceId,
  PartitionId,
  PlaybackReason,
  PlaybackShown,
  PlaybackState,
  Stamp,
} from '#site/model/index.ts';
import type { DriverFailure } from '../driver.ts';
import type { QuietHours } from './quiet.ts';
import type { Timer } from './timers.ts';

export interface EnginePlan {
  readonly timezone: string;
  readonly speakers: readonly SpeakerPlan[];
  readonly limits: EngineLimits;
}

/** A speaker that is enabled; one that is not stands in no plan. */
export interface SpeakerPlan {
  readonly id: DeviceId;
  readonly name: string;
  /** What is exclusive: speakers of one sound card share a lane, and a lane has one sound at a time. */
  readonly lane: string;
  /** From the order to begin to the first sample. */
  readonly startMs: number;
  /** From the order to stop to silence, as its driver says. */
  readonly stopMs: number;
  /** It is silent by an order that it answers, and by nothing else: its answer has all of `stopMs`, whoever is in a hurry. */
  readonly byOrder?: true;
  readonly quiet?: readonly QuietHours[];
}

/** Milliseconds, unless it says otherwise. */
export interface EngineLimits {
  /** Playbacks that wait in one lane. */
  readonly queue: number;
  /** Playbacks that have ended and are kept for people. */
  readonly kept: number;
  readonly prepareMs: number;
  /** Without an answer of the journal for so long, the sound begins all the same. */
  readonly journalMs: number;
  /** One speaker waits so long for the others of its playback. */
  readonly togetherMs: number;
  /** Between two tries of a speaker that is busy. */
  readonly busyMs: number;
  /** Added to 1.1 times the length before a sound counts as stuck. */
  readonly slackMs: number;
  /** The sound of a burglary ends within so many after its disarm or silence (safety 9). */
  readonly silenceMs: number;
  /** An alarm sounds at most so long (safety 9); after as much rest it may sound anew. */
  readonly longestAlarmMs: number;
  readonly longestLifeSafetyMs: number;
  readonly restMs: number;
  /** At a stop of siteward, what sounds may end by itself within. */
  readonly closeMs: number;
  readonly closeAlarmMs: number;
  /** Failures in a row after which a speaker is unhealthy. */
  readonly failures: number;
  /** Least volume of an alarm, percent. */
  readonly alarmFloor: number;
}

/** What a sound belongs to, by the id of its incident: its longest time counts for all of it. Nothing of a silent event is ever asked of the engine (safety 4). */
export type AlarmMark =
  /** Fire cuts every other sound; other life safety (gas, medical, audible panic) all but fire. */
  | {
      readonly cause: 'fire' | 'life_safety';
      readonly id: string;
      /** What within the incident: each has a longest time of its own, since a second fire is heard after the first one sounded out. */
      readonly of?: string;
    }
  /** Ends with the disarm of its partition. */
  | { readonly cause: 'burglary'; readonly id: string; readonly partition: PartitionId };

export interface PlayRequest {
  /** Becomes the playback's id; the same request again is none. */
  readonly id: string;
  readonly message: MessageRef;
  /** Of the message, or a higher one. */
  readonly category: AudioCategory;
  readonly alarm?: AlarmMark;
  readonly volume: number;
  readonly repeat: number;
  /** Omitted: all. */
  readonly speakers?: readonly DeviceId[];
  readonly requestedBy: string;
  /** It joins none that says the same. */
  readonly anew?: true;
}

export interface MessageRef {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly sha256: string;
}

/** A message on some speakers. Plain data: the journal holds it as it is. */
export interface Playback {
  readonly version: 1;
  readonly id: string;
  readonly message: MessageRef;
  readonly category: AudioCategory;
  readonly alarm?: AlarmMark;
  readonly volume: number;
  readonly repeat: number;
  readonly requestedBy: string;
  readonly createdAt: Stamp;
  /** Grows with every change that shows. */
  readonly seq: number;
  /** Requests that were answered with it; at most 64 are remembered. */
  readonly joined: readonly string[];
  readonly parts: readonly Part[];
}

/** What one speaker does of a playback. */
export interface Part {
  readonly speaker: DeviceId;
  readonly name: string;
  readonly status: PlaybackState;
  readonly reason?: PlaybackReason;
  /** The order to sound is given, or is about to be: after a crash nobody knows what was heard. */
  readonly begun?: true;
  /** How often it was cut while it sounded. */
  readonly cuts: number;
  /** First sample, of the last time it began. */
  readonly startedAt?: Stamp;
  readonly endedAt?: Stamp;
  readonly playedMs?: number;
  readonly delivered?: Delivery;
}

export interface EngineState {
  /** The oldest first. */
  readonly playbacks: ReadonlyMap<string, Playback>;
  /** Lanes where something is prepared or sounds. */
  readonly lanes: ReadonlyMap<string, Lane>;
  /** Speakers that failed lately. */
  readonly failures: ReadonlyMap<DeviceId, number>;
  /** Alarms that sound or sounded lately. */
  readonly alarms: ReadonlyMap<string, Sounding>;
  /** Running timers by id, with the monotonic time they are due. */
  readonly timers: ReadonlyMap<string, number>;
  /** Numbers of the last run and of the last write to the journal in this life. */
  readonly runs: number;
  readonly writes: number;
  readonly closing?: 'waits' | 'idle';
}

export interface Lane {
  /** The one that has the speaker. */
  readonly sound?: LaneSound;
  /** Made ready while the lane is free or about to be. */
  readonly next?: LaneNext;
}

interface Run {
  /** Names one try of a part to the player; never used again in this life. */
  readonly run: number;
  readonly playback: string;
  readonly speaker: DeviceId;
}

export interface LaneNext extends Run {
  /** Known once it is prepared. */
  readonly lengthMs?: number;
  /** The write of the journal it waits for; undefined once that is on disk, or waited for long enough. */
  readonly write?: number;
  readonly durable: boolean;
  /** It has waited for the other speakers long enough. */
  readonly alone: boolean;
}

export interface LaneSound extends Run {
  readonly lengthMs: number;
  readonly durable: boolean;
  /** `busy`: the device refused and is asked again; nothing runs meanwhile. */
  readonly stage: 'starting' | 'busy' | 'playing' | 'stopping';
  /** Monotonic time of the first sample. */
  readonly soundedAt?: number;
  /** What becomes of it once it is silent. */
  readonly ending?: Ending;
}

export interface Ending {
  readonly status: 'failed' | 'cancelled';
  readonly reason: PlaybackReason;
}

/** The sounds of one alarm, without a rest between them. */
export interface Sounding {
  readonly lifeSafety: boolean;
  readonly since: number;
  /** When the last one ended; undefined while one sounds. */
  readonly quietSince?: number;
  readonly over: boolean;
}

/** Whom a cancel means. One by `all`, speaker or category leaves alarms alone unless whoever asks may end them. */
export type CancelTarget =
  | { readonly playback: string }
  | { readonly speaker: DeviceId }
  | { readonly category: AudioCategory }
  | 'all';

export type EngineInput = { readonly at: Stamp } /** First of all: what the journal holds, the oldest first. */ & (
  | { readonly kind: 'recover'; readonly rows: readonly Playback[] }
  | { readonly kind: 'play'; readonly request: PlayRequest }
  | { readonly kind: 'cancel'; readonly target: CancelTarget; readonly alarms: boolean }
  /** A partition was disarmed, or its alarm silenced. */
  | { readonly kind: 'hush'; readonly partition: PartitionId | 'all' }
  /** All writes up to this one are on disk. */
  | { readonly kind: 'journalled'; readonly write: number }
  /** The answer to `prepare`: the whole sound, with repeats, gaps and silence, lasts so long. */
  | { readonly kind: 'prepared'; readonly run: number; readonly lengthMs: number }
  | { readonly kind: 'unprepared'; readonly run: number; readonly reason: DriverFailure | 'message_gone' }
  /** After `start`; then one of `ended`, `failed`, `silent` says that the device is free. */
  | { readonly kind: 'first_sample'; readonly run: number }
  | { readonly kind: 'ended'; readonly run: number; readonly playedMs: number; readonly delivered: Delivery }
  | { readonly kind: 'failed'; readonly run: number; readonly playedMs: number; readonly reason: DriverFailure }
  /** The answer to `stop`. */
  | {
      readonly kind: 'silent';
      readonly run: number;
      readonly playedMs: number /** Or so it was told. */;
      readonly soundsOn?: true;
    }
  | { readonly kind: 'timer'; readonly timer: Timer }
  /** What a probe found. */
  | { readonly kind: 'probed'; readonly speaker: DeviceId; readonly ok: boolean }
  | { readonly kind: 'clock_jumped'; readonly byMs: number }
  /** The plan handed over with it is another one than before. */
  | { readonly kind: 'replanned' }
  | { readonly kind: 'shutdown' }
);

export type EngineEffect =
  | {
      readonly kind: 'prepare';
      readonly run: number;
      readonly speaker: DeviceId;
      readonly message: MessageRef;
      /** As it is to be heard: a cap or a floor is in it. */
      readonly volume: number;
      readonly repeat: number;
      readonly gapMs: number;
      /** Goes before others where there is a queue. */
      readonly urgent: boolean;
    }
  /** What was prepared, or is being so, is not needed. After `failed` for `busy` comes either this or `start` again. */
  | { readonly kind: 'drop'; readonly run: number }
  /** `durable` is false where the journal had no answer in time. */
  | { readonly kind: 'start'; readonly run: number; readonly speaker: DeviceId; readonly durable: boolean }
  /** May come again with less time. */
  | { readonly kind: 'stop'; readonly run: number; readonly withinMs: number }
  /** It did not stop in time: its process or connection ends now. No answer is waited for, the lane is free. */
  | { readonly kind: 'kill'; readonly run: number }
  | { readonly kind: 'timer.set'; readonly timer: Timer; readonly afterMs: number }
  | { readonly kind: 'timer.clear'; readonly timer: Timer }
  /** To be written in this order; a later row of a playback replaces the earlier one. */
  | { readonly kind: 'journal'; readonly write: number; readonly row: Playback }
  /** This row is to be deleted. */
  | { readonly kind: 'forget'; readonly playback: string }
  /** To be published after its row. */
  | { readonly kind: 'changed'; readonly playback: PlaybackShown }
  | { readonly kind: 'health'; readonly speaker: DeviceId; readonly healthy: boolean }
  /** A daemon before this one may have left its talk channel open. */
  | { readonly kind: 'release'; readonly speaker: DeviceId }
  /** After `shutdown`: nothing sounds any more. */
  | { readonly kind: 'idle' };

/** Why nothing was made of a request. */
export type PlayRefusal =
  | 'no_speaker'
  | 'unknown_speaker'
  | 'id_conflict'
  /** Every lane it is for is full. */
  | 'queue_full'
  /** The alarm has sounded for its longest time. */
  | 'too_long'
  | 'shutdown';

export type PlayAnswer =
  | { readonly outcome: 'accepted' | 'joined' | 'already'; readonly playback: PlaybackShown }
  | { readonly outcome: 'refused'; readonly reason: PlayRefusal };

export interface EngineStep {
  readonly state: EngineState;
  readonly effects: readonly EngineEffect[];
  /** Of the input `play`. */
  readonly answer?: PlayAnswer;
  /** Of the input `cancel`: playbacks it meant, ended ones too where it named them. */
  readonly cancelled?: readonly string[];
}
