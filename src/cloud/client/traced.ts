import { randomUUID } from 'node:crypto';

/**
 * One trace id for all requests of a call that looks, acts and looks again: they are one logical call (S-199). To be
 * spread into the input of each.
 */
export const traced = () => ({ headers: { 'x-partner-trace-id': randomUUID() } });
