import { Counter, Gauge, type Registry } from 'prom-client';
import type { SyncState } from '#site/core/index.ts';

export function syncMetrics(registry: Registry, state: () => SyncState | undefined) {
  const registers = [registry];
  const gauge = (name: string, help: string, value: (now: SyncState) => boolean) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const now = state();
        this.set(now !== undefined && value(now) ? 1 : 0);
      },
    });
  gauge('siteward_arming_sync_owed', 'Whether the cloud has still to be told the arming status', ({ owed }) => owed);
  gauge(
    'siteward_arming_sync_failing',
    'Whether the arming status could not be read from the cloud',
    ({ readFailures }) => readFailures > 0,
  );
  return {
    requests: new Counter({
      name: 'siteward_arming_sync_requests_total',
      help: 'Reads and writes of the arming status by what came of them',
      labelNames: ['method', 'outcome'],
      registers,
    }),
    commands: new Counter({
      name: 'siteward_arming_sync_commands_total',
      help: 'Commands that were made of a change in the cloud, by verb and outcome',
      labelNames: ['verb', 'outcome'],
      registers,
    }),
    conflicts: new Counter({
      name: 'siteward_arming_conflicts_total',
      help: 'Values of the cloud that the site did not follow, by reason',
      labelNames: ['reason'],
      registers,
    }),
  };
}
