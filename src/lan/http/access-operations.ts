import {
  changedPerson,
  claimBody,
  claimCodeAnswer,
  endedAnswer,
  keyList,
  keyParams,
  limitBody,
  loggedOut,
  loginBody,
  newKeyAnswer,
  newKeyBody,
  newPersonBody,
  ownPasswordBody,
  personEntry,
  personList,
  personParams,
  removedAccess,
  resetAnswer,
  selfAnswer,
  sessionList,
  sessionParams,
} from './access-schemas.ts';
import { jsonOf, lanOperation, problemResponse } from './lan-operation.ts';

const shared = { tags: ['access'] } as const;
const answer = <S>(description: string, schema: S) => ({ description, ...jsonOf(schema) }) as const;

const unusable = problemResponse('The file of accounts cannot be used or written, or too much is under way');
const wrongBody = problemResponse('The body is wrong');
const tooMany = problemResponse('Too many wrong ones; Retry-After says when it may be tried again');
const noPerson = problemResponse('There is no such account');
const noSession = problemResponse('There is no such session');

const claim = lanOperation({
  ...shared,
  id: 'claim',
  method: 'POST',
  path: '/api/v1/access/claim',
  summary: 'Make the first account, by the claim code; it is logged in then',
  body: jsonOf(claimBody),
  responses: {
    200: answer('Claimed; the session is in the cookie', selfAnswer),
    400: wrongBody,
    401: problemResponse('The claim code is wrong'),
    409: problemResponse('The bridge is claimed already, or the account is not taken; the code still counts'),
    429: tooMany,
    503: unusable,
  },
  repeatable: 'no',
  rules: ['safety 10'],
});

const login = lanOperation({
  ...shared,
  id: 'login',
  method: 'POST',
  path: '/api/v1/access/login',
  summary: 'Log in with the password of an account; a session that it is sent with ends',
  body: jsonOf(loginBody),
  responses: {
    200: answer('Logged in; the session is in the cookie', selfAnswer),
    400: wrongBody,
    401: problemResponse('Name or password is wrong'),
    403: problemResponse('The password is right, and the account does not count now'),
    429: tooMany,
    503: unusable,
  },
  repeatable: 'no',
  rules: ['safety 11'],
});

const logout = lanOperation({
  ...shared,
  id: 'logout',
  method: 'POST',
  path: '/api/v1/access/logout',
  summary: 'End the session this is asked with',
  responses: { 200: answer('Ended; so is the cookie', loggedOut) },
  repeatable: 'yes',
  rules: [],
});

const getSelf = lanOperation({
  ...shared,
  id: 'getSelf',
  method: 'GET',
  path: '/api/v1/access/self',
  summary: 'Who asks, and what may be asked',
  responses: { 200: answer('The account, the key or the control socket', selfAnswer) },
  repeatable: 'yes',
  rules: [],
});

const setOwnPassword = lanOperation({
  ...shared,
  id: 'setOwnPassword',
  method: 'PUT',
  path: '/api/v1/access/self/password',
  summary: "Set another password of one's own; all other sessions of the account end",
  body: jsonOf(ownPasswordBody),
  responses: {
    200: answer('Set; another session is in the cookie', selfAnswer),
    400: wrongBody,
    409: problemResponse('The current password is wrong, or the new one is not taken'),
    429: tooMany,
    503: unusable,
  },
  repeatable: 'no',
  rules: ['safety 11'],
});

const listOwnSessions = lanOperation({
  ...shared,
  id: 'listOwnSessions',
  method: 'GET',
  path: '/api/v1/access/self/sessions',
  summary: "The open sessions of one's own account, oldest first",
  responses: { 200: answer('All of them', sessionList) },
  repeatable: 'yes',
  rules: [],
});

const endOwnSession = lanOperation({
  ...shared,
  id: 'endOwnSession',
  method: 'DELETE',
  path: '/api/v1/access/self/sessions/{id}',
  summary: "End a session of one's own account",
  params: sessionParams,
  responses: { 200: answer('Ended', endedAnswer), 404: noSession },
  repeatable: 'no',
  rules: [],
});

const listSessions = lanOperation({
  ...shared,
  id: 'listSessions',
  method: 'GET',
  path: '/api/v1/access/sessions',
  summary: 'The open sessions of all accounts, oldest first',
  responses: { 200: answer('All of them', sessionList) },
  repeatable: 'yes',
  rules: [],
});

const endSession = lanOperation({
  ...shared,
  id: 'endSession',
  method: 'DELETE',
  path: '/api/v1/access/sessions/{id}',
  summary: 'End a session of any account',
  params: sessionParams,
  responses: { 200: answer('Ended', endedAnswer), 404: noSession },
  repeatable: 'no',
  rules: [],
});

const listPeople = lanOperation({
  ...shared,
  id: 'listPeople',
  method: 'GET',
  path: '/api/v1/access/people',
  summary: 'The accounts, without anything of their passwords',
  responses: { 200: answer('All of them', personList), 503: unusable },
  repeatable: 'yes',
  rules: ['safety 11'],
});

const addPerson = lanOperation({
  ...shared,
  id: 'addPerson',
  method: 'POST',
  path: '/api/v1/access/people',
  summary: 'Add an account with a first password; it may nothing until it has set another',
  body: jsonOf(newPersonBody),
  responses: {
    200: answer('The account as it is kept', personEntry),
    400: wrongBody,
    409: problemResponse('The account or the password is not taken'),
    503: unusable,
  },
  repeatable: 'no',
  rules: ['safety 11'],
});

const limitPerson = lanOperation({
  ...shared,
  id: 'limitPerson',
  method: 'PATCH',
  path: '/api/v1/access/people/{id}',
  summary: 'Set when an account ends; for an installer of a site that was handed over it is the consent',
  params: personParams,
  body: jsonOf(limitBody),
  responses: {
    200: answer('Done', changedPerson),
    400: wrongBody,
    404: noPerson,
    409: problemResponse('The end is not taken'),
    503: unusable,
  },
  repeatable: 'yes',
  rules: ['safety 11'],
});

const removePerson = lanOperation({
  ...shared,
  id: 'removePerson',
  method: 'DELETE',
  path: '/api/v1/access/people/{id}',
  summary: 'Remove an account with its sessions and API keys',
  params: personParams,
  responses: {
    200: answer('Done', removedAccess),
    404: noPerson,
    409: problemResponse('It is the last one that can manage accounts'),
    503: unusable,
  },
  repeatable: 'no',
  rules: ['safety 11'],
});

const listKeys = lanOperation({
  ...shared,
  id: 'listKeys',
  method: 'GET',
  path: '/api/v1/access/keys',
  summary: 'The API keys, without the keys themselves',
  responses: { 200: answer('All of them', keyList), 503: unusable },
  repeatable: 'yes',
  rules: [],
});

const addKey = lanOperation({
  ...shared,
  id: 'addKey',
  method: 'POST',
  path: '/api/v1/access/keys',
  summary: 'Make an API key; it is shown this once',
  body: jsonOf(newKeyBody),
  responses: {
    200: answer('The key', newKeyAnswer),
    400: wrongBody,
    409: problemResponse('The key is not taken'),
    503: unusable,
  },
  repeatable: 'no',
  rules: [],
});

const removeKey = lanOperation({
  ...shared,
  id: 'removeKey',
  method: 'DELETE',
  path: '/api/v1/access/keys/{id}',
  summary: 'Remove an API key; it counts no more from then on',
  params: keyParams,
  responses: {
    200: answer('Done', removedAccess),
    404: problemResponse("There is no such key, or it is somebody else's"),
    503: unusable,
  },
  repeatable: 'no',
  rules: [],
});

const showClaimCode = lanOperation({
  ...shared,
  id: 'showClaimCode',
  method: 'GET',
  path: '/api/v1/access/claim-code',
  summary: 'The claim code of a bridge that nobody has claimed; on the bridge itself alone',
  responses: { 200: answer('The code, or that the bridge is claimed', claimCodeAnswer), 503: unusable },
  repeatable: 'yes',
  rules: ['safety 10'],
});

const resetAccess = lanOperation({
  ...shared,
  id: 'resetAccess',
  method: 'POST',
  path: '/api/v1/access/reset',
  summary: 'Remove all accounts, API keys and sessions and make another claim code; on the bridge itself alone',
  responses: { 200: answer('What is gone, and the new claim code', resetAnswer), 503: unusable },
  repeatable: 'no',
  rules: ['safety 10'],
});

export const accessOperations = {
  claim,
  login,
  logout,
  getSelf,
  setOwnPassword,
  listOwnSessions,
  endOwnSession,
  listSessions,
  endSession,
  listPeople,
  addPerson,
  limitPerson,
  removePerson,
  listKeys,
  addKey,
  removeKey,
  showClaimCode,
  resetAccess,
} as const;
