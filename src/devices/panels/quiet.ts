import type { Clock } from '#lib/clock.ts';

/** For how long nothing was said of each of these, on the monotonic clock. Time without a line is no silence. */
export interface Quiet<T> {
  heard(one: T): void;
  /** Nothing can be heard for now, or can again. */
  listening(is: boolean): void;
  /** Milliseconds; 0 while nothing can be heard. */
  ms(one: T): number;
}

/** All begin with the moment of the call: nobody can tell what was said before. */
export function createQuiet<T>(clock: Clock, of: Iterable<T>): Quiet<T> {
  const heardMono = new Map<T, number>();
  for (const one of of) heardMono.set(one, clock.monotonic());
  let deafSince: number | undefined = clock.monotonic();
  return {
    heard(one) {
      if (heardMono.has(one)) heardMono.set(one, clock.monotonic());
    },
    listening(is) {
      const now = clock.monotonic();
      if (!is) deafSince ??= now;
      else if (deafSince !== undefined) {
        for (const [one, mono] of heardMono) heardMono.set(one, mono + now - Math.max(deafSince, mono));
        deafSince = undefined;
      }
    },
    ms: (one) => (deafSince === undefined ? clock.monotonic() - (heardMono.get(one) ?? 0) : 0),
  };
}
