import type { ArmingWord, PartitionId, SiteView } from '#site/model/index.ts';

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
  view: Pick<SiteView, 'plan' | 'partitions'> | undefined,
): ReadonlyMap<PartitionId, ArmingWord> {
  const owned = new Set(view?.plan.partitions.flatMap(({ id, authority }) => (authority === 'engine' ? [] : [id])));
  return new Map(view?.partitions.flatMap(({ id, state }) => (owned.has(id) ? [[id, state] as const] : [])));
}
