import { z } from 'zod';
import type { Authority } from './arming.ts';
import type { DeviceId, DeviceRef, PartitionId, ZoneNumber } from './ids.ts';
import type { DetectionClass } from './signal.ts';

/** Zone types of the field; what each does is a table in the core. */
export const zoneTypes = [
  'entry_exit_1',
  'entry_exit_2',
  'perimeter',
  'interior_follower',
  'interior_delay',
  '24h_burglary',
  'tamper_24h',
  'fire',
  'co',
  'gas',
  'water',
  'medical',
  'panic_audible',
  'panic_silent',
  'day_trouble',
  'no_alarm_response',
  'video_person_perimeter',
  'video_person_interior',
  'video_line_cross',
] as const;
export const zoneType = z.enum(zoneTypes);
export type ZoneType = z.infer<typeof zoneType>;

/** One zone as it stands; null means "not heard yet", which is not "closed". */
export interface ZoneState {
  readonly number: ZoneNumber;
  readonly open: boolean | null;
  readonly alarm: boolean;
  readonly tamper: boolean;
  readonly bypassed: boolean;
  readonly lowBattery: boolean;
  readonly online: boolean;
  /** Wall clock of the last change, milliseconds. */
  readonly at: number;
}

/** The site as the technician described it: what the core decides with. Immutable; a reload makes a new one. */
export interface SitePlan {
  readonly siteId: string;
  readonly securityType: 1 | 2 | 3 | 4;
  readonly partitions: readonly PartitionPlan[];
  readonly zones: readonly ZonePlan[];
  readonly cameras: readonly CameraPlan[];
  readonly media: MediaPolicy;
  readonly disarmNeedsCode: boolean;
  /** How long a panel may take to confirm a command, milliseconds. */
  readonly confirmMs: number;
  /** Whether a restored zone is sent to the station too (decisions: false unless commissioning turned it on). */
  readonly signalRestores: boolean;
}

export interface PartitionPlan {
  readonly id: PartitionId;
  readonly name: string;
  readonly authority: Authority;
  /** The panel that owns it, when the authority is the panel's. */
  readonly panel?: DeviceId;
  readonly exitDelayMs: number;
  readonly entryDelayMs: number;
}

export interface ZonePlan {
  readonly number: ZoneNumber;
  readonly name: string;
  readonly type: ZoneType;
  readonly partitions: readonly PartitionId[];
  readonly source: DeviceRef;
  /** Cameras that show this zone; their pictures go with its alarms. */
  readonly cameras: readonly DeviceId[];
  /** For a camera's zone: the detections that open it. Empty means all that mean a person, vehicle or intrusion. */
  readonly detections: readonly DetectionClass[];
}

export interface CameraPlan {
  readonly id: DeviceId;
  readonly name: string;
  readonly zone?: ZoneNumber;
  readonly partitions: readonly PartitionId[];
  /** When pictures may be taken (decisions, safety rule 11). */
  readonly pictures: 'alarm' | 'armed' | 'always';
}

export interface MediaPolicy {
  /** Pictures per camera and alarm. */
  readonly snapshots: number;
  /** Milliseconds between two pictures of one camera. */
  readonly intervalMs: number;
  /** At most so many pictures with one event, over all cameras. */
  readonly maxPerEvent: number;
}
