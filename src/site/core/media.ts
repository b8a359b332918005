import {
  type CameraPlan,
  type DeviceId,
  isArmed,
  type MediaItem,
  type PartitionId,
  type PartitionState,
  partitionShown,
  type SitePlan,
  type SiteView,
  type ZonePlan,
} from '#site/model/index.ts';

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

interface About {
  readonly zone?: ZonePlan | undefined;
  readonly camera?: DeviceId | undefined;
  readonly partition?: PartitionId | undefined;
}

/** How long before its alarm a picture of a ring is: whoever comes in is still at the door. */
const beforeMs = 1000;

/**
 * The pictures and clips an alarm announces: of the zone's cameras, else of the camera itself, else of the partition's.
 * Never changes afterwards. Where a camera keeps a ring, the last of its pictures is of the moment before.
 */
export function mediaPlan(plan: SitePlan, about: About, occasion: Occasion): readonly MediaItem[] {
  const cameras = camerasFor(plan, about, occasion);
  const pictures = snapshots(plan, cameras, plan.media.snapshots).map((item, _at, all) => {
    const preRollMs = cameras.find(({ id }) => id === item.camera)?.preRollMs ?? 0;
    const isLast = !all.some(({ camera, index }) => camera === item.camera && index > item.index);
    return preRollMs > 0 && item.offsetMs > 0 && isLast ? { ...item, offsetMs: -Math.min(beforeMs, preRollMs) } : item;
  });
  return [...pictures, ...clips(cameras, pictures.length)];
}

/** One picture of each camera, where an event is no alarm yet or adds to one. */
export const onePicture = (plan: SitePlan, about: About, occasion: Occasion): readonly MediaItem[] =>
  snapshots(plan, camerasFor(plan, about, occasion), 1);

/** Every camera comes first once, then second, so that the cap cuts repetitions and not cameras. */
function snapshots(plan: SitePlan, cameras: readonly CameraPlan[], rounds: number): readonly MediaItem[] {
  return Array.from({ length: rounds }, (_, round) => round * plan.media.intervalMs)
    .flatMap((offsetMs) => cameras.map(({ id }) => ({ kind: 'snapshot' as const, camera: id, offsetMs })))
    .slice(0, plan.media.maxPerEvent)
    .map((item, index) => ({ index, ...item }));
}

/** At most one of each kind: clips are long, and the line is the same for all. */
function clips(cameras: readonly CameraPlan[], from: number): readonly MediaItem[] {
  return (['short', 'event'] as const)
    .flatMap((kind) => {
      const camera = cameras.find((one) => one.clips?.includes(kind));
      return camera === undefined ? [] : { kind: `${kind}_mp4` as const, camera };
    })
    .map(({ kind, camera }, at) => ({
      ...{ index: from + at, kind, camera: camera.id },
      offsetMs: 0 - (camera.preRollMs ?? 0),
    }));
}

function camerasFor(plan: SitePlan, about: About, occasion: Occasion): readonly CameraPlan[] {
  return camerasOf(plan, about).flatMap((id) => {
    const camera = plan.cameras.find((candidate) => candidate.id === id);
    return camera !== undefined && allowed[occasion].has(camera.pictures) ? camera : [];
  });
}

function camerasOf(plan: SitePlan, about: About): readonly DeviceId[] {
  if (about.zone !== undefined && about.zone.cameras.length > 0) return [...new Set(about.zone.cameras)];
  if (about.camera !== undefined) return [about.camera];
  if (about.zone?.source.kind === 'camera') return [about.zone.source.id];
  const { partition } = about;
  if (partition === undefined) return [];
  return plan.cameras.filter((camera) => camera.partitions.includes(partition)).map((camera) => camera.id);
}

/**
 * Whether a camera may keep its last seconds ahead of an alarm (safety 11): where its pictures go out only with an alarm or
 * while armed, there is nothing to keep them for while all its partitions are known to be disarmed (safety 2).
 */
export const mayKeepPast = (
  { pictures, partitions }: CameraPlan,
  all: readonly Pick<PartitionState, 'id' | 'state' | 'stale'>[],
): boolean =>
  pictures === 'always' ||
  all.some(({ id, state, stale }) => partitions.includes(id) && (state !== 'disarmed' || stale));

/**
 * Why no picture of a camera may be taken now, by its setting (safety 11); undefined where one may. Who is on this machine
 * has no more right to see people than the setting gives. A silent alarm gives none: it would show (safety 4).
 */
export function noPicture(view: SiteView, { id, pictures, partitions }: CameraPlan): string | undefined {
  if (pictures === 'always') return undefined;
  const isAlarm = partitions.some((partition) => partitionShown(view, partition).alarm !== null);
  const isOn = view.partitions.some(
    ({ id: partition, state, stale }) => partitions.includes(partition) && isArmed(state) && !stale,
  );
  if (isAlarm || (pictures === 'armed' && isOn)) return undefined;
  const when = pictures === 'armed' ? 'while armed or with an alarm' : 'with an alarm';
  return `"pictures: ${pictures}" of ${id} allows pictures only ${when}. To aim it, use its own page; with "pictures: always" siteward may take some at any time`;
}
