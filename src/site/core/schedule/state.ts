import type { Deadline, PartitionId, ScheduleId, ZoneNumber } from '#site/model/index.ts';
import type { SchedulesMemory } from './memory.ts';

/** What the schedules know beside the site. Plain data: it is stored as JSON with the state and comes back equal. */
export interface SchedulesState {
  readonly memory: SchedulesMemory;
  /** The last start of siteward: devices need a moment to be heard. */
  readonly startedAt?: Deadline;
  /** Armings whose time has come and that wait until nothing is in their way, by command id. */
  readonly waiting?: Readonly<Record<string, WaitingArm>>;
  /** Partitions that were not armed when they should have been, until somebody sees to them; absent: none. */
  readonly unarmed?: Readonly<Record<PartitionId, UnarmedState>>;
}

export interface UnarmedState {
  readonly schedule: ScheduleId;
  /** Wall clock, milliseconds, of the moment it was given up. */
  readonly at: number;
  /** As in the event `fail_to_arm`. */
  readonly reason: string;
  /** What was in the way. */
  readonly zones?: readonly ZoneNumber[];
}

export interface WaitingArm {
  readonly schedule: ScheduleId;
  readonly slot: string;
  readonly partition: PartitionId;
  /** Wall clock, milliseconds. */
  readonly due: number;
  /** When its slot was found due. */
  readonly from: Deadline;
}
