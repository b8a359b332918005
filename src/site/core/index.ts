export { plansInForce } from './authority.ts';
export {
  type CloudStatus,
  type KeptSync,
  keptOf,
  resumeSync,
  type SiteStatus,
  type SyncAction,
  type SyncInput,
  type SyncState,
  siteStatus,
  startSync,
  syncStep,
  syncTimings,
} from './cloud-sync/index.ts';
export { decide } from './decide.ts';
export { signalToStation } from './events.ts';
export { readState, writeState } from './json.ts';
export { type DecisionMark, markOf, standings } from './mark.ts';
export { mayKeepPast, noPicture } from './media.ts';
export { callKey, withoutCalls } from './panic.ts';
export { adoptPlan, initialState } from './plan.ts';
export { nextRuns, type UpcomingRun } from './schedule/index.ts';
export { hushedBy } from './silence.ts';
export { stateWriter } from './state-text.ts';
export { givenWay, manyTogether } from './supervision.ts';
export type * from './types.ts';
export { changesBetween, Picture, siteView } from './view.ts';
export { type Seen, visibleDecision, visibleInput, visibleState } from './visible.ts';
export { forGood, zoneTable } from './zones.ts';
