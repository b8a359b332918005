export { minuteMs } from './local-time.ts';
export { emptySchedules, type SchedulesMemory } from './memory.ts';
export { nextRuns, type UpcomingRun } from './next-runs.ts';
export { type PostponeRefusal, postpone } from './postpone.ts';
export type { SchedulesState, UnarmedState, WaitingArm } from './state.ts';
export { type MissedSlot, type SlotAction, type SlotWarning, scheduleTick, toleranceMs } from './tick.ts';
