export { defaultSeed } from './default-seed.ts';
export type { FaultInput } from './faults.ts';
export { type Seed, type SeedDealer, seedSchema } from './seed.ts';
export { type CloudOptions, type SandboxCloud, startCloud } from './server.ts';
export type { AssertionRules, CloudClient, EventTry, LogLine, StoredEvent, StoredUpload } from './types.ts';
