import type { Clock } from '#lib/clock.ts';

/** How many things happen per minute. */
export interface Rate {
  count(): void;
  /** Over the last five minutes; over what has passed, at least one, while that is less. */
  perMin(): number;
}

const minuteMs = 60_000;
const spanMs = 5 * minuteMs;
/** The span is moved on in steps of this length. */
const stepMs = 10_000;
const steps = spanMs / stepMs;

/** Counts in a ring of steps, on the monotonic clock: a memory of fixed size. */
export function createRate({ clock }: { clock: Clock }): Rate {
  const counts = new Array<number>(steps).fill(0);
  const startMono = clock.monotonic();
  let step = 0;

  /** Empties the steps that have passed since the last look. */
  function moveOn(): void {
    const now = Math.floor((clock.monotonic() - startMono) / stepMs);
    for (let next = Math.max(step + 1, now - steps + 1); next <= now; next += 1) counts[next % steps] = 0;
    step = Math.max(step, now);
  }

  return {
    count() {
      moveOn();
      counts[step % steps] = (counts[step % steps] ?? 0) + 1;
    },
    perMin() {
      moveOn();
      const passedMs = Math.min(spanMs, Math.max(minuteMs, clock.monotonic() - startMono));
      const total = counts.reduce((sum, count) => sum + count, 0);
      return Math.round((total / passedMs) * minuteMs * 10) / 10;
    },
  };
}
