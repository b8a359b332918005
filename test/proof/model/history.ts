import type { ClockQuality, Lane } from '#site/model/index.ts';
import type { Anchor, Gap, MediaRow, ParkedRecord, Recovery } from '#site/store/index.ts';
import type { Accepted, Upload } from '../../harness/cloud.ts';
import type { Step } from './steps.ts';

/** What was put, as the box numbered it. The token is the test's own name for it and travels in the payload. */
export interface Put {
  readonly token: number;
  readonly seq: number;
  /** As everybody sees it. */
  readonly number: number;
  readonly eventId: string;
  readonly lane: Lane;
  readonly key: string;
  readonly silent: boolean;
  readonly media: boolean;
  readonly boot: string;
  readonly clock: ClockQuality;
  /** Monotonic and true wall clock milliseconds of the event. */
  readonly mono: number;
  readonly trueWall: number;
}

/** How a life of the box ended. */
export type Ending = 'kill' | 'stop' | 'power' | 'corrupt';

/** What the test saw, in the order in which it saw it. Times are the box's own monotonic clock, milliseconds. */
export type Entry =
  | { readonly what: 'step'; readonly index: number; readonly step: Step }
  | ({ readonly what: 'life'; readonly boot: string; readonly mono: number; readonly synchronous: Synchronous } & Pick<
      Recovery,
      'epoch' | 'storeId' | 'nextSeq' | 'lost'
    >)
  | ({ readonly what: 'numbered' } & Put)
  /** The world was told: with `durable` false before it was on disk. */
  | { readonly what: 'shown'; readonly token: number; readonly durable: boolean }
  | { readonly what: 'acked'; readonly token: number }
  | { readonly what: 'refused'; readonly token: number; readonly code: string }
  | { readonly what: 'post'; readonly nth: number; readonly eventId: string; readonly mono: number }
  | {
      readonly what: 'posted';
      readonly nth: number;
      readonly mono: number;
      /** Undefined when there was no answer. */
      readonly status?: number;
      readonly failure?: string;
      /** The answer is an acceptance: 2xx with an empty or JSON body, or 409. */
      readonly taken: boolean;
      readonly retryAfterMs?: number;
    }
  /** The acceptance of these is on disk. */
  | { readonly what: 'settled'; readonly seqs: readonly number[] }
  /** `clean`: it said that it had stopped, before the deadline. */
  | { readonly what: 'end'; readonly how: Ending; readonly clean: boolean }
  | { readonly what: 'disk'; readonly full: boolean }
  | { readonly what: 'frozen'; readonly who: 'cloud' | 'box'; readonly tokens: readonly number[] }
  | { readonly what: 'thawed' }
  | { readonly what: 'offline'; readonly connects: number; readonly boxMs: number }
  | { readonly what: 'idle'; readonly tries: number; readonly changed: readonly string[] }
  /**
   * After a step: the gap records, and the numbers of what `site.db` and `bulk.db` held undelivered, refused or not, when they
   * were read just `before` the records and just `after` them.
   */
  | {
      readonly what: 'gaps';
      readonly before: readonly number[];
      readonly gaps: readonly Gap[];
      readonly after: readonly number[];
    }
  | { readonly what: 'clockStep'; readonly ms: number };

export interface Synchronous {
  readonly site: number | undefined;
  readonly bulk: number | undefined;
}

/** What is there when the run is over and the outbox had every chance to empty itself. */
export interface Final {
  readonly accepted: readonly Accepted[];
  readonly uploads: readonly Upload[];
  readonly pending: readonly number[];
  readonly parked: readonly Pick<ParkedRecord, 'seq' | 'eventId' | 'reason'>[];
  /** Numbers of events the store still knows, whatever became of them. */
  readonly known: readonly number[];
  readonly gaps: readonly Gap[];
  readonly media: readonly MediaRow[];
  readonly anchors: readonly Anchor[];
  /** Names in the spool folder after a last start and its sweep. */
  readonly spool: readonly string[];
  /** SHA-256 that the picture of a token has. */
  readonly pictures: ReadonlyMap<number, string>;
  /** Largest size of each file ever seen, bytes; `caps` of the same names. */
  readonly sizes: Readonly<Record<string, number>>;
  readonly caps: Readonly<Record<string, number>>;
  /** Requests of one kind that may be under way together. */
  readonly slots: number;
}

export interface History {
  readonly seed: number;
  readonly entries: readonly Entry[];
  readonly final: Final;
}

export const entriesOf = <W extends Entry['what']>(history: Pick<History, 'entries'>, what: W) =>
  history.entries.flatMap((entry, at) =>
    entry.what === what ? [{ ...(entry as Extract<Entry, { what: W }>), entryAt: at }] : [],
  );
