import type { PartitionId, ZonePlan } from '#site/model/index.ts';
import { localEvent, place } from './events.ts';
import type { Work } from './work.ts';
import { behaviour } from './zones.ts';

/** For the site's own record; the station learns of it from the arming. */
export function bypassEvent(
  work: Work,
  about: {
    readonly actor?: string | undefined;
    readonly reason?: string | undefined;
    readonly zone: ZonePlan | undefined;
    readonly partition: PartitionId | undefined;
    readonly active: boolean;
    readonly source: string;
  },
): void {
  const { zone, partition, active, source, actor, reason } = about;
  const is24h = zone !== undefined && behaviour(zone).group === 'always';
  localEvent(work, {
    class: 'bypass',
    kind: 'zone_bypassed',
    status: active ? 'active' : 'restored',
    ...place(work, { partition, zone }),
    contactId: is24h ? '572' : '573',
    sia: `${is24h ? 'U' : 'B'}${active ? 'B' : 'U'}`,
    source,
    ...(actor === undefined ? {} : { actor }),
    ...(reason === undefined ? {} : { detail: reason }),
  });
}
