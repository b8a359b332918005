import type { DetectionClass, SignalOf, TroubleKind } from '#site/model/index.ts';

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

/** The topic and rule that tell the end of a detection need not be those that told its beginning. */
export const levelKey = ({ detection, item }: SignalOf<'detection'>): string => `${detection}|${item ?? ''}`;

export const classOf = (key: string) => key.split('|')[0] as DetectionClass;

/** A camera that is away may still be covered: what ails it lasts until it says otherwise. */
export const faultsAmong = (keys: readonly string[]): readonly string[] => keys.filter(isFault);

/** What it sees may have ended while it is away. */
export const sightsAmong = (keys: readonly string[]): readonly string[] => keys.filter((key) => !isFault(key));

const isFault = (key: string): boolean => faults[classOf(key)] !== undefined;

/** What ails a camera and what it sees take no room from each other. */
const faultCap = 64;
const levelCap = 32;
/** Of these a recorder has one for each job, output and topic, on for good. */
const quiet: ReadonlySet<DetectionClass> = new Set(['other', 'recording', 'relay', 'system']);

/** At the cap what opens no zone by itself gives way first, then the oldest of the same class. */
export function withKey(keys: readonly string[], key: string): readonly string[] {
  const beside = keys.filter((one) => isFault(one) === isFault(key));
  if (beside.length < (isFault(key) ? faultCap : levelCap)) return [...keys, key];
  const leaving =
    beside.find((one) => quiet.has(classOf(one))) ?? beside.find((one) => classOf(one) === classOf(key)) ?? beside[0];
  return [...keys.filter((one) => one !== leaving), key];
}
