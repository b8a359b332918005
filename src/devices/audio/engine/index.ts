export { engineLimits } from './limits.ts';
export { isWithin, type QuietHours } from './quiet.ts';
export { raised, waitsMs } from './rank.ts';
export { readRow } from './row.ts';
export { playbacksShown, shown } from './shown.ts';
export { emptyEngine, step } from './step.ts';
export { type Timer, type TimerKind, timerId } from './timers.ts';
export type * from './types.ts';
