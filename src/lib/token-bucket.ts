import { BoundedMap } from './bounded.ts';
import type { Clock } from './clock.ts';

/** How often something may happen, per subject: `burst` at once, then `perSecond`. Over `cap` subjects the oldest starts anew. */
export interface RateLimit {
  /** True when it may happen, and then it counts. */
  take(subject: string): boolean;
}

export function rateLimit(options: { clock: Clock; burst: number; perSecond: number; cap: number }): RateLimit {
  const { clock, burst, perSecond, cap } = options;
  const buckets = new BoundedMap<string, { tokens: number; atMono: number }>(cap);
  return {
    take(subject) {
      const atMono = clock.monotonic();
      const before = buckets.get(subject) ?? { tokens: burst, atMono };
      const tokens = Math.min(burst, before.tokens + ((atMono - before.atMono) / 1000) * perSecond);
      const may = tokens >= 1;
      buckets.set(subject, { tokens: may ? tokens - 1 : tokens, atMono });
      return may;
    },
  };
}
