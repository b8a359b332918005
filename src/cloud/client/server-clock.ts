import type { Clock } from '#lib/clock.ts';

/** The token server's idea of the time, learned from its answers. Never sets any clock. */
export interface ServerClock {
  /** Server minus local wall clock, milliseconds; 0 below 3 s, because the header counts whole seconds. */
  offsetMs(): number;
  /** Takes the `Date` header of an answer that surely came from the server. */
  learn(sample: { date: string | undefined; sentMono: number; headMono: number }): void;
  /** Forgets all samples but the newest: the server has just said that our time is wrong. */
  trustNewest(): void;
}

const samplesKept = 5;
const ignoredMs = 3_000;

/**
 * Samples are kept as server time minus monotonic time, so that a step of the local wall clock (NTP after a boot in
 * 1970) is seen at once and needs no new sample.
 */
export function serverClock(clock: Clock): ServerClock {
  let samples: number[] = [];
  return {
    offsetMs() {
      if (samples.length === 0) return 0;
      const sorted = [...samples].sort((a, b) => a - b);
      const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
      const offset = median + clock.monotonic() - clock.wall();
      return Math.abs(offset) < ignoredMs ? 0 : Math.round(offset);
    },
    learn({ date, sentMono, headMono }) {
      const server = Date.parse(date ?? '');
      if (Number.isNaN(server)) return;
      samples = [...samples, server - (sentMono + headMono) / 2].slice(-samplesKept);
    },
    trustNewest() {
      samples = samples.slice(-1);
    },
  };
}
