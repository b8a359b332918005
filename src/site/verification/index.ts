export type { Contacts, Fate, Outgoing } from './types.ts';
export * from './verifications.ts';
