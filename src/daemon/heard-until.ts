import type { KnownPartition } from '#devices/panels/index.ts';
import type { PartitionId, SiteView } from '#site/model/index.ts';

/**
 * A moment at which the run before this one still took what came: the newest change on record. What was taken is on
 * record in its order, so what waits in a broker came later. `startedWall`: what this run changed says nothing.
 */
export function heardUntil(
  view: Pick<SiteView, 'partitions' | 'zones'> | undefined,
  startedWall: number,
): number | undefined {
  const changes = [...(view?.partitions ?? []), ...(view?.zones ?? [])].map(({ at }) => at);
  const earlier = changes.filter((at) => at > 0 && at < startedWall);
  return earlier.length === 0 ? undefined : Math.max(...earlier);
}

/** What is on record of the partitions whose panel decides. */
export function panelWords(
  view: Pick<SiteView, 'plan' | 'partitions' | 'zones'> | undefined,
): ReadonlyMap<PartitionId, KnownPartition> {
  const owned = new Set(view?.plan.partitions.flatMap(({ id, authority }) => (authority === 'engine' ? [] : [id])));
  const isOn = new Set(view?.zones.flatMap(({ number, open, alarm }) => (open === true || alarm ? [number] : [])));
  const zonesOf = (id: PartitionId) =>
    (view?.plan.zones ?? []).flatMap(({ number, partitions }) =>
      isOn.has(number) && partitions.includes(id) ? [number] : [],
    );
  const words = view?.partitions.map(({ id, state, mode }) => [id, { state, mode, zones: zonesOf(id) }] as const);
  return new Map(words?.filter(([id]) => owned.has(id)));
}
