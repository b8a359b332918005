export { siteStatus } from './site-status.ts';
export { keptOf, resumeSync, startSync, syncTimings } from './start.ts';
export { syncStep } from './step.ts';
export type * from './types.ts';
