import { createTask, type ScheduledTask } from 'node-cron';
import type { Logger } from 'pino';
import { type Health, ok, type Part } from './health.ts';
import { sleep } from './wait.ts';

export interface Tick {
  readonly name: string;
  /** Cron expression with five or six fields, read in UTC: periodic work only, never a site's local time. */
  readonly cron: string;
  run(): void | Promise<void>;
  /** Also when the part starts. */
  readonly atOnce?: boolean;
}

/** The wall clock may be set while a tick is waited for; so late, at most, a tick comes after that. */
const lookMs = 10_000;

/**
 * Periodic housekeeping. A run that is still going when its next one is due is not started twice. node-cron says when a
 * tick is due and does not wait for it: its own timer (4.6.0) goes through every tick a clock was set over, some 180
 * microseconds each, and after a clock went back it waits for the time it had computed (ADR 0008). It counts from the clock of
 * the process and from no other, so that is the clock here too, in place of an injected one.
 */
export function createTicks(options: { ticks: readonly Tick[]; log: Logger }): Part {
  const { ticks, log } = options;
  /** Ticks whose next time could not be told; they are asked again and again. */
  const lost = new Set<string>();
  let stopping: AbortController | undefined;
  let following: readonly Promise<void>[] = [];

  async function runOne(tick: Tick): Promise<void> {
    try {
      await tick.run();
    } catch (error) {
      log.error({ tick: tick.name, err: error }, 'periodic work failed; it runs again at its next time');
    }
  }

  /** Tells the next time of a tick; undefined, and a word on it, where node-cron throws instead. */
  function nextOf(tick: Tick): { due(): number | undefined; end(): Promise<void> | void } {
    let task: ScheduledTask | undefined;
    return {
      due() {
        try {
          task ??= createTask(tick.cron, () => undefined, { timezone: 'UTC', name: tick.name });
          const due = task.getNextRuns(1)[0]?.getTime();
          lost.delete(tick.name);
          return due;
        } catch (error) {
          if (!lost.has(tick.name))
            log.error({ tick: tick.name, err: error }, 'the next time of periodic work is unknown; it is asked again');
          lost.add(tick.name);
          return undefined;
        }
      },
      end: () => task?.destroy(),
    };
  }

  /** Ends with the signal alone, when what runs then has ended. */
  async function follow(tick: Tick, signal: AbortSignal): Promise<void> {
    const next = nextOf(tick);
    while (!signal.aborted) {
      const due = next.due() ?? Number.POSITIVE_INFINITY;
      // Rejects with the signal alone, which the loop looks at.
      await sleep(Math.min(due - Date.now(), lookMs), signal).catch(() => undefined);
      if (!signal.aborted && Date.now() >= due) await runOne(tick);
    }
    await next.end();
  }

  return {
    name: 'ticks',
    async start() {
      stopping = new AbortController();
      const { signal } = stopping;
      await Promise.all(ticks.filter(({ atOnce }) => atOnce === true).map(runOne));
      following = ticks.map((tick) => follow(tick, signal));
    },
    async stop() {
      stopping?.abort(new Error('the ticks are stopping'));
      await Promise.allSettled(following);
    },
    health(): Health {
      const facts = { ticks: ticks.length };
      if (lost.size === 0) return ok(facts);
      const reason = `the next time of ${[...lost].join(', ')} is unknown; it is asked again every ${lookMs / 1000} s, see the log`;
      return { state: 'degraded', reason, facts };
    },
  };
}
