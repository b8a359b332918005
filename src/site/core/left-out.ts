import type { PartitionId, SitePlan, ZoneNumber } from '#site/model/index.ts';
import { timerId } from './timers.ts';
import type { PeriodState, SiteState } from './types.ts';
import { own } from './work.ts';

/**
 * What stays left out under a new plan: a zone that still belongs to the partition, and of a bypass for some minutes only
 * while its timer runs. Anything else is watched again, for nothing would ever end it, and no view would show it.
 */
export function leftOutStill(plan: SitePlan, state: SiteState): SiteState {
  const freed = new Set<ZoneNumber>();
  const periods = Object.entries(state.periods).map(([id, period]) => {
    const stays = (number: ZoneNumber) => isInPlan(plan, id, number) && mayEnd(state, id, period, number);
    const gone = period.bypassed.filter((number) => !stays(number));
    for (const number of gone) freed.add(number);
    return [id, gone.length === 0 ? period : watching(period, gone)] as const;
  });
  if (freed.size === 0) return state;
  return withZones({ ...state, periods: Object.fromEntries(periods) }, freed);
}

const isInPlan = (plan: SitePlan, id: PartitionId, number: ZoneNumber): boolean =>
  plan.zones.some((zone) => zone.number === number && zone.partitions.includes(id));

function mayEnd(state: SiteState, partition: PartitionId, { bypasses = {} }: PeriodState, zone: ZoneNumber): boolean {
  if (own(bypasses, zone)?.until !== 'time') return true;
  return own(state.timers, timerId('bypass', { partition, zone })) !== undefined;
}

function watching({ bypasses, ...period }: PeriodState, gone: readonly ZoneNumber[]): PeriodState {
  const kept = Object.entries(bypasses ?? {}).filter(([number]) => !gone.includes(number));
  const bypassed = period.bypassed.filter((number) => !gone.includes(number));
  return { ...period, bypassed, ...(kept.length === 0 ? {} : { bypasses: Object.fromEntries(kept) }) };
}

function withZones(state: SiteState, freed: ReadonlySet<ZoneNumber>): SiteState {
  const isOut = (number: ZoneNumber) => Object.values(state.periods).some(({ bypassed }) => bypassed.includes(number));
  const zones = Object.entries(state.zones).map(([number, zone]) => [
    number,
    freed.has(number) && !isOut(number) ? { ...zone, bypassed: false } : zone,
  ]);
  return { ...state, zones: Object.fromEntries(zones) };
}
