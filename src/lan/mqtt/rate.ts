import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';

/** Token buckets by name: `perSecond` each, as many at once. At the cap of names the longest unused one is forgotten. */
export interface Rates {
  take(name: string): boolean;
}

export function rates(options: { readonly clock: Clock; readonly perSecond: number; readonly names: number }): Rates {
  const { clock, perSecond } = options;
  const buckets = new BoundedMap<string, { tokens: number; at: number }>(options.names);
  return {
    take(name) {
      const now = clock.monotonic();
      const bucket = buckets.get(name) ?? { tokens: perSecond, at: now };
      const tokens = Math.min(perSecond, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
      buckets.set(name, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
      return tokens >= 1;
    },
  };
}
