import type { Clock } from '#lib/clock.ts';
import { sleep } from '#lib/wait.ts';

/** Never more than so many subscriptions asked for in one window: each may take one of a camera's few slots. */
export interface CreateLimit {
  /** Resolves when one more may be asked for, and counts it. */
  wait(signal: AbortSignal): Promise<void>;
}

export function createLimit(options: { clock: Clock; perWindow: number; windowMs: number }): CreateLimit {
  const { clock, perWindow, windowMs } = options;
  const asked: number[] = [];
  return {
    async wait(signal) {
      const oldest = asked.at(-perWindow);
      if (oldest !== undefined) await sleep(oldest + windowMs - clock.monotonic(), signal);
      signal.throwIfAborted();
      asked.push(clock.monotonic());
      if (asked.length > perWindow) asked.shift();
    },
  };
}
