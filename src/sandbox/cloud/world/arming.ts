import type { ArmingState } from '#cloud/contract/index.ts';
import type { World } from './world.ts';

/** A site is armed when all its partitions are: what is partly open never counts as armed. */
export function armingOf(world: World, siteId: number): ArmingState {
  const partitions = world.partitions.of(siteId);
  return partitions.length > 0 && partitions.every(({ status }) => status === 'armed') ? 'armed' : 'disarmed';
}

/** Arms or disarms one partition, or all of a site; disarming ends bypasses, as a panel does. */
export function setArming(world: World, options: { siteId: number; partition?: string; to: ArmingState; at: string }) {
  const { siteId, to, at } = options;
  const before = armingOf(world, siteId);
  for (const partition of world.partitions.of(siteId)) {
    if (options.partition !== undefined && partition.partition_id !== options.partition) continue;
    world.partitions.put({ ...partition, status: to, bypassed_zones: to === 'armed' ? partition.bypassed_zones : [] });
    world.note(siteId, { type: 'arming', description: `partition ${partition.partition_id} ${to}`, at });
  }
  const site = world.sites.get(siteId);
  if (site !== undefined && armingOf(world, siteId) !== before) world.sites.put({ ...site, arming_updated_at: at });
}
