import type { DeviceId, MediaItem, PartitionId, SitePlan, ZonePlan } from '#site/model/index.ts';

/**
 * What an event is for a camera's `pictures` setting (safety 11). The start of an entry delay is an alarm in the
 * making (safety 8), so every camera takes part in it.
 */
export type Occasion = 'alarm' | 'armed' | 'other';

const allowed: Readonly<Record<Occasion, ReadonlySet<string>>> = {
  alarm: new Set(['alarm', 'armed', 'always']),
  armed: new Set(['armed', 'always']),
  other: new Set(['always']),
};

/**
 * The pictures an event announces: of the zone's cameras, else of the camera itself, else of the partition's. Every
 * camera comes first once, then second, so that the cap cuts repetitions and not cameras. Never changes afterwards.
 */
export function mediaPlan(
  plan: SitePlan,
  about: {
    readonly zone?: ZonePlan | undefined;
    readonly camera?: DeviceId | undefined;
    readonly partition?: PartitionId | undefined;
  },
  occasion: Occasion,
  rounds = plan.media.snapshots,
): readonly MediaItem[] {
  const cameras = camerasOf(plan, about).filter((id) => {
    const camera = plan.cameras.find((candidate) => candidate.id === id);
    return camera !== undefined && allowed[occasion].has(camera.pictures);
  });
  const items: MediaItem[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const camera of cameras) {
      if (items.length >= plan.media.maxPerEvent) return items;
      items.push({ index: items.length, kind: 'snapshot', camera, offsetMs: round * plan.media.intervalMs });
    }
  }
  return items;
}

function camerasOf(plan: SitePlan, about: Parameters<typeof mediaPlan>[1]): readonly DeviceId[] {
  if (about.zone !== undefined && about.zone.cameras.length > 0) return [...new Set(about.zone.cameras)];
  if (about.camera !== undefined) return [about.camera];
  if (about.zone?.source.kind === 'camera') return [about.zone.source.id];
  const { partition } = about;
  if (partition === undefined) return [];
  return plan.cameras.filter((camera) => camera.partitions.includes(partition)).map((camera) => camera.id);
}
