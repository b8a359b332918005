import type { Clock } from '#lib/clock.ts';
import { type Health, ok } from '#lib/health.ts';
import type { Breaker } from './breaker.ts';
import type { Link } from './link.ts';
import type { Queue } from './queue.ts';

export interface HealthEvidence {
  readonly breaker: Breaker;
  readonly link: Link;
  readonly clock: Clock;
  readonly queue: Queue;
  /** How long events still wait after an outage, so that not all bridges begin at once. */
  readonly spreadMs: number;
  /** Why the outbox cannot be read or written. */
  readonly trouble: string | undefined;
  readonly clockOffsetMs: number;
}

export function deliveryHealth(evidence: HealthEvidence): Health {
  const { breaker, link, clock, queue, spreadMs, trouble, clockOffsetMs } = evidence;
  const state = breaker.state();
  const waitMs = state.state === 'closed' ? spreadMs : breaker.waitMs();
  const { size, aside, inFlight, direct } = queue.shown();
  const facts = {
    link: link.word(),
    breaker: state.state,
    trouble: state.trouble ?? null,
    heldMs: state.sinceMono === undefined ? null : Math.round(clock.monotonic() - state.sinceMono),
    nextTryMs: state.state === 'closed' && waitMs === 0 ? null : Math.round(waitMs),
    inFlight,
    inMemory: size,
    aside,
    direct,
    clockOffsetMs,
  };
  if (trouble !== undefined)
    return { state: 'degraded', reason: `the outbox cannot be read or written: ${trouble}`, facts };
  if (state.state !== 'closed') return { state: 'degraded', reason: state.reason ?? 'events are held back', facts };
  const fault = link.fault();
  return fault === undefined ? ok(facts) : { state: 'degraded', reason: fault, facts };
}
