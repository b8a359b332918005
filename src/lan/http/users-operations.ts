import { lanOperation, problemResponse } from './lan-operation.ts';
import {
  changedAnswer,
  newCodesBody,
  newUserBody,
  removedAnswer,
  removeUserQuery,
  userEntry,
  userList,
  userParams,
} from './users-schemas.ts';

const unusable = problemResponse('The list of users cannot be used or written at the moment');
const shared = { tags: ['users'] } as const;

const listUsers = lanOperation({
  ...shared,
  id: 'listUsers',
  method: 'GET',
  path: '/api/v1/users',
  summary: 'The users of the site, without anything of their codes',
  responses: { 200: { description: 'All of them', media: 'application/json', schema: userList }, 503: unusable },
  repeatable: 'yes',
  rules: ['safety 4', 'safety 11'],
});

const addUser = lanOperation({
  ...shared,
  id: 'addUser',
  method: 'POST',
  path: '/api/v1/users',
  summary: 'Add a user with a code',
  body: { media: 'application/json', schema: newUserBody },
  responses: {
    200: { description: 'The user as it is kept', media: 'application/json', schema: userEntry },
    400: problemResponse('The body is wrong'),
    409: problemResponse('The user or the code is not taken'),
    503: unusable,
  },
  repeatable: 'no',
  rules: ['safety 10', 'safety 11'],
});

const removeUser = lanOperation({
  ...shared,
  id: 'removeUser',
  method: 'DELETE',
  path: '/api/v1/users/{id}',
  summary: 'Remove a user; the code counts no more from then on',
  params: userParams,
  query: removeUserQuery,
  responses: {
    200: { description: 'Done', media: 'application/json', schema: removedAnswer },
    400: problemResponse('A query member is wrong'),
    404: problemResponse('There is no such user'),
    409: problemResponse('It is the last owner, or stands in the configuration file'),
    503: unusable,
  },
  repeatable: 'no',
  rules: [],
});

const setUserCode = lanOperation({
  ...shared,
  id: 'setUserCode',
  method: 'PUT',
  path: '/api/v1/users/{id}/code',
  summary: 'Give a user a new code; the old one counts no more from then on',
  params: userParams,
  body: { media: 'application/json', schema: newCodesBody },
  responses: {
    200: { description: 'Done', media: 'application/json', schema: changedAnswer },
    400: problemResponse('The body is wrong'),
    404: problemResponse('There is no such user'),
    409: problemResponse('The code is not taken, or the consent of an owner is needed'),
    503: unusable,
  },
  repeatable: 'no',
  rules: ['safety 4', 'safety 10', 'safety 11'],
});

export const userOperations = { listUsers, addUser, setUserCode, removeUser } as const;
