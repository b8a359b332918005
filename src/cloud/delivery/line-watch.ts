import type { CloudClient, Place } from '#cloud/client/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { FailureKind } from '#lib/contract/client.ts';
import type { BreakerState } from './breaker.ts';
import type { DeliveryMetrics } from './metrics.ts';

/**
 * Notices that the line is back while events are held back for its sake: every 4 s it looks whether the server that
 * could not be reached takes a connection, and tells it once, when that has just changed. What takes connections all
 * the time (a captive portal, a server that hangs) is no news and leaves the waits as they are.
 */
export interface LineWatch {
  /** A try found no way to a server. */
  failed(failure: FailureKind | undefined): void;
  /** Looks when it is time to; to be called at least when `waitMs` has passed. */
  poll(state: BreakerState, signal: AbortSignal): void;
  /** Milliseconds until the next look; infinite while there is nothing to look for. */
  waitMs(state: BreakerState): number;
}

export interface LineWatchOptions {
  readonly look: CloudClient['look'];
  readonly clock: Clock;
  readonly metrics: DeliveryMetrics;
  readonly onUp: () => void;
}

/** So often, and a little for connecting: the first event is on its way within 5 s. */
const everyMs = 4_000;

/** Failures that only a server which takes no connections can cause. */
const nobodyThere: ReadonlySet<FailureKind> = new Set(['dns', 'refused', 'unreachable']);

export function createLineWatch({ look, clock, metrics, onUp }: LineWatchOptions): LineWatch {
  let place: Place = 'base';
  /** What the last look or try found; undefined before the first. */
  let reachable: boolean | undefined;
  let nextMono = 0;
  let looking = false;

  const watches = ({ state, trouble }: BreakerState) => state !== 'closed' && trouble === 'unreachable';

  function found(is: boolean): void {
    metrics.looks.inc({ outcome: is ? 'reachable' : 'unreachable' });
    const isNews = is && reachable === false;
    reachable = is;
    if (isNews) onUp();
  }

  return {
    failed(failure) {
      const failedAt: Place = failure === 'token_unreachable' ? 'auth' : 'base';
      if (failedAt !== place) reachable = undefined;
      place = failedAt;
      if (failure !== undefined && nobodyThere.has(failure)) reachable = false;
    },
    poll(state, signal) {
      if (!watches(state)) {
        reachable = undefined;
        nextMono = clock.monotonic() + everyMs;
        return;
      }
      if (looking || clock.monotonic() < nextMono) return;
      looking = true;
      nextMono = clock.monotonic() + everyMs;
      const asked = place;
      // It never rejects.
      void look(asked, signal).then((is) => {
        looking = false;
        if (asked === place && !signal.aborted) found(is);
      });
    },
    waitMs: (state) => (watches(state) ? Math.max(0, nextMono - clock.monotonic()) : Number.POSITIVE_INFINITY),
  };
}
