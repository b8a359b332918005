export type { ClockPlan, ClockRun, NextRuns } from './by-clock.ts';
export { createTriggers } from './triggers.ts';
