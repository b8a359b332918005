import { dangerTypes, type SiteView } from '#site/model/index.ts';
import type { PartitionEntry } from './partitions.ts';
import { partitionsShown } from './status.ts';
import type { ZoneEntry } from './zones.ts';
import { zonesShown } from './zones-shown.ts';

/** Pure. `reporting`: panels that call by SIA DC-09, which never say whether a zone is open. */
export function partitionEntries(view: SiteView, reporting: ReadonlySet<string> = new Set()): PartitionEntry[] {
  const zones = zonesShown(view, reporting);
  return partitionsShown(view).map((partition) => {
    const mine = zones.filter((zone) => zone.partitions.includes(partition.id));
    return {
      ...partition,
      ready: view.ready[partition.id] ?? null,
      zones: mine.map(({ number }) => number),
      not_ready: mine.filter(isInTheWay).map(({ number }) => number),
    };
  });
}

function isInTheWay(zone: ZoneEntry): boolean {
  if (zone.bypassed || zone.shut) return false;
  if (zone.open === true || zone.alarm || zone.tamper || !zone.online) return true;
  // Detectors of fire and the like may tell nothing but an alarm.
  return zone.open === null && zone.reports_only !== true && !dangerTypes.has(zone.type);
}
