export { defaultSeed } from './default-seed.ts';
export { type Seed, seedSchema } from './seed.ts';
export { type CloudOptions, type SandboxCloud, startCloud } from './server.ts';
export type { CloudClient, LogLine } from './types.ts';
