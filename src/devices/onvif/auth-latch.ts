import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';

/**
 * Keeps siteward from locking a camera's account: after two refused tries nothing is tried for `holdMs`, then one try is
 * allowed. A changed configuration makes a new session and with it a new latch.
 */
export interface AuthLatch {
  /** Throws `camera_auth` while closed, `camera_fault` during a rest. */
  check(): void;
  /** A request with credentials was refused; true when the latch is closed now. */
  refused(): boolean;
  accepted(): void;
  /** Goes on where an earlier run was. */
  resume(refusals: number, leftMs: number): void;
  /** That count against the next one. */
  readonly refusals: number;
  /** Closes at once, for instance when the camera wants credentials and none are configured. */
  close(reason: string): void;
  /** A refusal that says nothing about the password: nothing is tried for `ms`, and nothing is counted. `check` then throws `camera_fault`. */
  rest(reason: string, ms: number): void;
  /** Milliseconds until the next try is allowed; 0 when open. */
  readonly leftMs: number;
  error(): SitewardError;
}

const triesAllowed = 2;

export function authLatch(clock: Clock, holdMs: number): AuthLatch {
  let refusals = 0;
  let until = 0;
  let reason = 'the user name or password was refused';
  let resting: string | undefined;
  const latch: AuthLatch = {
    check() {
      if (latch.leftMs > 0) throw latch.error();
    },
    refused() {
      refusals += 1;
      if (refusals < triesAllowed) return false;
      // The next refusal after the pause closes the latch again at once.
      refusals = triesAllowed - 1;
      resting = undefined;
      until = clock.monotonic() + holdMs;
      return true;
    },
    accepted() {
      refusals = 0;
      until = 0;
    },
    resume(count, leftMs) {
      refusals = Math.max(0, Math.min(count, triesAllowed - 1));
      until = clock.monotonic() + leftMs;
    },
    get refusals() {
      return refusals;
    },
    close(why) {
      reason = why;
      resting = undefined;
      until = clock.monotonic() + holdMs;
    },
    rest(why, ms) {
      resting = why;
      until = clock.monotonic() + ms;
    },
    get leftMs() {
      return Math.max(0, until - clock.monotonic());
    },
    error() {
      const facts = { retryInS: Math.ceil(latch.leftMs / 1000) };
      return resting === undefined
        ? new SitewardError(
            'camera_auth',
            `The camera does not let siteward in: ${reason}. Correct username and password`,
            { facts },
          )
        : new SitewardError('camera_fault', `The camera does not let siteward in yet: ${resting}`, { facts });
    },
  };
  return latch;
}
