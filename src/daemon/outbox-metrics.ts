import { Gauge, type Registry } from 'prom-client';
import type { Clock } from '#lib/clock.ts';
import { lanes } from '#site/model/index.ts';
import type { LaneStats } from '#site/store/index.ts';
import type { OutboxCount } from './outbox-count.ts';

/**
 * What is counted when somebody asks, and costs nothing otherwise; no value while it cannot be counted. Silent events
 * stand in no figure (safety 4).
 */
export function outboxMetrics(options: { count: OutboxCount; clock: Clock; metrics: Registry }): void {
  const { count, clock, metrics } = options;
  const byLane = (name: string, help: string, value: (lane: LaneStats) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['lane'],
      registers: [metrics],
      async collect() {
        const found = await count();
        this.reset();
        if (typeof found === 'string') return;
        for (const lane of lanes) this.set({ lane }, value(found.lanes[lane]));
      },
    });
  byLane('siteward_outbox_parked', 'Refused events that wait for a technician.', ({ parked }) => parked);
  byLane('siteward_outbox_oldest_age_seconds', 'Age of the oldest waiting event; 0 when none waits.', ({ oldest }) =>
    oldest === undefined ? 0 : Math.max(0, (clock.wall() - oldest) / 1000),
  );
}
