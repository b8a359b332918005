import type { Timing } from './timing.ts';

/** How long a camera can hold a pull open: as configured, or what it was found to bear. */
export interface HoldTime {
  readonly ms: number;
  /** What was found, and when (wall clock). */
  readonly found: { readonly ms: number; readonly at: number } | undefined;
  use(found: HoldTime['found']): void;
  /** The connection was cut after so long; returns how long to hold the next try. */
  cut(heldMs: number): number;
  /** A pull was answered; `afterCut` when it was that next try. */
  held(ms: number, afterCut: boolean): void;
}

export function holdTime(
  timing: Pick<Timing, 'leastPullMs'>,
  options: { configuredMs: number; wall: () => number },
): HoldTime {
  const { configuredMs, wall } = options;
  let found: HoldTime['found'];
  let suspected: HoldTime['found'];
  const bears = (ms: number) => Math.min(configuredMs, Math.max(timing.leastPullMs, ms));
  return {
    get ms() {
      return bears(found?.ms ?? configuredMs);
    },
    get found() {
      return found;
    },
    use(earlier) {
      found = earlier;
    },
    cut(heldMs) {
      const shorter = { ms: Math.floor(Math.min(bears(found?.ms ?? configuredMs), heldMs * 0.8)), at: wall() };
      // A camera that goes away cuts its pull, too: one cut is a sign only when the next, shorter pull is answered.
      if (suspected !== undefined) found = shorter;
      suspected = shorter;
      return bears(shorter.ms);
    },
    held(ms, afterCut) {
      if (afterCut) found = suspected;
      if (afterCut || ms >= bears(found?.ms ?? configuredMs)) suspected = undefined;
    },
  };
}
