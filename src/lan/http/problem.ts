import { type ErrorCode, SitewardError } from '#errors.ts';
import type { Reply, RequestIssue } from '#lib/contract/server.ts';
import type { ProblemDocument } from './schemas.ts';

const titles: Readonly<Record<number, string>> = {
  400: 'The request does not fit the operation',
  401: 'This takes an account or an API key',
  403: 'This is not for everybody',
  404: 'There is nothing at this path',
  405: 'This path takes another method',
  408: 'The request did not come in its time',
  409: 'This is not done as things are',
  413: 'The request is too large',
  415: 'The body is of another type',
  417: 'What the request expects is not done here',
  421: 'This bridge has no such name',
  429: 'Not so fast',
  431: 'The head of the request is too large',
  500: 'siteward made a mistake',
  503: 'This cannot be answered at the moment',
};

/** Failures a caller can do something about: the status, and a title where that of the status says something else. */
const problems: Readonly<Partial<Record<ErrorCode, readonly [status: number, title?: string]>>> = {
  access_busy: [503],
  access_denied: [403],
  access_needed: [401],
  access_refused: [409, 'Refused'],
  access_unknown: [404, 'No such account, session or API key'],
  access_unusable: [503],
  access_wait: [429],
  audio_gone: [409, 'The sound of the message is gone'],
  audio_invalid: [400, 'Not taken'],
  audio_refused: [409, 'Not of these messages'],
  audio_tool_missing: [503],
  audio_unavailable: [503],
  audio_unknown: [404, 'No such message, speaker or playback'],
  audit_discontinued: [409, 'The log does not go on from there'],
  auditor_needed: [403, 'An auditor is needed'],
  authority_unknown: [404, 'No authority of its own'],
  camera_auth: [503],
  camera_bad_answer: [503],
  camera_certificate: [409, 'Not of this certificate'],
  camera_fault: [503],
  camera_refused: [409, 'Not of this camera'],
  camera_unknown: [404, 'No such camera'],
  camera_unreachable: [503],
  cloud_bad_answer: [503],
  cloud_forbidden: [409, 'The cloud does not allow it'],
  cloud_not_found: [409, 'The cloud has no such site'],
  cloud_outcome_unknown: [503],
  cloud_refused: [409, 'The cloud refuses'],
  cloud_unauthorized: [503],
  cloud_unreachable: [503],
  code_refused: [409, 'The code is not taken'],
  config_changed: [409, 'The file is another one by now'],
  config_fixed: [409, 'The configuration says otherwise'],
  config_invalid: [400, 'The configuration would be wrong'],
  config_readonly: [409, 'siteward may not write it'],
  config_refused: [409],
  config_unreadable: [503],
  danger_refused: [409],
  deadline: [503],
  idempotency_conflict: [409, 'The key is of another request'],
  idempotency_pending: [409, 'It is still under way'],
  last_owner: [409, 'The last owner stays'],
  log_part_unknown: [400],
  media_gone: [404, 'Not here any more'],
  media_unknown: [404, 'No pictures or clips'],
  not_parked: [404, 'No such parked event'],
  partition_unknown: [404, 'No such partition'],
  picture_invalid: [503],
  postpone_refused: [409, 'The arming is not put off'],
  queue_full: [503],
  request_invalid: [400],
  schedule_unknown: [404, 'No such schedule'],
  site_gone: [409, 'The site is gone in the cloud'],
  stopped: [503],
  store_failed: [503],
  store_unavailable: [503],
  too_many_streams: [503],
  user_refused: [409, 'Refused'],
  user_unknown: [404, 'No such user'],
  users_unusable: [503],
  verification_refused: [409, 'The verification is not taken'],
  verification_unknown: [404, 'No such verification'],
};

interface More {
  readonly title?: string;
  readonly detail?: string;
  readonly issues?: readonly RequestIssue[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer in the form of RFC 9457. It never carries a stack or more than the caller may know. */
export function problemReply(status: number, code: string, { title, detail, issues, headers }: More = {}): Reply {
  const body: ProblemDocument = {
    type: `/docs/errors#${code}`,
    title: title ?? titles[status] ?? 'The request failed',
    status,
    code,
    ...(detail !== undefined && { detail }),
    ...(issues !== undefined && { errors: issues.map(({ field, message }) => ({ field, detail: message })) }),
  };
  return {
    status,
    body,
    headers: {
      // A page of the bridge asks with its cookie; only programs are told what they lack.
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
      ...headers,
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
    },
  };
}

/** The same with the id under which the log knows the request; other answers have it in their head alone. */
export function withRequestId(reply: Reply, id: string | undefined): Reply {
  if (id === undefined || reply.headers?.['content-type'] !== 'application/problem+json') return reply;
  return { ...reply, body: { ...(reply.body as ProblemDocument), request_id: id } };
}

/** The answer to a failure that is known here; undefined for what is a mistake of ours. */
export function knownProblem(error: unknown): Reply | undefined {
  if (!(error instanceof SitewardError)) return undefined;
  const { code, facts, message } = error;
  const [status, title] = problems[code] ?? [];
  if (status === undefined) return undefined;
  const { field, retryAfterMs } = facts;
  const issues = error.issues.length > 0 || typeof field !== 'string' ? error.issues : [{ field, message }];
  return problemReply(status, code, {
    detail: message,
    ...(title !== undefined && { title }),
    ...(issues.length > 0 && { issues: issues.map((issue) => ({ where: 'body', ...issue })) }),
    ...(typeof retryAfterMs === 'number' && { headers: { 'retry-after': `${Math.ceil(retryAfterMs / 1000)}` } }),
  });
}
