import { BoundedMap } from './bounded.ts';
import type { Clock } from './clock.ts';

/** `burst` at once, then `perSecond`. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

export interface Bucket {
  /** True when it may happen at `now`, by the monotonic clock, and then it counts. `spare`: so many are left for others. */
  take(now: number, spare?: number): boolean;
}

export function bucket({ burst, perSecond }: Rate): Bucket {
  let tokens = burst;
  let last = 0;
  return {
    take(now, spare = 0) {
      tokens = Math.min(burst, tokens + ((now - last) / 1000) * perSecond);
      last = now;
      if (tokens < 1 + spare) return false;
      tokens -= 1;
      return true;
    },
  };
}

/** How often something may happen, per subject. Over `cap` subjects the oldest starts anew. */
export interface RateLimit {
  /** True when it may happen, and then it counts. */
  take(subject: string): boolean;
}

export function rateLimit({ clock, cap, ...rate }: Rate & { clock: Clock; cap: number }): RateLimit {
  const buckets = new BoundedMap<string, Bucket>(cap);
  return {
    take(subject) {
      const one = buckets.get(subject) ?? bucket(rate);
      buckets.set(subject, one);
      return one.take(clock.monotonic());
    },
  };
}
