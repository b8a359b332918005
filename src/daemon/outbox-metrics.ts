import { readFile } from 'node:fs/promises';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '#lib/clock.ts';
import { withDeadline } from '#lib/wait.ts';
import { lanes } from '#site/model/index.ts';
import type { OutboxStats } from '#site/store/index.ts';
import type { House } from './house.ts';

/** A scrape must not wait for a disk that hangs; the gauges then have no value. */
const askMs = 1000;

/** What is counted when somebody asks, and costs nothing otherwise. Silent events stand in no figure (safety 4). */
export function outboxMetrics(options: { house: House; clock: Clock; metrics: Registry }): void {
  const { house, clock, metrics } = options;
  let asking: Promise<OutboxStats | undefined> | undefined;
  /** One question serves all gauges of a scrape. */
  const stats = () => {
    const { store } = house;
    asking ??= withDeadline(askMs, new AbortController().signal, async () => store?.stats(), 'counting the outbox')
      .catch(() => undefined)
      .finally(() => {
        asking = undefined;
      });
    return asking;
  };
  const byLane = (name: string, help: string, value: (lane: OutboxStats['lanes']['alarm']) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['lane'],
      registers: [metrics],
      async collect() {
        const found = await stats();
        this.reset();
        if (found !== undefined) for (const lane of lanes) this.set({ lane }, value(found.lanes[lane]));
      },
    });
  byLane('siteward_outbox_parked', 'Refused events that wait for a technician.', ({ parked }) => parked);
  byLane('siteward_outbox_oldest_age_seconds', 'Age of the oldest waiting event; 0 when none waits.', ({ oldest }) =>
    oldest === undefined ? 0 : Math.max(0, (clock.wall() - oldest) / 1000),
  );
  new Counter({
    name: 'siteward_written_bytes_total',
    help: 'Bytes this process had written to storage, as the kernel counts them.',
    registers: [metrics],
    async collect() {
      const io = await readFile('/proc/self/io', 'utf8').catch(() => '');
      const bytes = /^write_bytes: (\d+)$/m.exec(io)?.[1];
      this.reset();
      if (bytes !== undefined) this.inc(Number(bytes));
    },
  });
}
