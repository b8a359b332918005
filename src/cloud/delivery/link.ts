import type { Logger } from 'pino';
import type { Clock } from '#lib/clock.ts';
import type { WireFailure } from '#lib/contract/client.ts';
import type { Breaker } from './breaker.ts';
import type { LinkTrouble } from './status-table.ts';

/** `up` false: events are held back for `reason`. Called only when something changed. */
export type OnLink = (up: boolean, reason: string, trouble?: LinkTrouble) => void;

/** What is known about the way to the cloud, told to others once per change. */
export interface Link {
  /** Looks at the breaker after a try. */
  update(): void;
  /**
   * With nothing to send, asks for a token now and then until one is had, so that a wrong key or a dead line shows
   * before the first alarm.
   */
  check(token: () => Promise<{ kind: 'token' } | WireFailure>, done: () => void): void;
  /** The next `check` asks at once. */
  recheck(): void;
  word(): 'up' | 'down' | 'unknown';
  fault(): string | undefined;
}

const checkEveryMs = 60_000;

export function createLink(options: { breaker: Breaker; log: Logger; clock: Clock; onLink?: OnLink }): Link {
  const { breaker, log, clock } = options;
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
    options.onLink?.(isUp, why, trouble);
  }

  return {
    update() {
      const state = breaker.state();
      if (state.state === 'closed') tell(true, 'the cloud takes events');
      else tell(false, state.reason ?? '', state.trouble);
    },
    check(token, done) {
      if (up === true || clock.monotonic() - checkedMono < checkEveryMs) return;
      checkedMono = clock.monotonic();
      token()
        .then((result) => {
          if (result.kind === 'token') tell(true, 'the token server takes the credentials');
          else tell(false, result.message, result.failure === 'token_refused' ? 'unauthorized' : 'unreachable');
          done();
        })
        // Only the end of the daemon rejects.
        .catch(() => {});
    },
    recheck() {
      checkedMono = Number.NEGATIVE_INFINITY;
    },
    word: () => (up === undefined ? 'unknown' : up ? 'up' : 'down'),
    fault: () => (up === false ? reason : undefined),
  };
}
