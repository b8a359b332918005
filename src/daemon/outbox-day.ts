import type { OutboxHistory } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { OutboxCount } from './outbox-count.ts';

/** The outbox over the last day, in memory: it begins anew with each start of siteward. */
export interface OutboxDay {
  /**
   * The cloud accepted an event that everybody may know of, so many milliseconds after it was made; undefined where its time
   * was taken by the clock of an earlier boot.
   */
  accepted(latencyMs: number | undefined): void;
  /** Counts what waits, at most once a minute however often it is called. Never rejects. */
  look(): Promise<void>;
  shown(): OutboxHistory;
}

const everyMs = 300_000;
const daySteps = 288;
const lookMs = 60_000;
/** Ticks come by the wall clock, so that two of them may lie a little less than a minute apart. */
const slackMs = 5_000;

/** Limits of latency grow by a tenth, from 1 ms to some 13 days: so exact is what is told of it. */
const growth = Math.log(1.1);
const lastClass = 220;

interface Step {
  /** Number of the step since the start. */
  readonly nth: number;
  waiting: number | null;
  oldestS: number | null;
  accepted: number;
  /** How many events by the class of their latency. */
  readonly latencies: Map<number, number>;
  longestMs: number;
}

/**
 * Steps are counted on the monotonic clock, and their times told by the wall clock of whoever asks: one that was set moves all
 * of them, and changes neither their order nor their distance.
 */
export function outboxDay({ count, clock }: { count: OutboxCount; clock: Clock }): OutboxDay {
  const startMono = clock.monotonic();
  /** Oldest first; those in which siteward did not run are missing. */
  const steps: Step[] = [];
  let lookedMono = Number.NEGATIVE_INFINITY;

  const nthNow = () => Math.floor((clock.monotonic() - startMono) / everyMs);

  function forget(): void {
    const first = nthNow() - daySteps + 1;
    while (steps[0] !== undefined && steps[0].nth < first) steps.shift();
  }

  function current(): Step {
    forget();
    const nth = nthNow();
    const last = steps.at(-1);
    if (last?.nth === nth) return last;
    const step: Step = { nth, waiting: null, oldestS: null, accepted: 0, latencies: new Map(), longestMs: 0 };
    steps.push(step);
    return step;
  }

  return {
    accepted(latencyMs) {
      const step = current();
      step.accepted += 1;
      if (latencyMs === undefined) return;
      const of = classOf(latencyMs);
      step.latencies.set(of, (step.latencies.get(of) ?? 0) + 1);
      step.longestMs = Math.max(step.longestMs, latencyMs);
    },

    async look() {
      const now = clock.monotonic();
      if (now - lookedMono < lookMs - slackMs) return;
      lookedMono = now;
      // That siteward ran is known also where the disk does not answer.
      current();
      const stats = await count();
      if (typeof stats === 'string') return;
      const step = current();
      const waiting = Object.values(stats.pending).reduce((sum, one) => sum + one, 0);
      const oldestS = stats.oldest === undefined ? 0 : Math.max(0, Math.round((clock.wall() - stats.oldest) / 1000));
      step.waiting = Math.max(step.waiting ?? 0, waiting);
      step.oldestS = Math.max(step.oldestS ?? 0, oldestS);
    },

    shown() {
      forget();
      const startWall = clock.wall() - (clock.monotonic() - startMono);
      return { every_s: everyMs / 1000, items: steps.map((step) => itemOf(step, startWall + step.nth * everyMs)) };
    },
  };
}

const classOf = (ms: number): number => Math.min(lastClass, Math.ceil(Math.log(Math.max(1, ms)) / growth));

function itemOf(step: Step, startedWall: number): OutboxHistory['items'][number] {
  const { waiting, oldestS, accepted } = step;
  return {
    at: new Date(Math.round(startedWall)).toISOString(),
    ...{ waiting, oldest_s: oldestS, accepted },
    latency_ms: step.latencies.size === 0 ? null : { p50: exceededBy(0.5, step), p95: exceededBy(0.05, step) },
  };
}

/** The latency, milliseconds, that at most this share of the events exceeded; too high by a tenth at most. */
function exceededBy(share: number, { latencies, longestMs }: Step): number {
  const byClass = [...latencies].sort(([a], [b]) => a - b);
  const total = byClass.reduce((sum, [, many]) => sum + many, 0);
  let seen = 0;
  for (const [of, many] of byClass) {
    seen += many;
    const limitMs = of === lastClass ? longestMs : Math.min(longestMs, Math.exp(of * growth));
    if (total - seen <= total * share) return Math.round(limitMs);
  }
  return Math.round(longestMs);
}
