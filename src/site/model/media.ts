import type { Lane } from './basics.ts';
import type { MediaItem } from './event.ts';

/** The pictures and clips that an event announced, to be made. */
export interface CaptureJob {
  readonly seq: number;
  readonly lane: Lane;
  readonly items: readonly MediaItem[];
  /** Resolves when the event and its media plan are on disk; rows are touched only then. */
  readonly committed: Promise<void>;
  /** Shows in no metric, log line or health (safety 4). */
  readonly silent?: true;
}

interface Update {
  readonly seq: number;
  readonly lane: Lane;
  readonly index: number;
  readonly at: number;
  /** Its writing shows in no metric (safety 4). */
  readonly silent?: true;
}

/** What came of making one of them. */
export type MediaOutcome = Update &
  (
    | {
        readonly state: 'ready';
        readonly file: string;
        readonly bytes: number;
        readonly sha256: string;
        readonly mime: string;
        /** What is to be known of it, in words, such as when it begins; it takes the place of a reason. */
        readonly note?: string;
      }
    | { readonly state: 'failed'; readonly reason: string }
  );

export type MediaUpdate = MediaOutcome | (Update & { readonly state: 'uploaded' });
