import type { Reply, RequestIssue } from '#lib/contract/server.ts';
import type { ProblemDocument } from './schemas.ts';

const titles: Readonly<Record<number, string>> = {
  400: 'The request does not fit the operation',
  403: 'This is not for everybody',
  404: 'There is nothing at this path',
  405: 'This path takes another method',
  409: 'This is not done as things are',
  413: 'The request is too large',
  500: 'siteward made a mistake',
  503: 'This cannot be answered at the moment',
};

/** Where the title of the status says something else. */
const titleOf: Readonly<Record<string, string>> = {
  audio_gone: 'The sound of the message is gone',
  audio_invalid: 'Not taken',
  audio_refused: 'Not of these messages',
  audio_unknown: 'No such message, speaker or playback',
  audit_discontinued: 'The log does not go on from there',
  auditor_needed: 'An auditor is needed',
  camera_certificate: 'Not of this certificate',
  camera_refused: 'Not of this camera',
  camera_unknown: 'No such camera',
  code_refused: 'The code is not taken',
  config_fixed: 'The configuration says otherwise',
  last_owner: 'The last owner stays',
  media_gone: 'Not here any more',
  media_unknown: 'No pictures or clips',
  not_parked: 'No such parked event',
  postpone_refused: 'The arming is not put off',
  schedule_unknown: 'No such schedule',
  user_refused: 'Refused',
  user_unknown: 'No such user',
  verification_refused: 'The verification is not taken',
  verification_unknown: 'No such verification',
};

/** An answer in the form of RFC 9457. It never carries a stack or more than the caller may know. */
export function problemReply(
  status: number,
  code: string,
  more: { readonly detail?: string; readonly issues?: readonly RequestIssue[] } = {},
): Reply {
  const body: ProblemDocument = {
    type: `/docs/errors#${code}`,
    title: titleOf[code] ?? titles[status] ?? 'The request failed',
    status,
    code,
    ...(more.detail !== undefined && { detail: more.detail }),
    ...(more.issues !== undefined && { errors: more.issues.map(({ field, message }) => ({ field, detail: message })) }),
  };
  return { status, body, headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' } };
}
