import type { PartitionId, ZonePlan } from '#site/model/index.ts';
import { localEvent, place, troubleEvent } from './events.ts';
import { after, clearTimer, isRunning, setTimer } from './timers.ts';
import { enginePlan, own, periodOf, setPeriod, type Work, without, zonePlan } from './work.ts';
import { behaviour, independent } from './zones.ts';

/** A shut zone that nobody disarms is released after so long (swinger shutdown). */
export const swingerReleaseMs = 48 * 3_600_000;

/** Only burglary zones of the engine are ever shut: never life safety and hold-up (safety 1), never tamper. */
function canShut(work: Work, id: PartitionId, zone: ZonePlan): boolean {
  if (zone.type !== '24h_burglary' && independent(behaviour(zone).group)) return false;
  return enginePlan(work, id) !== undefined;
}

/** Whether the zone was shut in this arming period; the timer that releases it is the mark. */
export const isShut = (work: Work, id: PartitionId, zone: ZonePlan): boolean =>
  canShut(work, id, zone) && isRunning(work, 'swinger', { partition: id, zone: zone.number });

/**
 * Counts one alarm of a zone. The one that reaches the limit is still signalled, and shuts the zone:
 * the station is told once, and what the zone does from then on is history of the site only.
 */
export function countTrip(work: Work, id: PartitionId, zone: ZonePlan, source: string): void {
  const limit = work.plan.swingerTrips;
  if (limit <= 0 || !canShut(work, id, zone) || isShut(work, id, zone)) return;
  const { trips = {} } = periodOf(work.state, id);
  const count = (own(trips, zone.number) ?? 0) + 1;
  setPeriod(work, id, { trips: { ...trips, [zone.number]: count } });
  if (count < limit) return;
  work.rules.add('swinger shutdown');
  setTimer(work, 'swinger', { partition: id, zone: zone.number }, after(work.at, swingerReleaseMs));
  troubleEvent(work, { kind: 'swinger_shutdown', active: true, source, partition: id, zone });
}

/** A shut zone has tripped: noted once on the site, then only counted; nobody is told before it is released. */
export function shutTrip(work: Work, id: PartitionId, zone: ZonePlan, source: string): void {
  work.rules.add('swinger shutdown');
  const { shutTrips = {} } = periodOf(work.state, id);
  const before = own(shutTrips, zone.number) ?? 0;
  setPeriod(work, id, { shutTrips: { ...shutTrips, [zone.number]: before + 1 } });
  if (before > 0) return;
  localEvent(work, { class: 'system', kind: 'shut_zone_tripped', ...place(work, { partition: id, zone }), source });
}

/** The zone may alarm again: after 48 hours, or with the end of the arming period. Says how often it tripped meanwhile. */
export function releaseSwinger(work: Work, id: PartitionId, number: string): void {
  clearTimer(work, 'swinger', { partition: id, zone: number });
  const { trips = {}, shutTrips = {} } = periodOf(work.state, id);
  const count = own(shutTrips, number) ?? 0;
  setPeriod(work, id, { trips: { ...trips, [number]: 0 }, shutTrips: without(shutTrips, number) });
  const zone = zonePlan(work.plan, number);
  const detail = count > 0 ? `trips_while_shut: ${count}` : undefined;
  troubleEvent(work, { kind: 'swinger_shutdown', active: false, source: 'engine', partition: id, zone, detail });
}

/** At the end of an arming period no zone is shut any more. */
export function endSwingers(work: Work, id: PartitionId): void {
  for (const timer of Object.values(work.state.timers)) {
    if (timer.kind === 'swinger' && timer.partition === id && timer.zone !== undefined) {
      releaseSwinger(work, id, timer.zone);
    }
  }
  setPeriod(work, id, { trips: undefined, shutTrips: undefined });
}
