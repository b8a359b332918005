import type { Clock } from '#lib/clock.ts';
import type { LinkTrouble } from './status-table.ts';

/** Why an origin rests, and how long. */
export interface Rest {
  readonly trouble: LinkTrouble;
  readonly fromMs: number;
  readonly toMs: number;
  readonly endsWithLink: boolean;
  readonly reason: string;
  /** What the server asked for, milliseconds. Nothing shortens it. */
  readonly retryAfterMs: number | undefined;
  /** The rest ends when the token source will ask again; it is no failure of this origin and lengthens no later rest. */
  readonly tokenWaitMs?: number | undefined;
}

/**
 * Holds requests to one origin back while it fails. Open: nothing is sent. Half-open: one probe. Closed: as many side
 * by side as the slow start allows. Waits are on the monotonic clock, jittered, and always end.
 */
export interface Breaker {
  /** How many requests may be under way now: 0 while resting, 1 for a probe, then one more with each success. */
  limit(): number;
  /** Milliseconds until the next probe is due; 0 when something may be sent. */
  waitMs(): number;
  /** An acceptance of a request that began at `sentMono`. */
  succeeded(sentMono: number): void;
  failed(rest: Rest, sentMono: number): void;
  /** News of the line: a rest that ends with it ends now, unless the server asked for a pause. */
  linkUp(): void;
  /** Ends every rest: a person has changed something. */
  clear(): void;
  /** An alarm waits: a rest may not last longer than a minute since the last try. */
  hurry(): void;
  state(): BreakerState;
}

export interface BreakerState {
  readonly state: 'closed' | 'open' | 'half-open';
  readonly trouble?: LinkTrouble;
  readonly reason?: string;
  /** Monotonic milliseconds since when nothing was accepted. */
  readonly sinceMono?: number;
}

/** Moments are monotonic milliseconds. */
interface Open {
  readonly rest: Rest;
  readonly triedMono: number;
  readonly sinceMono: number;
  /** When the server last asked for a pause: what was sent before then says nothing of it. */
  askedMono: number;
  /** The end of that pause. */
  earliestMono: number;
  untilMono: number;
}

export interface BreakerOptions {
  readonly clock: Clock;
  /** Most requests side by side. */
  readonly slots: number;
  readonly random: () => number;
}

const hurryMs = 60_000;
/** What a server asks for is honoured up to a day. */
export const retryAfterCapMs = 24 * 3_600_000;

export function createBreaker(options: BreakerOptions): Breaker {
  const { clock, slots, random } = options;
  let open: Open | undefined;
  let failures = 0;
  let allowed = slots;

  const waitMs = () => (open === undefined ? 0 : Math.max(0, open.untilMono - clock.monotonic()));

  function jittered(rest: Rest): number {
    const step = Math.min(rest.toMs, rest.fromMs * 2 ** Math.min(failures, 30));
    // Where somebody must change something first there is no hurry; a fleet on one service comes back spread over the whole step.
    const fixed = rest.endsWithLink ? 0 : 0.5;
    return step * (fixed + random() * (1 - fixed));
  }

  /** What the server asked for, and more, so that a fleet does not come back in the same second. */
  function pauseOf({ retryAfterMs }: Rest): number {
    const asked = Math.min(retryAfterMs ?? 0, retryAfterCapMs);
    return asked > 0 ? Math.max(asked, 1_000) * (1 + random() * 0.2) + random() * 1_000 : 0;
  }

  return {
    limit: () => (open === undefined ? allowed : waitMs() === 0 ? 1 : 0),
    waitMs,
    succeeded(sentMono) {
      // An answer to an earlier request does not end a pause the server has asked for since.
      if (open !== undefined && clock.monotonic() < open.earliestMono && sentMono < open.askedMono) return;
      if (open !== undefined) allowed = 1;
      else allowed = Math.min(slots, allowed + 1);
      open = undefined;
      failures = 0;
    },
    failed(rest, sentMono) {
      const now = clock.monotonic();
      const pauseMs = pauseOf(rest);
      // Several requests of one outage fail together: they count once, but a pause that any of them asks for is kept.
      if (open !== undefined && sentMono < open.triedMono) {
        if (pauseMs === 0) return;
        open.askedMono = now;
        open.earliestMono = Math.max(open.earliestMono, now + pauseMs);
        open.untilMono = Math.max(open.untilMono, open.earliestMono);
        return;
      }
      const own = rest.tokenWaitMs === undefined ? jittered(rest) : rest.tokenWaitMs + random() * 250;
      if (rest.tokenWaitMs === undefined) failures += 1;
      allowed = Math.max(1, Math.floor(allowed / 2));
      // A probe may fail while a pause runs that an older request was asked for meanwhile.
      const earliestMono = Math.max(open?.earliestMono ?? 0, now + pauseMs);
      open = {
        ...{ rest, earliestMono, untilMono: Math.max(now + own, earliestMono) },
        ...{ triedMono: now, askedMono: now, sinceMono: open?.sinceMono ?? now },
      };
    },
    linkUp() {
      if (open?.rest.endsWithLink !== true) return;
      open.untilMono = Math.min(open.untilMono, Math.max(open.earliestMono, clock.monotonic()));
      failures = 0;
    },
    clear() {
      if (open === undefined) return;
      open.untilMono = clock.monotonic();
      failures = 0;
    },
    hurry() {
      if (open?.rest.endsWithLink !== true) return;
      open.untilMono = Math.min(open.untilMono, Math.max(open.earliestMono, open.triedMono + hurryMs));
    },
    state() {
      if (open === undefined) return { state: 'closed' };
      return {
        state: waitMs() === 0 ? 'half-open' : 'open',
        trouble: open.rest.trouble,
        reason: open.rest.reason,
        sinceMono: open.sinceMono,
      };
    },
  };
}
