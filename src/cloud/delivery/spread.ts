import type { Clock } from '#lib/clock.ts';
import { belowAlarms, belowFresh } from './queue.ts';

/**
 * After an outage of more than a minute a whole fleet finds its cloud back in the same moment. Alarms that happen now
 * leave at once; alarms that waited begin within 2 s, everything else within 30 s, each bridge at a moment of its own.
 */
export interface Spread {
  /** The cloud takes events again. */
  outageEnded(lastedMs: number): void;
  /** A person wants to see it work: nothing waits any more. */
  end(): void;
  /** Events of ranks below this may leave now. */
  belowRank(): number;
  /** Milliseconds until more may leave; 0 when all may. */
  waitMs(): number;
}

const longMs = 60_000;
const alarmsWithinMs = 2_000;
const othersWithinMs = 30_000;

export function createSpread({ clock, random }: { clock: Clock; random: () => number }): Spread {
  let alarmsMono = 0;
  let othersMono = 0;
  const left = (mono: number) => Math.max(0, mono - clock.monotonic());
  return {
    outageEnded(lastedMs) {
      if (lastedMs <= longMs) return;
      alarmsMono = clock.monotonic() + random() * alarmsWithinMs;
      othersMono = clock.monotonic() + random() * othersWithinMs;
    },
    end() {
      alarmsMono = 0;
      othersMono = 0;
    },
    belowRank() {
      if (left(alarmsMono) > 0) return belowFresh;
      return left(othersMono) > 0 ? belowAlarms : Number.POSITIVE_INFINITY;
    },
    waitMs: () => left(alarmsMono) || left(othersMono),
  };
}
