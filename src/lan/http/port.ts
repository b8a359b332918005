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
}
