import { schedule } from 'node-cron';
import type { Logger } from 'pino';
import { type Health, ok, type Part } from './health.ts';

export interface Tick {
  readonly name: string;
  /** Cron expression with five or six fields, read in UTC: periodic work only, never a site's local time. */
  readonly cron: string;
  run(): void | Promise<void>;
}

/** Periodic housekeeping. A run that is still going when its next one is due is not started twice. */
export function createTicks(options: { ticks: readonly Tick[]; log: Logger }): Part {
  const { ticks, log } = options;
  let stops: (() => void | Promise<void>)[] = [];

  async function runOne(tick: Tick): Promise<void> {
    try {
      await tick.run();
    } catch (error) {
      log.error({ tick: tick.name, err: error }, 'periodic work failed; it runs again at its next time');
    }
  }

  return {
    name: 'ticks',
    async start() {
      stops = ticks.map((tick) => {
        const task = schedule(tick.cron, () => runOne(tick), { timezone: 'UTC', noOverlap: true, name: tick.name });
        return () => task.destroy();
      });
    },
    async stop() {
      await Promise.all(stops.map((stop) => stop()));
      stops = [];
    },
    health(): Health {
      return ok({ ticks: ticks.length });
    },
  };
}
