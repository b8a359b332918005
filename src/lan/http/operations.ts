import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { activityOperations } from './activity-operations.ts';
import { audioOperations } from './audio-operations.ts';
import { auditOperations } from './audit-operations.ts';
import { cameraOperations } from './cameras-operations.ts';
import { commandOperations } from './commands-operations.ts';
import { mediaOperations } from './media-operations.ts';
import { outboxOperations } from './outbox-operations.ts';
import { scheduleOperations } from './schedules-operations.ts';
import { eventList, eventsQuery, problem, readiness, statusDocument } from './schemas.ts';
import { securityTypeOperations } from './security-type.ts';
import { userOperations } from './users-operations.ts';
import { verificationOperations } from './verification-operations.ts';
import { zoneOperations } from './zones.ts';

const problemResponse = (description: string) => ({ description, media: 'application/problem+json', schema: problem });

export const getStatus = defineOperation({
  id: 'getStatus',
  method: 'GET',
  path: '/api/v1/status',
  base: 'lan',
  summary: 'The whole state of the bridge in one document',
  responses: {
    200: { description: 'The state at this moment', media: 'application/json', schema: statusDocument },
    503: problemResponse('The state cannot be read at the moment'),
  },
  auth: ['local'],
  repeatable: 'yes',
  rules: ['safety 4'],
  tags: ['state'],
});

export const listEvents = defineOperation({
  id: 'listEvents',
  method: 'GET',
  path: '/api/v1/events',
  base: 'lan',
  summary: 'Events with their delivery trail, newest first',
  query: eventsQuery,
  responses: {
    200: { description: 'One page', media: 'application/json', schema: eventList },
    400: problemResponse('A query member is wrong'),
    503: problemResponse('The store cannot be read at the moment'),
  },
  auth: ['local'],
  repeatable: 'yes',
  rules: ['safety 4'],
  tags: ['state'],
});

export const getHealth = defineOperation({
  id: 'getHealth',
  method: 'GET',
  path: '/healthz',
  base: 'lan',
  summary: 'Whether the process answers',
  responses: {
    200: { description: 'It does', media: 'application/json', schema: z.object({ status: z.literal('ok') }) },
  },
  auth: [],
  repeatable: 'yes',
  rules: [],
  tags: ['health'],
});

export const getReady = defineOperation({
  id: 'getReady',
  method: 'GET',
  path: '/readyz',
  base: 'lan',
  summary: 'Whether local protection works; the cloud plays no part in it',
  responses: {
    200: { description: 'It works', media: 'application/json', schema: readiness },
    503: { description: 'It does not, for these reasons', media: 'application/json', schema: readiness },
  },
  auth: [],
  repeatable: 'yes',
  rules: [],
  tags: ['health'],
});

export const getMetrics = defineOperation({
  id: 'getMetrics',
  method: 'GET',
  path: '/metrics',
  base: 'lan',
  summary: 'Metrics in the text format of Prometheus',
  responses: { 200: { description: 'All metrics', media: 'text/plain' } },
  auth: ['local'],
  repeatable: 'yes',
  rules: ['safety 4'],
  tags: ['health'],
});

/** Every operation of the LAN API so far, by its id. */
export const lanOperations = { getStatus, listEvents, getHealth, getReady, getMetrics, ...outboxOperations } as const;

/** What the control socket serves: the LAN API, and what is for people on this machine alone. */
export const controlOperations = {
  ...lanOperations,
  ...userOperations,
  ...scheduleOperations,
  ...auditOperations,
  ...activityOperations,
  ...commandOperations,
  ...verificationOperations,
  ...securityTypeOperations,
  ...zoneOperations,
  ...cameraOperations,
  ...mediaOperations,
  ...audioOperations,
} as const;
