import type { ActivityLog, ActivityLogQuery, AudioMessage, DispatchRequest, Playback } from '#cloud/contract/index.ts';
import type { Asker, Outcome, ReplyCode, ZoneNumber } from '#site/model/index.ts';

/** What became of a command that came over one of the cloud's paths. */
export interface PartitionAnswer {
  readonly outcome: Outcome;
  readonly error?: {
    readonly code: ReplyCode;
    readonly field?: string;
    readonly zones?: readonly NamedZone[];
    readonly retryAfterS?: number;
  };
}

export interface NamedZone {
  readonly number: ZoneNumber;
  readonly name: string;
}

export type BypassAnswer =
  /** Nothing was done: at this place stands no zone of the partition. */
  | { readonly kind: 'unknown_zone'; readonly place: number }
  /** Nothing was done: without a code so many are left out at once. */
  | { readonly kind: 'too_many'; readonly most: number }
  /** `left`: those that are not left out, where it was refused in the middle. */
  | { readonly kind: 'given'; readonly answer: PartitionAnswer; readonly left: readonly ZoneNumber[] };

/** A partition that is not known to be either, as long as its panel does not answer, has no `status`. */
export interface PartitionPicture {
  readonly status: 'armed' | 'disarmed' | undefined;
  readonly ready: boolean;
  readonly bypassed_zones: string[];
}

export type DispatchTold =
  | { readonly kind: 'requested'; readonly dispatchId?: string }
  | { readonly kind: 'offline' | 'refused' | 'unknown' | 'not_configured' };

export interface TakenPicture {
  readonly jpeg: Uint8Array;
  /** By which it can be fetched for some minutes; nobody can guess it. */
  readonly id: string;
}

/**
 * This site behind the cloud's own paths: all of it is done here, with or without a line. Ids are the service's or ours. Calls reject
 * with what `problem.ts` knows.
 */
export interface CloudPathsPort {
  /** Path of a site that is addressed by its account reference. */
  referencePath(): string;
  isSite(id: string): boolean;
  isReference(reference: string): boolean;
  isPartition(id: string): boolean;
  isCamera(id: string): boolean;

  messages(): readonly AudioMessage[];
  /** Resolves with the first sample, or as it is then. Rejects with `audio_invalid` for a speaker that is none. */
  play(
    wish: {
      readonly message: string;
      readonly volume?: number;
      readonly repeat?: number;
      readonly targets?: readonly string[];
    },
    by: Asker,
    signal: AbortSignal,
  ): Promise<Playback>;

  partition(id: string): PartitionPicture;
  /** Resolves with the final answer. The code goes in and never comes out. */
  command(
    wish: { readonly verb: 'arm' | 'disarm'; readonly partition: string; readonly code?: string },
    by: Asker,
    signal: AbortSignal,
  ): Promise<PartitionAnswer>;
  bypass(
    wish: { readonly partition: string; readonly zones: readonly string[]; readonly code?: string },
    by: Asker,
    signal: AbortSignal,
  ): Promise<BypassAnswer>;

  snapshot(camera: string, by: Asker, signal: AbortSignal): Promise<TakenPicture>;
  /** Undefined once its time is over, or others took its place. */
  picture(id: string): Uint8Array | undefined;

  /** Asks the service, now or not at all. */
  dispatch(request: DispatchRequest, by: Asker, signal: AbortSignal): Promise<DispatchTold>;
  /** Newest first; without what only auditors may see (safety 4). */
  activity(query: ActivityLogQuery): Promise<readonly ActivityLog[]>;
}
