import { verificationDocument } from '#site/model/index.ts';
import { lanOperation, problemResponse } from './lan-operation.ts';
import {
  answerAnswer,
  answerBody,
  verificationAsked,
  verificationBody,
  verificationList,
  verificationParams,
} from './verification-schemas.ts';

const json = 'application/json' as const;
const unknown = problemResponse('There is no such verification');
const shared = { tags: ['alarm verifications'] } as const;

const listVerifications = lanOperation({
  ...shared,
  id: 'listVerifications',
  method: 'GET',
  path: '/api/v1/verifications',
  summary: 'Requests to verify an alarm, newest first, with their answers',
  responses: { 200: { description: 'All that are kept', media: json, schema: verificationList } },
  repeatable: 'yes',
  rules: ['safety 6'],
});

const getVerification = lanOperation({
  ...shared,
  id: 'getVerification',
  method: 'GET',
  path: '/api/v1/verifications/{id}',
  summary: 'One request to verify an alarm',
  params: verificationParams,
  responses: { 200: { description: 'As it stands', media: json, schema: verificationDocument }, 404: unknown },
  repeatable: 'yes',
  rules: ['safety 6'],
});

const addVerification = lanOperation({
  ...shared,
  id: 'addVerification',
  method: 'POST',
  path: '/api/v1/verifications',
  summary: 'Hand on a request of the service to verify an alarm; the same one again changes nothing',
  body: { media: json, schema: verificationBody },
  responses: {
    200: { description: 'It is on disk', media: json, schema: verificationAsked },
    400: problemResponse('The body is wrong'),
    409: problemResponse('The request is not taken: too late, another one under its id, or too many'),
    503: problemResponse('It cannot be kept at the moment; hand it on again'),
  },
  repeatable: 'yes',
  rules: ['S-156'],
});

const answerVerificationLocally = lanOperation({
  ...shared,
  id: 'answerVerificationLocally',
  method: 'POST',
  path: '/api/v1/verifications/{id}/answer',
  summary: 'Answer a request to verify an alarm with dispatch or disregard',
  params: verificationParams,
  body: { media: json, schema: answerBody },
  responses: {
    200: { description: 'What came of it', media: json, schema: answerAnswer },
    400: problemResponse('The body is wrong'),
    503: problemResponse('It cannot be kept at the moment; answer again'),
  },
  repeatable: 'yes',
  rules: ['safety 6', 'S-150', 'S-157'],
});

export const verificationOperations = {
  listVerifications,
  getVerification,
  addVerification,
  answerVerificationLocally,
} as const;
