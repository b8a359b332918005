import { z } from 'zod';
import { clockQualities, partitionPattern } from './basics.ts';

export const partitionId = z.string().regex(partitionPattern, 'must be p1, p2, ... p999');
export type PartitionId = z.infer<typeof partitionId>;

/** The cloud's `zone_number`: text, leading zeros kept. */
export const zoneNumber = z.string().regex(/^[A-Za-z0-9_-]{1,16}$/, 'must be 1 to 16 letters, digits, _ or -');
/** What two spellings of one number have in common: `07` and `7` clash (S-130). */
export const plainZone = (number: string): string => (/^\d+$/.test(number) ? number.replace(/^0+(?=\d)/, '') : number);
export type ZoneNumber = z.infer<typeof zoneNumber>;

/** What a technician calls an entry of the configuration. */
export const shortId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'must be 1 to 32 lower-case letters, digits, _ or -');

/** The id a technician gives a panel, camera, recorder or speaker in the configuration. */
export const deviceId = shortId;
export type DeviceId = z.infer<typeof deviceId>;

export const deviceKind = z.enum(['panel', 'camera', 'nvr', 'speaker', 'bridge']);
export type DeviceKind = z.infer<typeof deviceKind>;
export interface DeviceRef {
  readonly kind: DeviceKind;
  readonly id: DeviceId;
}

/** siteward itself, as the source of a trouble. Its trouble ends only under the same name. */
export const bridgeItself: DeviceRef = { kind: 'bridge', id: 'siteward' };

export const clockQuality = z.enum(clockQualities);
export type ClockQuality = z.infer<typeof clockQuality>;

/**
 * When something was known: milliseconds on both clocks, and the boot of the machine the monotonic one belongs to.
 */
export interface Stamp {
  readonly mono: number;
  readonly wall: number;
  readonly boot: string;
  readonly clock: ClockQuality;
}

/** A moment of this boot whose true time is known, and from whom; wall and monotonic milliseconds. */
export interface TrustedMoment {
  readonly mono: number;
  readonly wall: number;
  readonly source: 'ntp' | 'cloud';
}
