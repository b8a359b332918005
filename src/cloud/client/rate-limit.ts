import type { Clock } from '#lib/clock.ts';
import type { Transport } from '#lib/contract/client.ts';
import type { Operation } from '#lib/contract/operation.ts';
import { sleep } from '#lib/wait.ts';

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Calls that manage; events, tokens, audio and commands to partitions never wait here. */
const limited = (operation: Operation): boolean =>
  operation.auth.includes('partner') || operation.auth.includes('user');

/** Our own limit on management calls, so that a loop of ours is no load on the service: a token bucket. */
export function rateLimited(transport: Transport, { perSecond, burst }: Rate, clock: Clock): Transport {
  /** When the bucket will be full again; each call moves it by one share of a second. */
  let fullAt = Number.NEGATIVE_INFINITY;
  const shareMs = 1000 / perSecond;
  return async (request) => {
    if (!limited(request.operation)) return transport(request);
    const now = clock.monotonic();
    fullAt = Math.max(fullAt, now) + shareMs;
    const waitMs = fullAt - burst * shareMs - now;
    if (waitMs > 0) await sleep(waitMs, request.signal);
    return transport(request);
  };
}
