export type { ClockPlan, ClockRun, ClockSlot, NextRuns } from './by-clock.ts';
export { createTriggers, type Triggers } from './triggers.ts';
