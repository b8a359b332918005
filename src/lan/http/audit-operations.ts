import {
  auditExportBody,
  auditExportedAnswer,
  auditExportedBody,
  auditExportPage,
  auditPage,
  auditQuery,
  auditVerdict,
  auditVerifyBody,
  inputsPage,
  inputsQuery,
  openAuditBody,
  openedAudit,
} from './audit-schemas.ts';
import { jsonOf, lanOperation, problemResponse } from './lan-operation.ts';

const shared = { rules: ['safety 4'], tags: ['audit'] } as const;
const failures = {
  400: problemResponse('The body is wrong'),
  403: problemResponse('It takes the code of an auditor, or the session has ended'),
  503: problemResponse('The store cannot be read at the moment'),
} as const;
/** A session is a secret: it goes in a body, never in an address. */

const openAudit = lanOperation({
  ...shared,
  id: 'openAudit',
  method: 'POST',
  path: '/api/v1/audit/login',
  summary: 'Show who is an auditor by a code; it is itself recorded',
  body: jsonOf(openAuditBody),
  responses: { 200: { description: 'A session of 15 minutes', ...jsonOf(openedAudit) }, ...failures },
  repeatable: 'no',
});

const listAudit = lanOperation({
  ...shared,
  id: 'listAudit',
  method: 'POST',
  path: '/api/v1/audit/entries',
  summary: 'Entries of the audit log, newest first',
  body: jsonOf(auditQuery),
  responses: { 200: { description: 'One page', ...jsonOf(auditPage) }, ...failures },
  repeatable: 'yes',
});

const verifyAudit = lanOperation({
  ...shared,
  id: 'verifyAudit',
  method: 'POST',
  path: '/api/v1/audit/verify',
  summary: 'Go through a part of the chain; to be repeated until it is done',
  body: jsonOf(auditVerifyBody),
  responses: { 200: { description: 'How far it came and what it found', ...jsonOf(auditVerdict) }, ...failures },
  repeatable: 'no',
});

const exportAudit = lanOperation({
  ...shared,
  id: 'exportAudit',
  method: 'POST',
  path: '/api/v1/audit/export',
  summary: 'The next entries as they lie in the log, oldest first',
  body: jsonOf(auditExportBody),
  responses: {
    200: { description: 'One page', ...jsonOf(auditExportPage) },
    409: problemResponse('The log does not hold the entry the export shall go on from'),
    ...failures,
  },
  repeatable: 'yes',
});

const exportedAudit = lanOperation({
  ...shared,
  id: 'exportedAudit',
  method: 'POST',
  path: '/api/v1/audit/exported',
  summary: 'An export up to this entry is safe; what it holds may give way',
  body: jsonOf(auditExportedBody),
  responses: {
    200: { description: 'Noted', ...jsonOf(auditExportedAnswer) },
    409: problemResponse('The log does not hold that entry'),
    ...failures,
  },
  repeatable: 'yes',
});

const listInputs = lanOperation({
  ...shared,
  id: 'listInputs',
  method: 'GET',
  path: '/api/v1/inputs',
  summary: 'The recorded input log, oldest first; nothing silent is in it',
  query: inputsQuery,
  responses: {
    200: { description: 'One page; lines as "siteward replay" takes them', ...jsonOf(inputsPage) },
    400: problemResponse('A query member is wrong'),
    503: problemResponse('The store cannot be read at the moment'),
  },
  repeatable: 'yes',
});

export const auditOperations = {
  openAudit,
  listAudit,
  verifyAudit,
  exportAudit,
  exportedAudit,
  listInputs,
} as const;
