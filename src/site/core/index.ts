export { siteWord } from './aggregate.ts';
export { decide } from './decide.ts';
export { signalToStation } from './events.ts';
export { readState, writeState } from './json.ts';
export { mediaPlan } from './media.ts';
export { adoptPlan, initialState } from './plan.ts';
export type * from './types.ts';
export { changesBetween, siteView } from './view.ts';
export { zoneTable } from './zones.ts';
