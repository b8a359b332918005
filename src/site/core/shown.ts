import { alarming, type PartitionState } from '#site/model/index.ts';
import { lastingKinds } from './zones.ts';

/** A fire shows as triggered as long as it lasts, and since it began; the arming beneath it is untouched. */
export function shown(partition: PartitionState): PartitionState {
  const { alarm, state, at } = partition;
  const overlaid = alarm !== undefined && lastingKinds.has(alarm.kind) && !alarming(state);
  return overlaid ? { ...partition, state: 'triggered', at: alarm.since ?? at } : partition;
}
