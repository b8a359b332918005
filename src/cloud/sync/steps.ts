import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { Clock } from '#lib/clock.ts';

/** Inputs that wait while one is decided on are those it causes itself, a few; above it the newest is given up. */
const cap = 100;
/** So long a step that failed is a matter of health: longer than it takes to come by and look. */
const toldMs = 600_000;

/** Inputs one after the other, also when one causes the next; one that throws takes none of the others with it. */
export interface Steps<I> {
  take(input: I): void;
  /** False where it threw, which is logged and counted. */
  guarded(work: () => void): boolean;
  /** Whether something failed within the last ten minutes. */
  hasFailed(): boolean;
}

export function createSteps<I>(options: {
  run: (input: I) => void;
  /** The input was not decided on, or not to its end. */
  givenUp: (input: I) => void;
  clock: Clock;
  log: Logger;
  metrics: Registry;
}): Steps<I> {
  const { run, givenUp, clock, log } = options;
  const waiting: I[] = [];
  let isRunning = false;
  let failedAt = Number.NEGATIVE_INFINITY;
  const failures = new Counter({
    name: 'siteward_arming_sync_failures_total',
    help: 'Steps of the arming sync that were not done, by why',
    labelNames: ['why'],
    registers: [options.metrics],
  });

  function failed(why: 'error' | 'overflow', error?: unknown): void {
    failedAt = clock.monotonic();
    failures.inc({ why });
    log.error({ why, err: error }, 'the arming sync could not do a step; it goes on with the next one');
  }

  function guarded(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      failed('error', error);
      return false;
    }
  }

  return {
    take(input) {
      if (waiting.length >= cap) {
        failed('overflow');
        givenUp(input);
        return;
      }
      waiting.push(input);
      if (isRunning) return;
      isRunning = true;
      try {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          const input = next;
          if (!guarded(() => run(input))) givenUp(input);
        }
      } finally {
        isRunning = false;
      }
    },
    guarded,
    hasFailed: () => clock.monotonic() - failedAt < toldMs,
  };
}
