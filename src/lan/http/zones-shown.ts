import { isoTime, openShown, type SiteView, silentZones, zoneOnline } from '#site/model/index.ts';
import type { ZoneEntry } from './zones.ts';

/** Pure. `reporting`: panels that call by SIA DC-09. */
export function zonesShown(view: SiteView, reporting: ReadonlySet<string> = new Set()): ZoneEntry[] {
  const states = new Map(view.zones.map((zone) => [zone.number, zone]));
  const silent = silentZones(view);
  const isIn = (lists: Readonly<Record<string, readonly string[]>> | undefined, number: string) =>
    Object.values(lists ?? {}).some((numbers) => numbers.includes(number));
  return view.plan.zones
    .filter(({ number }) => !silent.has(number))
    .map(({ number, name, type, partitions, source }) => {
      const state = states.get(number);
      return {
        number,
        name,
        type,
        partitions: [...partitions],
        open: openShown(type, state),
        alarm: state?.alarm ?? false,
        tamper: state?.tamper ?? false,
        low_battery: state?.lowBattery ?? false,
        online: zoneOnline(view, source, state),
        ...(source.kind === 'panel' && reporting.has(source.id) && { reports_only: true as const }),
        bypassed: state?.bypassed === true || isIn(view.leftOut, number),
        shut: isIn(view.shut, number),
        ...(state !== undefined && state.at > 0 && { since: isoTime(state.at) }),
      };
    });
}
