export { minuteMs } from './local-time.ts';
export {
  emptySchedules,
  type Postponement,
  postponedLeft,
  type ScheduleMemory,
  type SchedulesMemory,
} from './memory.ts';
export { maxUpcoming, nextRuns, type UpcomingRun } from './next-runs.ts';
export { type Postponed, type PostponeRefusal, postpone, postponeAheadMs } from './postpone.ts';
export type { SchedulesState, UnarmedState, WaitingArm } from './state.ts';
export {
  type MissedSlot,
  type ScheduleTick,
  type SlotAction,
  type SlotWarning,
  scheduleTick,
  toleranceMs,
  warnMs,
} from './tick.ts';
