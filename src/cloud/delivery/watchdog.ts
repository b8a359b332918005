import type { Clock } from '#lib/clock.ts';

/**
 * Events wait, requests may be made, and for ten minutes nothing has come of any: then every connection is given up
 * for a fresh one, since the old ones may be half-open in a way that no deadline has caught.
 */
export interface Watchdog {
  /** An event has got its verdict. */
  progress(): void;
  check(state: { readonly waiting: boolean; readonly maySend: boolean }): void;
}

const patienceMs = 600_000;

export function createWatchdog({ clock, renew }: { clock: Clock; renew: (stalledMs: number) => void }): Watchdog {
  let sinceMono = clock.monotonic();
  return {
    progress() {
      sinceMono = clock.monotonic();
    },
    check({ waiting, maySend }) {
      const now = clock.monotonic();
      // A rest is no stall; what comes after it gets the whole time.
      if (!waiting || !maySend) sinceMono = now;
      if (now - sinceMono < patienceMs) return;
      renew(now - sinceMono);
      sinceMono = now;
    },
  };
}
