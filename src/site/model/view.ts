import type { PartitionState } from './arming.ts';
import type { ClockQuality, DeviceRef, ZoneNumber } from './ids.ts';
import type { TroubleKind } from './signal.ts';
import type { SitePlan, ZoneState } from './zone.ts';

/** What the rooms of the LAN may see of the site: a picture of one moment, never to be changed. */
export interface SiteView {
  readonly plan: SitePlan;
  readonly partitions: readonly PartitionState[];
  readonly zones: readonly ZoneState[];
  readonly troubles: readonly TroubleView[];
  readonly links: readonly LinkView[];
  readonly epoch: number;
  /** The last event seq that was handed out. */
  readonly seq: number;
  readonly clock: ClockQuality;
  /** Wall clock of this picture, milliseconds. */
  readonly at: number;
  /** Partitions of siteward's own engine: whether each could be armed away as it stands. */
  readonly ready: Readonly<Record<string, boolean>>;
  /** Seconds left of a running exit or entry delay, by partition, measured on the monotonic clock. */
  readonly delays: Readonly<Record<string, { exitLeftS?: number; entryLeftS?: number }>>;
}

export interface TroubleView {
  readonly kind: TroubleKind;
  readonly source: DeviceRef;
  readonly zone?: ZoneNumber;
  /** Wall clock, milliseconds. */
  readonly since: number;
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
