export { engineLimits } from './limits.ts';
export { isWithin, type QuietHours } from './quiet.ts';
export { raised, waitsMs } from './rank.ts';
export { readRow } from './row.ts';
export { playbacksShown } from './shown.ts';
export { emptyEngine, step } from './step.ts';
export { type TimerKind, timerId } from './timers.ts';
export type * from './types.ts';
