import { SitewardError } from '#errors.ts';

/** Asked again by then, it may well be let in. */
const againMs = 5000;

/** Runs one work at a time; rejects with `queue_full` for any other. `what`: what is under way then. */
export function alone(what: string): <T>(work: () => Promise<T>) => Promise<T> {
  let isBusy = false;
  return async (work) => {
    if (isBusy)
      throw new SitewardError('queue_full', `${what}; try again in a moment`, { facts: { retryAfterMs: againMs } });
    isBusy = true;
    try {
      return await work();
    } finally {
      isBusy = false;
    }
  };
}
