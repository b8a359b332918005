import { type StoreOptions, WorkerStore } from './store.ts';
import type { Store } from './types.ts';

export { defaultLimits, type StoreLimits } from './limits.ts';
export type { StoreOptions } from './store.ts';
export type * from './types.ts';

/** The store of a state directory; nothing is opened before `start`. */
export function openStore(options: StoreOptions): Store {
  return new WorkerStore(options);
}
