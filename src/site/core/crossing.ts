import type { PartitionId, ZoneNumber, ZonePlan } from '#site/model/index.ts';
import { deviceName, emit, place } from './events.ts';
import { deviceUp } from './link.ts';
import { onePicture } from './media.ts';
import { isShut } from './swinger.ts';
import { after, clearTimer, isRunning, now, setTimer, since } from './timers.ts';
import type { Evidence } from './types.ts';
import { own, partitionOf, periodOf, setPeriod, type Work, without, zonePlan } from './work.ts';
import { behaviour, watches } from './zones.ts';

interface Partner {
  readonly zone: ZonePlan;
  readonly windowMs: number;
}

/** The other zones of the pairs a zone is in, in the order of the plan. */
function partners(work: Work, number: ZoneNumber): readonly Partner[] {
  return work.plan.crossZones.flatMap(({ zones: [a, b], windowMs }) => {
    const other = a === number ? b : b === number ? a : undefined;
    const zone = other === undefined ? undefined : zonePlan(work.plan, other);
    return zone === undefined ? [] : [{ zone, windowMs }];
  });
}

/**
 * A partner that cannot trip confirms nothing, and nothing waits for it: one that is left out, shut, tampered, away,
 * open already, or not watched in this mode.
 */
function canTrip(work: Work, id: PartitionId, zone: ZonePlan): boolean {
  const state = own(work.state.zones, zone.number);
  const { mode } = partitionOf(work, id);
  if (state === undefined || !zone.partitions.includes(id) || !watches(mode ?? 'away', behaviour(zone))) return false;
  if (periodOf(work.state, id).bypassed.includes(zone.number) || isShut(work, id, zone)) return false;
  return state.open !== true && !state.tamper && state.online && deviceUp(work, zone.source) !== false;
}

/**
 * Cross-zoning: the first of two zones alone is told without signalling, with a picture (safety 8);
 * the second within the window makes it an alarm. Returns the evidence for an alarm that goes ahead, undefined while
 * the zone waits. Where the partition is triggered already, or no partner could trip, nothing waits.
 */
export function cross(
  work: Work,
  id: PartitionId,
  zone: ZonePlan,
  late: { late?: boolean },
): readonly Evidence[] | undefined {
  const all = partners(work, zone.number);
  if (all.length === 0 || partitionOf(work, id).state === 'triggered') return [];
  work.rules.add('cross-zoning');
  const { crossing = {} } = periodOf(work.state, id);
  for (const { zone: first, windowMs } of all) {
    const at = own(crossing, first.number);
    const agoMs = at === undefined ? undefined : since(work.at, at);
    if (agoMs === undefined || agoMs > windowMs || !isCrossing(work, id, first.number)) continue;
    crossEnded(work, id, first.number);
    crossEnded(work, id, zone.number);
    const { number, name, type } = first;
    return [{ type: 'cross_zone', zone: number, name, zone_type: type, seconds_ago: Math.round(agoMs / 1000) }];
  }
  const able = all.filter((partner) => canTrip(work, id, partner.zone));
  if (able.length === 0) return [];
  // A zone that trips again has told nothing new; its window runs from the first time.
  if (!isCrossing(work, id, zone.number))
    wait(work, id, zone, { ...late, windowMs: Math.max(...able.map((p) => p.windowMs)) });
  return undefined;
}

const isCrossing = (work: Work, id: PartitionId, zone: ZoneNumber): boolean =>
  isRunning(work, 'cross', { partition: id, zone });

function wait(work: Work, id: PartitionId, zone: ZonePlan, how: { late?: boolean; windowMs: number }): void {
  const { crossing = {} } = periodOf(work.state, id);
  setPeriod(work, id, { crossing: { ...crossing, [zone.number]: now(work.at) } });
  setTimer(work, 'cross', { partition: id, zone: zone.number }, after(work.at, how.windowMs));
  work.rules.add('safety 8');
  emit(work, {
    class: 'system',
    kind: 'cross_zone_first',
    status: 'active',
    lane: 'alarm',
    ...place(work, { partition: id, zone }),
    source: deviceName(zone.source),
    ...(how.late === true ? { late: true } : {}),
    signalToStation: false,
    toCloud: true,
    media: onePicture(work.plan, { partition: id, zone }, 'alarm'),
  });
}

/**
 * The only way a zone ceases to wait, and its message is restored: the window has ended without the second zone, the
 * second zone made it an alarm, or the arming period is over. A zone that does not wait has told nothing.
 */
export function crossEnded(work: Work, id: PartitionId, number: ZoneNumber): void {
  const { crossing = {} } = periodOf(work.state, id);
  if (own(crossing, number) === undefined) return;
  clearTimer(work, 'cross', { partition: id, zone: number });
  setPeriod(work, id, { crossing: without(crossing, number) });
  const zone = zonePlan(work.plan, number);
  emit(work, {
    class: 'system',
    kind: 'cross_zone_first',
    status: 'restored',
    lane: 'alarm',
    ...place(work, { partition: id, zone }),
    source: zone === undefined ? 'engine' : deviceName(zone.source),
    signalToStation: false,
    toCloud: true,
    media: [],
  });
}

/** Nothing waits for a second zone beyond the arming period. */
export function endCrossings(work: Work, id: PartitionId): void {
  for (const number of Object.keys(periodOf(work.state, id).crossing ?? {})) crossEnded(work, id, number);
  setPeriod(work, id, { crossing: undefined });
}

/** The longest a zone may wait for its partner, milliseconds. */
export const longestCrossingMs = (work: Work, number: ZoneNumber): number =>
  Math.max(0, ...partners(work, number).map(({ windowMs }) => windowMs));
