import type { ZonePlan } from '#site/model/index.ts';
import { decidedByPanel, own, setZones, type Work } from './work.ts';
import { behaviour, type ZoneGroup } from './zones.ts';

/** Groups of which an opening alone is no more than that. */
const forgets: ReadonlySet<ZoneGroup> = new Set<ZoneGroup>(['entry', 'instant', 'follower', 'none']);

/**
 * Its panel tells no closing, and has not said for a while that the zone is open: nobody knows. It is then as one that was never heard,
 * which siteward arms nothing with. Silence ends no alarm and is no closed door: what is in alarm stays as it was told, and so does a zone
 * of a partition that siteward judges and that is not disarmed.
 */
export function openForgotten(work: Work, zone: ZonePlan): void {
  const state = own(work.state.zones, zone.number);
  if (state?.open !== true || state.alarm || !forgets.has(behaviour(zone).group)) return;
  const isWatched = zone.partitions.some((id) => {
    return !decidedByPanel(work, id, zone.source) && own(work.state.partitions, id)?.state !== 'disarmed';
  });
  if (isWatched) return;
  work.rules.add('no restore');
  setZones(work, [{ ...state, open: null, at: work.at.wall }]);
}
