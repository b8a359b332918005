/** Runs `work`, which never rejects, once per request and never twice at a time; requests that come meanwhile count as one more. */
export function oneAtATime(work: () => Promise<void>): {
  /** Resolves when work that began after the request has ended. */
  request(): Promise<void>;
} {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const begin = (): Promise<void> => {
    next = undefined;
    running = work().finally(() => {
      if (next === undefined) running = undefined;
    });
    return running;
  };
  return {
    request() {
      if (running === undefined) return begin();
      next ??= running.then(begin);
      return next;
    },
  };
}
