export type { Contacts } from './types.ts';
export * from './verifications.ts';
