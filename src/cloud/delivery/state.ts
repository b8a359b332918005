import type { Clock } from '#lib/clock.ts';
import { type Health, ok } from '#lib/health.ts';
import type { Breaker, BreakerState } from './breaker.ts';
import type { Link } from './link.ts';
import type { Queue } from './queue.ts';
import type { LinkTrouble } from './status-table.ts';

/** How it is with delivery now. Silent events stand in no count (safety 4). */
export interface DeliveryState {
  /** As far as a try or a look has told. */
  readonly link: 'up' | 'down' | 'unknown';
  readonly breaker: BreakerState['state'];
  /** Why events are held back. */
  readonly trouble: LinkTrouble | undefined;
  /** What is wrong, for people. */
  readonly reason: string | undefined;
  /** Milliseconds since when nothing was accepted. */
  readonly heldMs: number | undefined;
  /** Milliseconds until events are tried again; undefined while they may go. */
  readonly nextTryMs: number | undefined;
  readonly inFlight: number;
  /** Events on their way out, those under way included. */
  readonly inMemory: number;
  /** Events that wait by themselves for another try. */
  readonly aside: number;
  /** Events that lie on no disk. */
  readonly direct: number;
  /** Events the cloud accepted per minute, over the last minutes. */
  readonly perMin: number;
  /** The cloud's clock minus ours, milliseconds. */
  readonly clockOffsetMs: number;
}

export interface DeliveryEvidence {
  readonly breaker: Breaker;
  readonly link: Link;
  readonly clock: Clock;
  readonly queue: Queue;
  /** How long events still wait after an outage, so that not all bridges begin at once. */
  readonly spreadMs: number;
  readonly perMin: number;
  /** Why the outbox cannot be read or written. */
  readonly storeTrouble: string | undefined;
  readonly uploadTrouble: string | undefined;
  readonly clockOffsetMs: number;
}

export function deliveryState(evidence: DeliveryEvidence): DeliveryState {
  const { breaker, link, clock, queue, spreadMs, storeTrouble, uploadTrouble, perMin, clockOffsetMs } = evidence;
  const { state, trouble, reason, sinceMono } = breaker.state();
  const isClosed = state === 'closed';
  const now = clock.monotonic();
  // Nothing rests any more, and yet nothing may be tried: every event waits by itself, as on the first day.
  const dueMs = Math.max(0, queue.shownDueMono() - now);
  const waitMs = isClosed ? spreadMs : Math.max(breaker.waitMs(), Number.isFinite(dueMs) ? dueMs : 0);
  const { size, aside, inFlight, direct } = queue.shown();
  const unusable = storeTrouble === undefined ? undefined : `the outbox cannot be read or written: ${storeTrouble}`;
  const held = isClosed ? link.fault() : (reason ?? 'events are held back');
  return {
    link: isClosed ? link.word() : 'down',
    breaker: state,
    trouble,
    reason: unusable ?? held ?? uploadTrouble,
    heldMs: sinceMono === undefined ? undefined : Math.round(now - sinceMono),
    nextTryMs: isClosed && waitMs === 0 ? undefined : Math.round(waitMs),
    ...{ inFlight, inMemory: size, aside, direct, perMin, clockOffsetMs },
  };
}

export function deliveryHealth({ reason, trouble, heldMs, nextTryMs, ...counts }: DeliveryState): Health {
  const facts = { ...counts, trouble: trouble ?? null, heldMs: heldMs ?? null, nextTryMs: nextTryMs ?? null };
  return reason === undefined ? ok(facts) : { state: 'degraded', reason, facts };
}
