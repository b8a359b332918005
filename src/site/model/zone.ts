import { z } from 'zod';
import type { ArmMode, Authority } from './arming.ts';
import type { DeviceId, DeviceRef, PartitionId, ZoneNumber } from './ids.ts';
import type { SchedulesPlan } from './schedule.ts';
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
  'final_exit',
  'key_switch_momentary',
  'key_switch_maintained',
  'video_person_perimeter',
  'video_person_interior',
  'video_line_cross',
] as const;
export const zoneType = z.enum(zoneTypes);
export type ZoneType = z.infer<typeof zoneType>;

/** Dangers and calls for help, whatever the arming: their detectors tell an alarm and its end, and are otherwise silent. */
export const dangerTypes: ReadonlySet<ZoneType> = new Set<ZoneType>([
  'fire',
  'co',
  'gas',
  'water',
  'medical',
  'panic_audible',
  'panic_silent',
]);

/** The zone types that may be in a cross-zone pair: burglary, watched while armed, no way in. */
export const crossZoneTypes: readonly ZoneType[] = [
  'perimeter',
  'interior_follower',
  'day_trouble',
  'video_person_perimeter',
  'video_person_interior',
  'video_line_cross',
];

/** One zone as it stands; null means "not heard yet", which is not "closed". */
export interface ZoneState {
  readonly number: ZoneNumber;
  readonly open: boolean | null;
  /**
   * A detector of danger has told whether it is in alarm, which may be all it ever tells: `open` is then null for good. As what is
   * open it holds over restarts, and for what hangs on a camera or recorder only until that goes or comes.
   */
  readonly heard?: true;
  readonly alarm: boolean;
  readonly tamper: boolean;
  readonly bypassed: boolean;
  readonly lowBattery: boolean;
  readonly online: boolean;
  /** Wall clock of the last change, milliseconds. */
  readonly at: number;
}

/** Which security system handles the site. */
export type SecurityType = 1 | 2 | 3 | 4;

export interface TypeWish {
  readonly securityType: SecurityType;
  readonly by: 'config' | 'cloud' | 'cli';
}

/** The security type in force and who said so. */
export interface AuthorityState extends TypeWish {
  /** Another type that waits for every partition to be disarmed. */
  readonly asked?: TypeWish;
}

/** The site as the technician described it: what the core decides with. Immutable; a reload makes a new one. */
export interface SitePlan {
  readonly siteId: string;
  readonly securityType: SecurityType;
  /** The configuration names the type; otherwise it is derived, and the cloud may say another. */
  readonly securityTypeFixed?: boolean;
  readonly partitions: readonly PartitionPlan[];
  readonly zones: readonly ZonePlan[];
  readonly cameras: readonly CameraPlan[];
  readonly media: MediaPolicy;
  readonly disarmNeedsCode: boolean;
  /** How long a panel may take to confirm a command, milliseconds. */
  readonly confirmMs: number;
  /** Whether a restored zone is sent to the station too (decisions: false unless commissioning turned it on). */
  readonly signalRestores: boolean;
  /** A zone is shut after so many alarms in one arming period; 0: never. */
  readonly swingerTrips: number;
  /** Pairs of zones of which both must trip. */
  readonly crossZones: readonly CrossZones[];
  /** What is armed, disarmed, announced and reported by the clock; absent: nothing. */
  readonly schedules?: SchedulesPlan;
  /** The panels of this bridge; absent: not known. */
  readonly panels?: readonly DeviceId[];
  /** Its recorders; absent: not known. */
  readonly nvrs?: readonly DeviceId[];
  /** Its speakers; absent: none. */
  readonly speakers?: readonly DeviceId[];
  /** Absent: every loss is reported at once, three within ten minutes as unstable. */
  readonly supervision?: SupervisionPlan;
}

/** How losses of links and of power are told; milliseconds. */
export interface SupervisionPlan {
  /** How long each must last before it is reported, with the time it began; it shows at once. */
  readonly reportAfterMs: Readonly<Record<'cloud' | 'broker' | 'panel' | 'camera' | 'acLoss', number>>;
  /** So many losses within the window are told once as unstable, and their end after the quiet time. */
  readonly unstable: { readonly changes: number; readonly windowMs: number; readonly quietMs: number };
}

/** Two zones that together make one alarm: both must trip within the window, milliseconds. */
export interface CrossZones {
  readonly zones: readonly [ZoneNumber, ZoneNumber];
  readonly windowMs: number;
}

export interface PartitionPlan {
  readonly id: PartitionId;
  readonly name: string;
  readonly authority: Authority;
  /** The panel that owns it, when the authority is the panel's. */
  readonly panel?: DeviceId;
  /** How long this panel may take to confirm a command, where that is not the site's time; milliseconds. */
  readonly confirmMs?: number;
  /** False: the panel takes another mode only when it is disarmed; absent: not known. */
  readonly changeMode?: false;
  /** The modes its panel can be told to arm in; absent: not known, or all. */
  readonly modes?: readonly ArmMode[];
  /** False: while it is armed the panel leaves out no zone and takes none back; absent: not known. */
  readonly bypassArmed?: false;
  readonly exitDelayMs: number;
  readonly entryDelayMs: number;
  /** A burglary alarm is signalled only so long after it sounded, unless it is disarmed; 0: at once. */
  readonly abortDelayMs: number;
  /** A disarm so long after an alarm was signalled takes it back at the station. */
  readonly cancelWindowMs: number;
  /** A second detector within this window confirms the first one's alarm; absent or 0: no sequential confirmation. */
  readonly confirmationMs?: number;
  /** Coming back through the exit door begins the exit delay anew, once. */
  readonly exitRestart: boolean;
  /** Arming away without anybody leaving arms home. */
  readonly autoStay: boolean;
}

export interface ZonePlan {
  readonly number: ZoneNumber;
  readonly name: string;
  readonly type: ZoneType;
  readonly partitions: readonly PartitionId[];
  readonly source: DeviceRef;
  /** Cameras that show this zone; their pictures go with its alarms. */
  readonly cameras: readonly DeviceId[];
  /** What its panel calls it, where that is not its number. */
  readonly key?: string;
  /** For a contact wired to a camera or recorder: the token of the input. It is told by zone signals; no detection opens it. */
  readonly input?: string;
  /** For a camera's zone: the detections that open it. Empty means all that mean a person, vehicle or intrusion. */
  readonly detections: readonly DetectionClass[];
  /** Its opening sounds a chime while a partition of it is disarmed. */
  readonly chime?: boolean;
  /** False for detectors outside the building, which neither begin nor give a confirmation. */
  readonly confirms?: boolean;
}

export interface CameraPlan {
  readonly id: DeviceId;
  readonly name: string;
  /** The recorder whose channel this is: it is heard while the recorder is. */
  readonly nvr?: DeviceId;
  readonly zone?: ZoneNumber;
  readonly partitions: readonly PartitionId[];
  /** When pictures may be taken (safety 11). */
  readonly pictures: 'alarm' | 'armed' | 'always';
  /** Clips that go with its alarms. */
  readonly clips?: readonly ('short' | 'event')[];
  /** Milliseconds before an alarm that it keeps in a ring. */
  readonly preRollMs?: number;
}

export interface MediaPolicy {
  /** Pictures per camera and alarm. */
  readonly snapshots: number;
  /** Milliseconds between two pictures of one camera. */
  readonly intervalMs: number;
  /** At most so many pictures with one event, over all cameras; clips are not counted. */
  readonly maxPerEvent: number;
}
