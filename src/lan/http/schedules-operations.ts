import { lanOperation, problemResponse } from './lan-operation.ts';
import { postponeBody, postponedAnswer, scheduleList, scheduleParams, schedulesQuery } from './schedules-schemas.ts';

const unusable = problemResponse('siteward cannot answer at the moment');
const shared = { tags: ['schedules'] } as const;

const listSchedules = lanOperation({
  ...shared,
  id: 'listSchedules',
  method: 'GET',
  path: '/api/v1/schedules',
  summary: 'What the schedules do next, in order',
  query: schedulesQuery,
  responses: {
    200: { description: 'The next runs', media: 'application/json', schema: scheduleList },
    400: problemResponse('A query member is wrong'),
    503: unusable,
  },
  repeatable: 'yes',
  rules: ['C12'],
});

const postponeSchedule = lanOperation({
  ...shared,
  id: 'postponeSchedule',
  method: 'POST',
  path: '/api/v1/schedules/{id}/postpone',
  summary: 'Put the next arming of a schedule off, with a code',
  params: scheduleParams,
  body: { media: 'application/json', schema: postponeBody },
  responses: {
    200: { description: 'It comes later', media: 'application/json', schema: postponedAnswer },
    400: problemResponse('The body is wrong'),
    404: problemResponse('There is no such schedule'),
    409: problemResponse('The code does not count, or it is not put off'),
    503: unusable,
  },
  repeatable: 'no',
  rules: ['safety 7'],
});

export const scheduleOperations = { listSchedules, postponeSchedule } as const;
