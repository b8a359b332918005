export interface Deadline {
  readonly signal: AbortSignal;
  /** It is far away again: something has come. */
  moved(ms: number): void;
  /** Nothing is waited for any more. */
  clear(): void;
}

/**
 * Aborted after the time (milliseconds), or with the first of the signals. Only what browsers have since 2022: AbortSignal.any
 * came later.
 */
export function deadlineOf(ms: number, ...signals: readonly AbortSignal[]): Deadline {
  const ends = new AbortController();
  const late = () => ends.abort(new DOMException('it took too long', 'TimeoutError'));
  let timer = setTimeout(late, ms);
  for (const signal of signals) {
    const end = () => {
      clearTimeout(timer);
      ends.abort(signal.reason);
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true, signal: ends.signal });
  }
  return {
    signal: ends.signal,
    moved(nextMs) {
      clearTimeout(timer);
      if (!ends.signal.aborted) timer = setTimeout(late, nextMs);
    },
    clear: () => clearTimeout(timer),
  };
}
