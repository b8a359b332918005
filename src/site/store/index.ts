import { type StoreOptions, WorkerStore } from './store.ts';
import type { Store } from './types.ts';

export { type ChainWalk, chainWalk, readAuditEntry } from './audit-chain.ts';
export type * from './audit-types.ts';
export { inspectFiles, lastStates } from './inspect.ts';
export { type FileName, fileOf } from './lanes.ts';
export { defaultLimits, type StoreLimits } from './limits.ts';
export { limitsOf } from './options.ts';
export { beginNewLife, schemaVersions, storedEpoch } from './restored.ts';
export type { Memory } from './room-memory.ts';
export { type SpaceLevel, spaceLevel, spaceOf } from './space.ts';
export type * from './types.ts';
export type { VerificationRow } from './verification-row.ts';

/** The store of a state directory; nothing is opened before `start`. */
export function openStore(options: StoreOptions): Store {
  return new WorkerStore(options);
}
