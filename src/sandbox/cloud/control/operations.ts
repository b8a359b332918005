import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { faultSpec } from '../faults.ts';

const json = { 200: { description: 'Done', media: 'application/json' } } as const;
const shared = {
  base: 'base',
  auth: [],
  repeatable: 'yes',
  responses: json,
  rules: ['S-021'],
  tags: ['control'],
} as const;

export const listEvents = defineOperation({
  ...shared,
  id: 'sandboxEvents',
  method: 'GET',
  path: '/__sandbox/events',
  summary: 'Accepted events in the order of acceptance, each with its tries',
  query: z.object({ after: z.coerce.number().int().min(0).default(0) }),
});

export const listUploads = defineOperation({
  ...shared,
  id: 'sandboxUploads',
  method: 'GET',
  path: '/__sandbox/uploads',
  summary: 'Pictures and clips that were written, with size and digest',
});

export const readUpload = defineOperation({
  ...shared,
  id: 'sandboxUpload',
  method: 'GET',
  path: '/__sandbox/uploads/{id}',
  summary: 'The content of one upload, while it is kept',
  params: z.object({ id: z.string() }),
});

export const readLog = defineOperation({
  ...shared,
  id: 'sandboxLog',
  method: 'GET',
  path: '/__sandbox/log',
  summary: 'The last 2,000 requests, oldest first',
});

export const listFaults = defineOperation({
  ...shared,
  id: 'sandboxFaults',
  method: 'GET',
  path: '/__sandbox/faults',
  summary: 'Planted faults with what is left of each',
});

export const plantFault = defineOperation({
  ...shared,
  id: 'sandboxPlantFault',
  method: 'POST',
  path: '/__sandbox/faults',
  summary: 'Plant a fault for the next requests of a path',
  body: { media: 'application/json', schema: faultSpec },
});

export const clearFaults = defineOperation({
  ...shared,
  id: 'sandboxClearFaults',
  method: 'DELETE',
  path: '/__sandbox/faults',
  summary: 'Remove all planted faults',
});

export const revoke = defineOperation({
  ...shared,
  id: 'sandboxRevoke',
  method: 'POST',
  path: '/__sandbox/revoke',
  summary: 'Make every access token invalid',
});

export const setClock = defineOperation({
  ...shared,
  id: 'sandboxClock',
  method: 'POST',
  path: '/__sandbox/clock',
  summary: "Move the service's clock against the machine's, seconds",
  body: { media: 'application/json', schema: z.strictObject({ offset_s: z.number().min(-1e9).max(1e9) }) },
});

export const reset = defineOperation({
  ...shared,
  id: 'sandboxReset',
  method: 'POST',
  path: '/__sandbox/reset',
  summary: 'Forget events, uploads, log, faults, tokens and the clock offset',
});
