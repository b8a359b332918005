import { z } from 'zod';
import { lanOperation, problemResponse } from './lan-operation.ts';
import { eventList, eventsQuery, readiness, statusDocument } from './schemas.ts';

const getStatus = lanOperation({
  id: 'getStatus',
  method: 'GET',
  path: '/api/v1/status',
  summary: 'The whole state of the bridge in one document',
  responses: {
    200: { description: 'The state at this moment', media: 'application/json', schema: statusDocument },
    503: problemResponse('The state cannot be read at the moment'),
  },
  repeatable: 'yes',
  rules: ['safety 4'],
  tags: ['state'],
});

const listEvents = lanOperation({
  id: 'listEvents',
  method: 'GET',
  path: '/api/v1/events',
  summary: 'Events with their delivery trail, newest first',
  query: eventsQuery,
  responses: {
    200: { description: 'One page', media: 'application/json', schema: eventList },
    400: problemResponse('A query member is wrong'),
    503: problemResponse('The store cannot be read at the moment'),
  },
  repeatable: 'yes',
  rules: ['safety 4'],
  tags: ['state'],
});

const getHealth = lanOperation({
  id: 'getHealth',
  method: 'GET',
  path: '/healthz',
  summary: 'Whether the process answers',
  responses: {
    200: { description: 'It does', media: 'application/json', schema: z.object({ status: z.literal('ok') }) },
  },
  repeatable: 'yes',
  rules: [],
  tags: ['health'],
});

const getReady = lanOperation({
  id: 'getReady',
  method: 'GET',
  path: '/readyz',
  summary: 'Whether local protection works; the cloud plays no part in it',
  responses: {
    200: { description: 'It works', media: 'application/json', schema: readiness },
    503: { description: 'It does not, for these reasons', media: 'application/json', schema: readiness },
  },
  repeatable: 'yes',
  rules: [],
  tags: ['health'],
});

const getMetrics = lanOperation({
  id: 'getMetrics',
  method: 'GET',
  path: '/metrics',
  summary: 'Metrics in the text format of Prometheus',
  responses: { 200: { description: 'All metrics', media: 'text/plain' } },
  repeatable: 'yes',
  rules: ['safety 4'],
  tags: ['health'],
});

export const stateOperations = { getStatus, listEvents, getHealth, getReady, getMetrics } as const;
