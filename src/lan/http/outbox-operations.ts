import { lanOperation, problemResponse } from './lan-operation.ts';
import {
  droppedAnswer,
  gapList,
  gapsQuery,
  outboxDocument,
  outboxHistory,
  parkedDetail,
  parkedList,
  parkedQuery,
  retriedAnswer,
  seqParams,
  seqsBody,
  waitingList,
  waitingQuery,
} from './outbox-schemas.ts';

const badQuery = problemResponse('A query member is wrong');
const unreadable = problemResponse('The store cannot be read at the moment');
const shared = { rules: ['safety 4'], tags: ['outbox'] } as const;

const getOutbox = lanOperation({
  ...shared,
  id: 'getOutbox',
  method: 'GET',
  path: '/api/v1/outbox',
  summary: 'What waits for the cloud and why, what is parked, what was lost, and the room on disk',
  responses: { 200: { description: 'At this moment', media: 'application/json', schema: outboxDocument } },
  repeatable: 'yes',
});

const getOutboxHistory = lanOperation({
  ...shared,
  id: 'getOutboxHistory',
  method: 'GET',
  path: '/api/v1/outbox/history',
  summary: 'How many events waited for the cloud over the last day, and how long they took',
  responses: { 200: { description: 'In steps of five minutes', media: 'application/json', schema: outboxHistory } },
  repeatable: 'yes',
});

const listWaiting = lanOperation({
  ...shared,
  id: 'listWaiting',
  method: 'GET',
  path: '/api/v1/outbox/waiting',
  summary: 'Events that wait for the cloud, oldest first',
  query: waitingQuery,
  responses: {
    200: { description: 'One page', media: 'application/json', schema: waitingList },
    400: badQuery,
    503: unreadable,
  },
  repeatable: 'yes',
});

const listParked = lanOperation({
  ...shared,
  id: 'listParked',
  method: 'GET',
  path: '/api/v1/outbox/parked',
  summary: 'Events the cloud refused, newest first',
  query: parkedQuery,
  responses: {
    200: { description: 'One page', media: 'application/json', schema: parkedList },
    400: badQuery,
    503: unreadable,
  },
  repeatable: 'yes',
});

const getParked = lanOperation({
  ...shared,
  id: 'getParked',
  method: 'GET',
  path: '/api/v1/outbox/parked/{seq}',
  summary: 'One refused event: why, what to do, and what is sent',
  params: seqParams,
  responses: {
    200: { description: 'The event', media: 'application/json', schema: parkedDetail },
    404: problemResponse('No event of this number is parked'),
    503: unreadable,
  },
  repeatable: 'yes',
});

const changed = {
  400: problemResponse('The body is wrong'),
  404: problemResponse('Some of the events are not parked; nothing was done'),
  503: problemResponse('The store cannot be written at the moment'),
} as const;

const retryParked = lanOperation({
  ...shared,
  id: 'retryParked',
  method: 'POST',
  path: '/api/v1/outbox/parked/retry',
  summary: 'Put parked events back in line',
  body: { media: 'application/json', schema: seqsBody },
  responses: { 200: { description: 'Done', media: 'application/json', schema: retriedAnswer }, ...changed },
  repeatable: 'no',
});

const dropParked = lanOperation({
  ...shared,
  id: 'dropParked',
  method: 'POST',
  path: '/api/v1/outbox/parked/drop',
  summary: 'Give parked events up for good; each becomes a gap record, which is itself reported',
  body: { media: 'application/json', schema: seqsBody },
  responses: { 200: { description: 'Done', media: 'application/json', schema: droppedAnswer }, ...changed },
  repeatable: 'no',
});

const listGaps = lanOperation({
  ...shared,
  id: 'listGaps',
  method: 'GET',
  path: '/api/v1/outbox/gaps',
  summary: 'Records of events that were given up, newest first',
  query: gapsQuery,
  responses: {
    200: { description: 'The records', media: 'application/json', schema: gapList },
    400: badQuery,
    503: unreadable,
  },
  repeatable: 'yes',
});

export const outboxOperations = {
  getOutbox,
  getOutboxHistory,
  listWaiting,
  listParked,
  getParked,
  retryParked,
  dropParked,
  listGaps,
} as const;
