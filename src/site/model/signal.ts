import type { ArmingWord } from './arming.ts';
import { bridgeItself, type DeviceRef, type PartitionId, type ZoneNumber } from './ids.ts';

/** What a camera saw, in the classes of the topic table. */
export const detectionClasses = [
  'motion',
  'person',
  'vehicle',
  'animal',
  'face',
  'package',
  'doorbell',
  'intrusion',
  'line',
  'loitering',
  'object_left',
  'object_removed',
  'tamper',
  'video_loss',
  'image_quality',
  'sound',
  'input',
  'relay',
  'storage_fault',
  'hardware_fault',
  'network_fault',
  'recording',
  'system',
  'access',
  'other',
] as const;
export type DetectionClass = (typeof detectionClasses)[number];

export const troubleKinds = [
  'ac_loss',
  'battery_low',
  'sensor_battery',
  'tamper',
  'supervision',
  'rf_jam',
  'comm_fail',
  'config_unknown',
  'siren_fault',
  'site_inactive',
  'site_gone',
  'device_offline',
  'panel_offline',
  'broker_offline',
  'certificate_expires',
  'arming_sync',
  'auth_failed',
  'camera_tamper',
  'video_loss',
  'storage',
  'clock',
  'system',
] as const;
export type TroubleKind = (typeof troubleKinds)[number];

/** Alarms a panel tells that no zone of the site stands for; `technical` is heat, cold, a refrigerator and the like. */
export const panelAlarms = [
  'burglary',
  'fire',
  'co',
  'gas',
  'water',
  'medical',
  'panic',
  'panic_silent',
  'technical',
] as const;
export type PanelAlarm = (typeof panelAlarms)[number];

/** Why a panel says that it did not do what it was asked. */
/** `no_command`: its profile has none of the kind, so nothing was sent. */
export type PanelRefusal = 'not_ready' | 'wrong_code' | 'lockout' | 'no_command' | 'other';

/** It waited in the queue of a broker: it happened at some time between `since`, wall clock milliseconds, and now. */
export interface Waited {
  readonly since?: number;
}

/** The code of a report: three digits of Contact ID (DC-05), or two letters of SIA (DC-03). */
export interface ReportedCode {
  readonly code: string;
  /** What stands beside it: the panel's number of a zone, a module or a user. */
  readonly number?: string;
  /** What the code says, in the field's term. */
  readonly term?: string;
}

/** What a panel reports as to a station; it repeats a report until it is acknowledged. */
export interface Reported {
  /** Names the report: the same again is no news. A level that holds already, in a report of another name, begins anew. */
  readonly report?: string;
  /** When it was sent, by the panel's clock, milliseconds: a panel that begins its numbers anew gives old names to new reports. */
  readonly sentAt?: number;
  /** How long ago it happened, milliseconds; absent: now. */
  readonly ageMs?: number;
  readonly code?: ReportedCode;
}

/**
 * What an adapter has understood, in the field's terms. `replay` marks knowledge about the present (a retained
 * message, an `Initialized` property), which sets state but is no edge by itself.
 */
export type Signal =
  | ({
      readonly kind: 'zone';
      readonly source: DeviceRef;
      readonly zone: ZoneNumber;
      readonly open?: boolean;
      readonly alarm?: boolean;
      readonly tamper?: boolean;
      readonly bypassed?: boolean;
      readonly lowBattery?: boolean;
      readonly online?: boolean;
      /** It is calm because its panel has opened this partition in the same report: not where that is history. */
      readonly opening?: PartitionId;
      /** Of this detector its panel tells no alarm, only that it opens: for one of life safety, that is its alarm. */
      readonly opensOnly?: true;
      /** Its panel tells no closing, and has not said for a while that it is open. */
      readonly openForgotten?: true;
      readonly replay: boolean;
      readonly waited?: Waited;
    } & Reported)
  | ({
      readonly kind: 'partition';
      readonly source: DeviceRef;
      readonly partition: PartitionId;
      readonly state: ArmingWord;
      readonly user?: string;
      /** It was taken before, and is only to be remembered for longer: whatever the site knows of it, it changes no arming. */
      readonly reminder?: true;
      /** The panel kept it for a while, and does not say since when: something newer may have been told. */
      readonly past?: true;
      /** What a `triggered` is about, where a signal of its own tells that alarm. */
      readonly told?: PanelAlarm;
      readonly replay: boolean;
      readonly waited?: Waited;
    } & Reported)
  | {
      readonly kind: 'detection';
      readonly source: DeviceRef;
      readonly detection: DetectionClass;
      /** A pulse has no end: `active` is true and no false follows. */
      readonly active: boolean;
      readonly pulse: boolean;
      readonly replay: boolean;
      readonly topic: string;
      /** Which of several things of one class: an input, a relay, a disk. Absent where a class is one thing. */
      readonly item?: string;
      /** The token of the input, relay or disk; otherwise the rule's name, for diagnosis: the end of what began need not name the same. */
      readonly rule?: string;
      /** The device's own time, as it wrote it; for diagnosis only. */
      readonly deviceTime?: string;
    }
  | {
      readonly kind: 'link';
      readonly source: DeviceRef;
      /** `bridge`: the process that speaks MQTT for the panel; `device`: the panel's wire, or the camera itself. */
      readonly layer: 'bridge' | 'device';
      readonly up: boolean;
      /** The first word of a camera's or recorder's session: what an earlier one told of it counts no longer. */
      readonly anew?: true;
      readonly reason?: string;
    }
  | ({
      readonly kind: 'trouble';
      readonly source: DeviceRef;
      readonly trouble: TroubleKind;
      readonly active: boolean;
      /** Nobody tells its end: it is over at once, and while the condition holds anyway it is no news. */
      readonly pulse?: true;
      readonly zone?: ZoneNumber;
      /** One of several of its kind, by its code and number, which has an end of its own. */
      readonly apart?: true;
      /** The code of what has ended; absent: whatever of its kind the panel has told. */
      readonly ends?: string;
      readonly detail?: string;
      /** Only a person can end it: it is reported at once, however long its kind may wait. */
      readonly urgent?: boolean;
      readonly replay: boolean;
      readonly waited?: Waited;
    } & Reported)
  /**
   * An alarm by the word of a panel that must become one though no zone stands for it, or though its zone alone makes none:
   * a burglary zone of a disarmed partition. `panic_silent` is nobody's to see (safety 4).
   */
  | ({
      readonly kind: 'alarm';
      readonly source: DeviceRef;
      readonly alarm: PanelAlarm;
      readonly partition?: PartitionId;
      /** Its panel names a partition that the site does not have. */
      readonly elsewhere?: true;
      readonly zone?: ZoneNumber;
      /** It lasts since nobody knows when. */
      readonly replay?: boolean;
      readonly waited?: Waited;
    } & Reported)
  /** A panel proves its way to the station. */
  | ({ readonly kind: 'test'; readonly source: DeviceRef; readonly test: 'periodic' | 'manual' } & Reported)
  | {
      readonly kind: 'refusal';
      readonly source: DeviceRef;
      readonly partition?: PartitionId;
      /** What was asked for was to leave out this zone, or to take it back. */
      readonly zone?: ZoneNumber;
      readonly reason: PanelRefusal;
    };

export type SignalOf<K extends Signal['kind']> = Extract<Signal, { kind: K }>;

/** A condition of the bridge itself, as siteward finds it now. */
export const bridgeTrouble = (trouble: TroubleKind, active: boolean, detail?: string): SignalOf<'trouble'> => ({
  ...{ kind: 'trouble', source: bridgeItself, trouble, active, replay: false },
  ...(detail !== undefined && { detail }),
});
