import type { PartitionState } from '#site/model/index.ts';
import type { SiteStatus } from './types.ts';

/**
 * A whole site as the cloud may be told of it: armed only when every partition is, disarmed as soon as one
 * is; what no one can say for sure is unknown, never disarmed (safety 2). An entry delay or an alarm leaves the mode as
 * it was. Pure function of the partitions as they stand (I9).
 */
export function siteStatus(partitions: readonly PartitionState[]): SiteStatus {
  const statuses = partitions.map(statusOf);
  if (statuses.length === 0) return 'unknown';
  for (const status of ['unknown', 'disarmed', 'arming'] as const) if (statuses.includes(status)) return status;
  return 'armed';
}

function statusOf({ state, mode, stale }: PartitionState): SiteStatus {
  if (stale || state === 'unknown') return 'unknown';
  if (state === 'disarmed' || state === 'arming') return state;
  // An alarm of life safety runs while disarmed, too, and without a mode nobody can say in which it runs.
  return state === 'triggered' && mode === null ? 'unknown' : 'armed';
}
