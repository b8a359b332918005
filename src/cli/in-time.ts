import { SitewardError } from '#errors.ts';

/**
 * Does the work within the time, in milliseconds. Throws `cloud_unreachable` where that ends first: nobody knows then how far it
 * came. `longer` says how to give it more time.
 */
export async function inTime<T>(ms: number, work: (signal: AbortSignal) => Promise<T>, longer = ''): Promise<T> {
  try {
    return await work(AbortSignal.timeout(ms));
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'TimeoutError')) throw error;
    const words = `no answer within ${ms / 1000} s${longer}. Look whether it was done before doing it again`;
    throw new SitewardError('cloud_unreachable', words);
  }
}
