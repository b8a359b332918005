import type { ArmingSource, Outcome } from '#site/model/index.ts';

/** The two words the cloud knows. */
export type CloudStatus = 'armed' | 'disarmed';

/**
 * A whole site as the cloud would say it. `arming`: on its way to armed, so neither word would be true yet. `unknown`:
 * nobody can say; then nothing is told to the cloud (safety 2).
 */
export type SiteStatus = CloudStatus | 'arming' | 'unknown';

/** Both clocks at an input, milliseconds: every rule uses `mono`, `wall` only becomes a stamp. */
export interface SyncMoment {
  readonly mono: number;
  readonly wall: number;
  /** A fresh random number from 0 to below 1, so that many sites do not poll in step. */
  readonly random: number;
}

/** Milliseconds, except `jitter`. A request must end within `requestMs`, which its sender sees to. */
export interface SyncTimings {
  readonly pollMs: number;
  readonly fastMs: number;
  /** How long polls stay fast after a change on the site. */
  readonly fastForMs: number;
  /** Share of a wait that is random, to either side. */
  readonly jitter: number;
  /** Between the starts of one good read and the end of the next: two intervals at their longest (C4). */
  readonly healthyMs: number;
  /** How long a PUT without an answer may still arrive: three intervals at their longest (C6). */
  readonly echoMs: number;
  /** A read shows what the cloud held at most so long before: copies of it may be behind each other. */
  readonly lagMs: number;
  /** So long a copy may still show a value that is over; it matters where the cloud does not say when it was written. */
  readonly copyMs: number;
  /** In place of `lagMs` for a disarm within `copyMs`, where nothing tells it from an old copy. */
  readonly copyLagMs: number;
  /** First wait after a failed read, doubled up to one interval. */
  readonly retryMs: number;
  /** Longest wait between two tries to write what the cloud does not take. */
  readonly putCapMs: number;
  /** Wait between two reads where the site is gone or the read is refused. */
  readonly refusedMs: number;
  /** A request or a command without any answer counts as lost. */
  readonly requestMs: number;
  readonly commandMs: number;
  /** Longest life of a command from the moment it may have been given (C1). */
  readonly lifeMs: Readonly<Record<CloudStatus, number>>;
  /** Doubt left in a moment that is placed by the cloud's own clock. */
  readonly placeMs: number;
}

export interface SyncSettings {
  readonly timings: SyncTimings;
  /** With `security_type` 4 the cloud is recorded and shown; nothing is done and nothing is told. */
  readonly external: boolean;
}

/** Everything the two-way sync knows. Plain data: it is stored as JSON and comes back equal. Null: there is none. */
export interface SyncState {
  readonly local: LocalArming | null;
  /** The newest `seq` whose status the cloud is known to hold. */
  readonly acked: number;
  /** The local status is to be written, unless a look at the cloud shows that it is there already. */
  readonly owed: boolean;
  /** The cloud was read after the last reason to write, so that nothing unseen is overwritten (C4). */
  readonly looked: boolean;
  /** What the cloud was last known to hold. */
  readonly seen: Sighting | null;
  /** When a read last showed another value than the one seen, which may be an old copy; later reads decide. */
  readonly doubt: { readonly since: number } | null;
  /** A write whose answer was lost: no edge until one read was good (C4). */
  readonly uncertain: { readonly status: CloudStatus; readonly seq: number } | null;
  /** Writes that may still arrive, one of each value; a change to their value is no edge (C6). */
  readonly echoes: readonly { readonly status: CloudStatus; readonly until: number }[];
  /** Value and version as they were read or written, the newest last: one that comes again is an old copy (C6). */
  readonly versions: readonly string[];
  /** Until this monotonic moment a copy may still show a value that is over. */
  readonly copies: number;
  /** Until this one copies are known to be behind our writes: without times no disarm is believed. */
  readonly behind: number;
  readonly flight: Flight | null;
  /** The command that was made of the last edge, until the gate and the site have answered. */
  readonly command: { readonly id: string; readonly value: CloudStatus; readonly since: number } | null;
  /** The conflict that was last told, so that one value is told once. */
  readonly told: string | null;
  /** The status the cloud called unacceptable; it is not written again until it changes. */
  readonly rejected: CloudStatus | null;
  readonly external: boolean;
  readonly requests: number;
  /** Monotonic moments: next read; no write before; and so on. */
  readonly due: number;
  readonly putAt: number;
  /** The cloud asked for quiet: no request before. */
  readonly quietUntil: number;
  readonly fastUntil: number;
  readonly readFailures: number;
  readonly putFailures: number;
  /** What the cloud does not take or say, as it was told. */
  readonly complaint: 'body' | 'gone' | 'refused' | 'unreadable' | null;
}

/** What of the state outlives the process; no moment of it does. */
export interface KeptSync extends Pick<SyncState, 'acked' | 'owed' | 'uncertain' | 'told' | 'rejected' | 'external'> {
  readonly local: Pick<LocalArming, 'status' | 'tellable' | 'seq'> | null;
  readonly seen: Pick<Sighting, 'value' | 'version' | 'writtenAt'> | null;
  readonly versions: readonly string[];
  /** Moments of the clock of that boot; null: `copies` runs from the start, `behind` is none. */
  readonly copies: number | null;
  readonly behind: number | null;
  /** Writes that may still arrive, until a moment of the clock of that boot; null: it was under way. */
  readonly arriving: readonly { readonly status: CloudStatus; readonly until: number | null }[];
}

export interface LocalArming {
  readonly status: SiteStatus;
  /** The last status that could be told; null while none is known. */
  readonly tellable: CloudStatus | null;
  readonly seq: number;
  /** Monotonic moment of the last change made on the site (C3); the start, where it was before. */
  readonly changedAt: number;
  /** That change was, or may have been, made by a person on the site, not by a schedule (safety 5). */
  readonly byPerson: boolean;
}

export interface Sighting {
  readonly value: CloudStatus;
  /** `updated_at` as it came: what changes with each write. Only ever compared for being equal. */
  readonly version: string | null;
  /** When it was written, by the cloud's clock; only compared with other moments of that clock. */
  readonly writtenAt: number | null;
  /** A read has shown it, not only the answer to a write. */
  readonly confirmed: boolean;
  /** The value was there at this monotonic moment or later; null: seen in another session, no ground for an edge. */
  readonly from: number | null;
  /** The last request that showed it, from its start to its answer. */
  readonly since: number;
  readonly until: number;
}

export type Flight = { readonly request: number; readonly since: number } & (
  | { readonly kind: 'get' }
  | { readonly kind: 'put'; readonly status: CloudStatus; readonly seq: number }
);

export type SyncInput = { readonly at: SyncMoment } & (
  | { readonly kind: 'tick' }
  /** Any committed transition. What is not newer than the last one is ignored (I1). */
  | { readonly kind: 'local'; readonly status: SiteStatus; readonly seq: number; readonly source: ArmingSource }
  | {
      readonly kind: 'polled';
      readonly request: number;
      readonly value: CloudStatus | 'unknown';
      /** `updated_at`, or whatever changes with each write; never an ETag, which may be the same for equal values. */
      readonly version?: string;
      /**
       * When the value was written, and when this answer was made, both by the cloud's clock (`updated_at` and the
       * `Date` header, milliseconds). Only their difference is used, so no clock has to be right.
       */
      readonly writtenAt?: number;
      readonly answeredAt?: number;
      /** A fresh id, for example the request's trace id; the command of an edge bears it. */
      readonly id: string;
    }
  | {
      readonly kind: 'pollFailed';
      readonly request: number;
      readonly why: 'unreachable' | 'throttled' | 'gone' | 'refused';
      readonly retryAfterMs?: number;
    }
  /** `value`: what the answer says the cloud holds now, if it does. */
  | {
      readonly kind: 'putAnswered';
      readonly request: number;
      readonly value?: CloudStatus;
      readonly version?: string;
      readonly writtenAt?: number;
      readonly answeredAt?: number;
    }
  | {
      readonly kind: 'putFailed';
      readonly request: number;
      /**
       * `lost`: it may have been done, now or later (no answer, 5xx). `unsent`: it certainly was not. `body`: this body
       * is not taken (400, 422). `changed`: 409, 412.
       */
      readonly why: 'lost' | 'unsent' | 'body' | 'changed' | 'throttled' | 'gone' | 'refused';
      readonly retryAfterMs?: number;
    }
  /** The final answer to a command of this sync; its transitions come as `local` before it. */
  | { readonly kind: 'commanded'; readonly id: string; readonly outcome: Outcome; readonly code?: string }
);

export type ConflictReason =
  /**
   * Changed while nobody was looking: before the start, in an outage, or between polls too far apart (C4, C5); or its
   * own time says that it is older than what was read or written since.
   */
  | 'waited'
  /** Given before the last change on the site, or too close to it to tell (C3, safety 5). */
  | 'newer_local_change'
  /** It may be a write of ours that arrived only now, or a copy from before our last one (C6). */
  | 'echo'
  /** Changed while a write of ours had no answer (C4). */
  | 'answer_lost'
  /** The gate or the site refused the command; `code` says why. */
  | 'refused'
  /** The command had no answer in time. */
  | 'unanswered';

export type SyncAction =
  | { readonly kind: 'get'; readonly request: number }
  | { readonly kind: 'put'; readonly request: number; readonly status: CloudStatus; readonly seq: number }
  /** Enters the gate like every command: source `cloud`, target the whole site, no actor and no code (C11). */
  | {
      readonly kind: 'command';
      readonly verb: 'arm' | 'disarm';
      readonly id: string;
      /** Wall clock milliseconds. */
      readonly issuedAt: number;
      readonly expiresAt: number;
    }
  /** Becomes the trouble event `arming_conflict`: the cloud said this and the site does not do it. */
  | {
      readonly kind: 'conflict';
      readonly reason: ConflictReason;
      readonly cloud: CloudStatus;
      readonly local: SiteStatus;
      readonly seq: number;
      readonly code?: string;
      /** Wall clock milliseconds. */
      readonly at: number;
    }
  /** Type 4: what the cloud says of a site that siteward does not control. */
  | { readonly kind: 'mirrored'; readonly value: CloudStatus }
  /** The cloud does not take a write or cannot be understood; told once until it ends. */
  | { readonly kind: 'refused'; readonly what: NonNullable<SyncState['complaint']> };

export interface SyncStep {
  readonly state: SyncState;
  readonly actions: readonly SyncAction[];
  /** Milliseconds until the next `tick` is wanted. */
  readonly wakeInMs: number;
  /** Rule numbers that decided, as in `Decision`. */
  readonly rules: readonly string[];
}
