import type {
  GapEntry,
  OutboxDocument,
  ParkedDetail,
  ParkedEntry,
  ParkedQuery,
  WaitingList,
  WaitingQuery,
} from './outbox-schemas.ts';
import type { EventEntry, EventsQuery, Readiness, StatusDocument } from './schemas.ts';

/** What the LAN API shows; `daemon.ts` fills it in. Calls may reject with a `SitewardError`. */
export interface LanPort {
  status(): Promise<StatusDocument>;
  /** Newest first, at most `limit`, with seq below `before`; empty only when there are no more. */
  events(query: EventsQuery): Promise<readonly EventEntry[]>;
  /** Local protection only: a cloud that is away is no reason. */
  ready(): Readiness;
  /** Text format of Prometheus. */
  metrics(): Promise<string>;
  readonly outbox: OutboxPort;
}

/** Parked events to be changed, and who asked for it. */
export interface ParkedChange {
  readonly seqs: readonly number[];
  readonly actor: string;
}

/** The outbox as a technician sees and mends it. Silent events do not exist here (safety 4). */
export interface OutboxPort {
  /** Never rejects for a store that cannot be read: that is what it shows then. */
  show(): Promise<OutboxDocument>;
  waiting(query: WaitingQuery): Promise<WaitingList>;
  /** Newest first, at most `limit`, with seq below `before`; empty only when there are no more. */
  parked(query: ParkedQuery): Promise<readonly ParkedEntry[]>;
  /** Rejects with `not_parked`. */
  parkedOne(seq: number): Promise<ParkedDetail>;
  /** Puts events back in line; resolves with how many. Rejects with `not_parked`, naming them, and does nothing then. */
  retry(change: ParkedChange): Promise<number>;
  /** Gives events up for good; as `retry`. */
  drop(change: ParkedChange): Promise<number>;
  /** Newest first. */
  gaps(limit: number): Promise<readonly GapEntry[]>;
}
