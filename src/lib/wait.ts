import { SitewardError } from '#errors.ts';

/** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. Long waits are cut at 2^31-1 ms. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(done, Math.min(Math.max(0, ms), 2 ** 31 - 1));
    signal.addEventListener('abort', aborted, { once: true });
    function done() {
      signal.removeEventListener('abort', aborted);
      resolve();
    }
    function aborted() {
      clearTimeout(timer);
      reject(signal.reason);
    }
  });
}

/**
 * Runs `work` under its own deadline. The work gets a signal that aborts at the deadline or with `signal`; the
 * returned promise settles then in any case, also when the work ignores its signal (undici does while connecting).
 */
export async function withDeadline<T>(
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  what = 'the work',
): Promise<T> {
  const own = new AbortController();
  const combined = AbortSignal.any([signal, own.signal]);
  const timer = setTimeout(
    () => own.abort(new SitewardError('deadline', `${what} took longer than ${ms} ms`, { facts: { ms } })),
    ms,
  );
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(combined.reason);
    if (combined.aborted) onAbort();
    else combined.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work(combined), aborted]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) combined.removeEventListener('abort', onAbort);
  }
}

/** As `work`; rejects with the signal's reason as soon as it aborts, whatever becomes of the work. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const aborted = () => reject(signal.reason);
    signal.addEventListener('abort', aborted, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
}

/** A signal that never aborts, for work that nothing but its own deadline ends. */
export const never = (): AbortSignal => new AbortController().signal;

/** A latch that wakes whoever waits on it; several calls before the wait count as one. */
export interface Wakeup {
  wake(): void;
  /** Resolves at the next `wake`, at once if one is pending, or after `ms`. Rejects when the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export function wakeup(): Wakeup {
  let pending = false;
  let release: (() => void) | undefined;
  return {
    wake() {
      pending = true;
      release?.();
    },
    wait(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        if (pending) {
          pending = false;
          return resolve();
        }
        const timer = setTimeout(done, Math.min(Math.max(0, ms), 2 ** 31 - 1));
        release = done;
        signal.addEventListener('abort', aborted, { once: true });
        function done() {
          clear();
          pending = false;
          resolve();
        }
        function aborted() {
          clear();
          reject(signal.reason);
        }
        function clear() {
          clearTimeout(timer);
          signal.removeEventListener('abort', aborted);
          release = undefined;
        }
      });
    },
  };
}
