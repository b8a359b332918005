import type { DeviceId, PartitionId, ZoneNumber } from '#site/model/index.ts';
import { troubleEvent } from './events.ts';
import { now, since } from './timers.ts';
import { own, periodOf, setPeriod, type Work, zonePlan } from './work.ts';

/** Signalled alarms of one source in one arming period (safety 8). */
const signalCap = 6;
/** A period without arming or disarming counts anew after a day, so that a 24-hour zone is never mute for good. */
const renewMs = 24 * 3_600_000;

/**
 * The source of an alarm. Tampers of a zone are counted apart: a cover that is loose, or that somebody moves, must not
 * make the detector under it mute.
 */
export function sourceKey(kind: string, zone: ZoneNumber | undefined, camera?: DeviceId): string {
  if (zone === undefined) return `camera:${camera ?? ''}`;
  return `${kind === 'tamper' ? 'tamper' : 'zone'}:${zone}`;
}

/** Counts one alarm of a source; true when it is above the cap. The first one above reports the runaway. */
export function countSignal(work: Work, id: PartitionId, key: string, source: string): boolean {
  const { signalled } = periodOf(work.state, id);
  const known = own(signalled, key);
  const fresh = known === undefined || since(work.at, known.since) >= renewMs;
  const entry = fresh ? { count: 1, since: now(work.at) } : { ...known, count: known.count + 1 };
  setPeriod(work, id, { signalled: { ...signalled, [key]: entry } });
  if (entry.count <= signalCap) return false;
  work.rules.add('safety 8');
  if (entry.count === signalCap + 1) runawayEvent(work, id, key, source, true);
  return true;
}

export const isCapped = (work: Work, id: PartitionId, key: string): boolean =>
  (own(periodOf(work.state, id).signalled, key)?.count ?? 0) > signalCap;

/** At the end of an arming period every source may signal again. */
export function endRunaways(work: Work, id: PartitionId): void {
  for (const [key, { count }] of Object.entries(periodOf(work.state, id).signalled)) {
    if (count > signalCap) runawayEvent(work, id, key, 'engine', false);
  }
}

function runawayEvent(work: Work, id: PartitionId, key: string, source: string, active: boolean): void {
  const [kind, name = ''] = key.split(':');
  troubleEvent(work, {
    kind: 'runaway',
    active,
    source,
    partition: id,
    zone: kind === 'camera' ? undefined : zonePlan(work.plan, name),
    camera: kind === 'camera' ? name : undefined,
  });
}
