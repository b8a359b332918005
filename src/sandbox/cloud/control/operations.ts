import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { faultSpec } from '../faults.ts';
import * as records from './records.ts';

const answer = <S extends z.ZodType>(schema: S) => ({ 200: { description: 'Done', schema } }) as const;
const json = <S extends z.ZodType>(schema: S) => ({ media: 'application/json', schema }) as const;
const shared = {
  base: 'base',
  auth: [],
  repeatable: 'yes',
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
  responses: answer(records.eventsAnswer),
});

export const listUploads = defineOperation({
  ...shared,
  id: 'sandboxUploads',
  method: 'GET',
  path: '/__sandbox/uploads',
  summary: 'Pictures and clips that were written, with size and digest',
  responses: answer(records.uploadsAnswer),
});

export const readUpload = defineOperation({
  ...shared,
  id: 'sandboxUpload',
  method: 'GET',
  path: '/__sandbox/uploads/{id}',
  summary: 'The content of one upload, while it is kept',
  params: z.object({ id: z.string() }),
  responses: {
    200: { description: 'The content, as it was written', media: '*/*' },
  },
});

export const readLog = defineOperation({
  ...shared,
  id: 'sandboxLog',
  method: 'GET',
  path: '/__sandbox/log',
  summary: 'The last 2,000 requests, oldest first',
  responses: answer(records.logAnswer),
});

export const listFaults = defineOperation({
  ...shared,
  id: 'sandboxFaults',
  method: 'GET',
  path: '/__sandbox/faults',
  summary: 'Planted faults with what is left of each',
  responses: answer(records.faultsAnswer),
});

export const plantFault = defineOperation({
  ...shared,
  id: 'sandboxPlantFault',
  method: 'POST',
  path: '/__sandbox/faults',
  summary: 'Plant a fault for the next requests of a path',
  body: json(faultSpec),
  responses: answer(records.faultsAnswer),
});

export const clearFaults = defineOperation({
  ...shared,
  id: 'sandboxClearFaults',
  method: 'DELETE',
  path: '/__sandbox/faults',
  summary: 'Remove all planted faults',
  responses: answer(z.object({ removed: z.int().min(0) })),
});

export const revoke = defineOperation({
  ...shared,
  id: 'sandboxRevoke',
  method: 'POST',
  path: '/__sandbox/revoke',
  summary: 'Make every access token invalid; API keys stay',
  responses: answer(z.object({ revoked: z.int().min(0) })),
});

export const setClock = defineOperation({
  ...shared,
  id: 'sandboxClock',
  method: 'POST',
  path: '/__sandbox/clock',
  summary: "Move the service's clock against the machine's, seconds",
  body: json(records.clockChange),
  responses: answer(records.clockAnswer),
});

export const reset = defineOperation({
  ...shared,
  id: 'sandboxReset',
  method: 'POST',
  path: '/__sandbox/reset',
  summary: 'Go back to the start: what was sent, changed, planted and issued since is forgotten',
  responses: answer(z.object({ reset: z.literal(true) })),
});

export const createToken = defineOperation({
  ...shared,
  id: 'sandboxToken',
  method: 'POST',
  path: '/__sandbox/tokens',
  summary: 'Make an access token or an API key',
  body: json(records.tokenRequest),
  repeatable: 'no',
  responses: answer(z.object({ token: z.string() })),
});

export const createClient = defineOperation({
  ...shared,
  id: 'sandboxClient',
  method: 'POST',
  path: '/__sandbox/clients',
  summary: 'Register a client, or a further key or secret of one',
  body: json(records.clientRequest),
  responses: answer(records.clientAnswer),
});

export const createDealer = defineOperation({
  ...shared,
  id: 'sandboxDealer',
  method: 'POST',
  path: '/__sandbox/dealers',
  summary: 'Add a dealer, connected or not, with what is below it; members as in a seed file',
  body: json(records.dealerRequest),
  repeatable: 'no',
  responses: answer(records.dealerAnswer),
});

export const listSites = defineOperation({
  ...shared,
  id: 'sandboxSites',
  method: 'GET',
  path: '/__sandbox/sites',
  summary: 'All sites, with whether they are linked and the ids of their partitions',
  responses: answer(records.sitesAnswer),
});

export const createVerification = defineOperation({
  ...shared,
  id: 'sandboxVerification',
  method: 'POST',
  path: '/__sandbox/verifications',
  summary: 'Ask a contact of a site to verify an alarm',
  body: json(records.verificationRequest),
  repeatable: 'no',
  responses: answer(records.verificationAnswer),
});

export const listVerifications = defineOperation({
  ...shared,
  id: 'sandboxVerifications',
  method: 'GET',
  path: '/__sandbox/verifications',
  summary: 'Alarm verifications with the last answer to each',
  responses: answer(records.verificationsAnswer),
});

export const listPlaybacks = defineOperation({
  ...shared,
  id: 'sandboxPlaybacks',
  method: 'GET',
  path: '/__sandbox/playbacks',
  summary: 'Requested playbacks and where each stands now',
  responses: answer(records.playbacksAnswer),
});
