import type { Logger } from 'pino';
import type { CloudClient } from '#cloud/client/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { WireFailure } from '#lib/contract/client.ts';
import type { Breaker } from './breaker.ts';
import { type LinkTrouble, rowFor } from './status-table.ts';

/** `up` false: events are held back for `reason`. Called only when something changed. */
export type OnLink = (up: boolean, reason: string, trouble?: LinkTrouble) => void;

/** What is known about the way to the cloud, told to others once per change. */
export interface Link {
  /** Looks at the breaker after a try. */
  update(): void;
  /**
   * The heartbeat: with nothing to send, looks each `heartbeatMs` whether the cloud answers and gives a token, so that a cut line or a
   * wrong key shows before the first alarm.
   */
  check(signal: AbortSignal, done: () => void): void;
  /** Milliseconds until the next `check` does something. */
  waitMs(): number;
  /** The next `check` asks at once. */
  recheck(): void;
  word(): 'up' | 'down' | 'unknown';
  fault(): string | undefined;
}

export function createLink(options: {
  breaker: Breaker;
  cloud: Pick<CloudClient, 'probe' | 'eventTokens'>;
  log: Logger;
  clock: Clock;
  /** Milliseconds between two looks at an idle line. */
  heartbeatMs: number;
  onLink: OnLink;
}): Link {
  const { breaker, cloud, log, clock, heartbeatMs } = options;
  let told: string | undefined;
  let up: boolean | undefined;
  let reason = '';
  let checkedMono = Number.NEGATIVE_INFINITY;

  function tell(isUp: boolean, why: string, trouble?: LinkTrouble): void {
    up = isUp;
    reason = why;
    const key = isUp ? 'up' : (trouble ?? 'down');
    if (key === told) return;
    told = key;
    if (isUp) log.info('the cloud takes events');
    else log.warn({ trouble, reason: why }, 'events are held back');
    options.onLink(isUp, why, trouble);
  }

  async function look(signal: AbortSignal): Promise<void> {
    const unreachable = await cloud.probe(signal);
    if (unreachable !== undefined) return tell(false, unreachable.message, troubleOf(unreachable));
    const token = await cloud.eventTokens.get(signal);
    if (token.kind === 'token') return tell(true, 'the cloud answers and the token server takes the credentials');
    tell(false, token.message, troubleOf(token));
  }

  return {
    update() {
      // A try has just shown how the line is.
      checkedMono = clock.monotonic();
      const state = breaker.state();
      if (state.state === 'closed') tell(true, 'the cloud takes events');
      else tell(false, state.reason ?? '', state.trouble);
    },
    check(signal, done) {
      if (clock.monotonic() - checkedMono < heartbeatMs) return;
      checkedMono = clock.monotonic();
      look(signal)
        .then(done)
        // Only the end of the daemon rejects.
        .catch(() => {});
    },
    waitMs: () => Math.max(0, checkedMono + heartbeatMs - clock.monotonic()),
    recheck() {
      checkedMono = Number.NEGATIVE_INFINITY;
    },
    word: () => (up === undefined ? 'unknown' : up ? 'up' : 'down'),
    fault: () => (up === false ? reason : undefined),
  };
}

/** As a try would find it. */
function troubleOf({ failure }: WireFailure): LinkTrouble {
  const { action } = rowFor({ failure });
  return action.do === 'rest' ? action.trouble : 'unreachable';
}
