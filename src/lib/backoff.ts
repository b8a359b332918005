/** Exponential waits with a random share. Delays in milliseconds; `reset` after a success. */
export interface Backoff {
  /** The wait before the next try, of a step that doubles up to the cap: between half of it and all of it, or with `full` jitter between nothing and all of it. */
  next(): number;
  reset(): void;
}

export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
  readonly random?: () => number;
  /**
   * `equal` by default, for what only this box waits for. `full` where many boxes wait for one service: they come back
   * spread over the whole step.
   */
  readonly jitter?: 'equal' | 'full';
}

export function backoff({ baseMs, capMs, random = Math.random, jitter = 'equal' }: BackoffOptions): Backoff {
  const fixed = jitter === 'full' ? 0 : 0.5;
  let failures = 0;
  return {
    next() {
      const step = Math.min(capMs, baseMs * 2 ** Math.min(failures, 30));
      failures += 1;
      return step * (fixed + random() * (1 - fixed));
    },
    reset() {
      failures = 0;
    },
  };
}
