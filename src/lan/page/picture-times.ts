import type { DeviceEntry, PartitionStatus } from '#lan/http/index.ts';

export const pictureTimes = ['alarm', 'armed', 'always'] as const;

type Standing = Pick<PartitionStatus, 'id' | 'alarm' | 'state' | 'stale'>;

/** Whether the setting of the camera lets a picture be taken as its partitions stand (safety 11); the bridge decides. Pure. */
export function givesPicture(
  { pictures = 'always', partitions: of = [] }: Pick<DeviceEntry, 'pictures' | 'partitions'>,
  partitions: readonly Standing[],
): boolean {
  if (pictures === 'always') return true;
  const mine = partitions.filter(({ id }) => of.includes(id));
  const isOn = mine.some(({ state, stale }) => state.startsWith('armed') && !stale);
  return mine.some(({ alarm }) => alarm !== null) || (pictures === 'armed' && isOn);
}
