/** Exponential waits with equal jitter: half the step is fixed, half is random. Delays in milliseconds; `reset` after a success. */
export interface Backoff {
  /** The wait before the next try: uniform between half the step and the step, doubling up to the cap. */
  next(): number;
  reset(): void;
}

export function backoff(options: { baseMs: number; capMs: number; random?: () => number }): Backoff {
  const random = options.random ?? Math.random;
  let failures = 0;
  return {
    next() {
      const step = Math.min(options.capMs, options.baseMs * 2 ** Math.min(failures, 30));
      failures += 1;
      return step / 2 + random() * (step / 2);
    },
    reset() {
      failures = 0;
    },
  };
}
