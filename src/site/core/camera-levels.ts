import type { DetectionClass, Signal, TroubleKind } from '#site/model/index.ts';

/** Detections that say that the camera itself is unwell. */
export const faults: Readonly<Partial<Record<DetectionClass, TroubleKind>>> = {
  tamper: 'camera_tamper',
  video_loss: 'video_loss',
  storage_fault: 'storage',
  hardware_fault: 'system',
  network_fault: 'comm_fail',
};

/** What somebody may do to a camera so that it sees nothing. */
export const blinding: ReadonlySet<DetectionClass> = new Set(['tamper', 'video_loss']);

const levelCap = 32;
/** The topic and rule that tell the end of a detection need not be those that told its beginning. */
export const levelKey = ({ detection, item }: Extract<Signal, { kind: 'detection' }>): string =>
  `${detection}|${item ?? ''}`;

export const classOf = (key: string) => key.split('|')[0] as DetectionClass;

/** A camera that is away may still be covered: what ails it lasts until it says otherwise. */
export const faultsAmong = (keys: readonly string[]): readonly string[] =>
  keys.filter((key) => faults[classOf(key)] !== undefined);

/** Topics nobody knows give way first. */
export function withKey(keys: readonly string[], key: string): readonly string[] {
  if (keys.length < levelCap) return [...keys, key];
  const first = Math.max(
    0,
    keys.findIndex((one) => classOf(one) === 'other'),
  );
  return [...keys.filter((_, at) => at !== first), key];
}
