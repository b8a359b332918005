import type { PartitionState } from './arming.ts';
import type { ClockQuality, DeviceRef, PartitionId, ZoneNumber } from './ids.ts';
import type { ScheduleId } from './schedule.ts';
import type { ReportedCode, TroubleKind } from './signal.ts';
import type { AuthorityState, SitePlan, ZoneState } from './zone.ts';

/** What the rooms of the LAN may see of the site: a picture of one moment, never to be changed. */
export interface SiteView {
  readonly plan: SitePlan;
  readonly partitions: readonly PartitionState[];
  readonly zones: readonly ZoneState[];
  readonly troubles: readonly TroubleView[];
  readonly links: readonly LinkView[];
  readonly epoch: number;
  /** The last number an event was given; see `SiteEvent.seq`. */
  readonly seq: number;
  readonly clock: ClockQuality;
  /** Wall clock of this picture, milliseconds. */
  readonly at: number;
  /** Partitions of siteward's own engine: whether each could be armed away as it stands. */
  readonly ready: Readonly<Record<string, boolean>>;
  /** Seconds left of what runs, by partition, measured on the monotonic clock. */
  readonly delays: Readonly<Record<string, DelaysLeft>>;
  /**
   * Zones that are left out, by partition of siteward's engine: one may be left out in one of its partitions and watched in
   * another.
   */
  readonly leftOut?: Readonly<Record<string, readonly ZoneNumber[]>>;
  /** Zones that are shut for this arming period (swinger shutdown), by partition. */
  readonly shut?: Readonly<Record<string, readonly ZoneNumber[]>>;
  /** Walk tests that run, by partition. */
  readonly tests?: Readonly<Record<string, TestView>>;
  /** Partitions a schedule could not arm and nobody has seen to since. */
  readonly unarmed?: Readonly<Record<string, UnarmedView>>;
  /** Partitions a schedule arms as soon as nothing is in the way. */
  readonly armWaits?: Readonly<Record<string, ArmWaitView>>;
  /** Every alarm that runs, by partition; its state names one. */
  readonly alarms?: Readonly<Record<string, readonly NonNullable<PartitionState['alarm']>[]>>;
  /** Zones that a word which may be older has called calm: they stand as they were. */
  readonly doubted?: readonly ZoneNumber[];
  /** The security type in force, where it was decided and not only derived from the plan. */
  readonly authority?: AuthorityState;
}

export interface DelaysLeft {
  readonly exitLeftS?: number;
  readonly entryLeftS?: number;
  /** Of the abort window: an alarm sounds and is not signalled yet. */
  readonly abortLeftS?: number;
}

export interface TestView {
  readonly leftS: number;
  readonly walked: readonly ZoneNumber[];
  /** Not walked yet. */
  readonly missing: readonly ZoneNumber[];
}

export interface UnarmedView {
  readonly schedule: ScheduleId;
  /** When it was given up, wall clock milliseconds. */
  readonly at: number;
  /** As in the event `fail_to_arm`. */
  readonly reason: string;
  readonly zones?: readonly ZoneNumber[];
}

export interface ArmWaitView {
  readonly schedule: ScheduleId;
  /** After that it is given up, or done without what is in the way. */
  readonly leftS: number;
}

export interface TroubleView {
  /** `fail_to_arm` is that of a partition. */
  readonly kind: TroubleKind | 'fail_to_arm';
  readonly source: DeviceRef;
  readonly partition?: PartitionId;
  readonly zone?: ZoneNumber;
  /** What the panel has reported: of one kind there may be several. */
  readonly reported?: ReportedCode;
  /** Wall clock, milliseconds. */
  readonly since: number;
  /** It comes and goes, so often so far; it ends after a quiet time. */
  readonly losses?: number;
}

export interface LinkView {
  readonly source: DeviceRef;
  /** True only when every layer that was heard is up; null while nothing was heard. */
  readonly up: boolean | null;
  readonly reason?: string;
}

/** What changed with one decision, so that only that is published again. */
export interface Changes {
  readonly partitions: readonly string[];
  readonly zones: readonly string[];
  readonly troubles: boolean;
  readonly links: boolean;
}
