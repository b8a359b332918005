import type { Reply, RequestIssue } from '#lib/contract/server.ts';
import type { ReplyCode } from '#site/model/index.ts';
import type { BypassAnswer, DispatchTold, NamedZone, PartitionAnswer } from './cloud-port.ts';
import type { ProblemDocument } from './schemas.ts';

const noStore = { 'cache-control': 'no-store' } as const;

/** A success of the audio and public interfaces: everything is in `data`. */
export const data = (body: unknown, status = 200): Reply => ({ status, body: { data: body }, headers: noStore });

interface More {
  readonly field?: string;
  readonly retryAfterS?: number | undefined;
}

/** An error of the audio and public interfaces (S-172). What was sent never comes back in it. */
export const apiError = (status: number, code: string, message: string, { field, retryAfterS }: More = {}): Reply => ({
  status,
  body: { error: { code, message, ...(field !== undefined && { field }) } },
  headers: { ...noStore, ...(retryAfterS !== undefined && { 'retry-after': `${Math.ceil(retryAfterS)}` }) },
});

export const nothing = (what: string): Reply => apiError(404, 'not_found', `there is no ${what} with this id`);

export function requestRefused(status: number, issues: readonly RequestIssue[]): Reply {
  if (status === 404) return nothing('such thing');
  const [first] = issues;
  const message = issues.map(({ field, message }) => `${field}: ${message}`).join('; ') || 'the request is not valid';
  const code = status === 413 ? 'too_large' : 'invalid_request';
  return apiError(status, code, message, first === undefined ? {} : { field: first.field });
}

const words: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
};

/** What the LAN API says as a problem, in the words of these interfaces. */
export function asApiError({ status, body, headers = {} }: Reply): Reply {
  const { title, detail, code, errors } = body as ProblemDocument;
  const [first] = errors ?? [];
  const { 'content-type': _, ...kept } = headers;
  const reply = apiError(status, words[status] ?? code, detail ?? title, first && { field: first.field });
  return { ...reply, headers: { ...kept, ...noStore } };
}

type Told = NonNullable<PartitionAnswer['error']>;
type Refusal = readonly [status: number, code: string, message: string | ((error: Told) => string)];

/** What a person understands; an app shows it as it is. */
const refusals: Readonly<Partial<Record<ReplyCode, Refusal>>> = {
  BAD_CODE: [403, 'bad_code', 'the code is wrong, or does not count now'],
  BUSY: [503, 'busy', 'another command is on its way; ask again in a moment'],
  CODE_REQUIRED: [403, 'code_required', 'this takes the code of a person: send {"code": "..."} with it'],
  LOCKED: [429, 'locked', ({ retryAfterS }) => `too many wrong codes; ${wait(retryAfterS)}`],
  NEWER_LOCAL_CHANGE: [409, 'superseded', 'somebody else has just done the opposite, and theirs counts; look first'],
  NOT_ALLOWED: [409, 'not_allowed', ({ field = '' }) => notAllowed[field] ?? 'not while an alarm runs; disarm first'],
  NOT_CONTROLLED: [409, 'not_controlled', 'another system decides this; siteward only watches it'],
  NOT_READY: [409, 'not_ready', notReady],
  PANEL_OFFLINE: [503, 'panel_offline', 'the alarm panel does not answer; use its keypad'],
  RATE_LIMITED: [
    429,
    'rate_limited',
    ({ retryAfterS }) => `too many commands without a code; ${wait(retryAfterS)}, or send a code`,
  ],
  UNCONFIRMED: [504, 'unconfirmed', 'the panel has not confirmed it; look at its state before asking again'],
  UNKNOWN_TARGET: [404, 'not_found', 'there is nothing with this id'],
};

const notAllowed: Readonly<Record<string, string>> = {
  bypass: 'one of these zones always watches',
  code: 'this code is good, but not for that',
  mode: 'the panel changes the mode only after a disarm',
  panel: 'the panel refused',
  profile: 'the panel takes no such command from here; use its keypad',
  zone: 'this zone always watches; at most an installer leaves it out',
};

const wait = (seconds: number | undefined): string =>
  seconds === undefined ? 'wait a while' : `wait ${Math.ceil(seconds)} s`;

/** Of many, some are named. */
const named = 10;

function notReady({ zones = [], field }: Told): string {
  if (zones.length === 0) return 'it cannot be armed as it is: something is open or does not answer';
  const more = zones.length > named ? ` and ${zones.length - named} more` : '';
  const list = zones.slice(0, named).map(nameOf).join(', ') + more;
  const what = field === 'bypass' ? 'One of them always watches: see to it' : 'Close or bypass them';
  return `it cannot be armed as it is: open, or not answering: ${list}. ${what}`;
}

const nameOf = ({ number, name }: NamedZone): string => `${name} (zone ${number})`;

/** Undefined where the command was done. */
export function commandRefused({ outcome, error }: PartitionAnswer): Reply | undefined {
  if (outcome === 'done' || outcome === 'already') return undefined;
  if (error === undefined) return apiError(504, 'unconfirmed', 'nobody knows what became of it; look first');
  const { code, retryAfterS } = error;
  const [status, word, message] = refusals[code] ?? [409, code.toLowerCase(), `it was refused as ${code}`];
  const more = { ...(code === 'BUSY' && { retryAfterS: 1 }), ...(retryAfterS !== undefined && { retryAfterS }) };
  return apiError(status, word, typeof message === 'string' ? message : message(error), more);
}

/** Undefined where all were left out. */
export function bypassRefused(told: BypassAnswer): Reply | undefined {
  const field = 'zones';
  if (told.kind === 'unknown_zone')
    return apiError(400, 'invalid_request', `zones[${told.place}]: is no zone of this partition`, { field });
  if (told.kind === 'too_many')
    return apiError(400, 'invalid_request', `zones: at most ${told.most} at once without a code`, { field });
  const refused = commandRefused(told.answer);
  if (refused === undefined) return undefined;
  const { error } = refused.body as { error: { message: string } };
  const message = `${error.message}. Not left out: ${told.left.join(', ')}`;
  return { ...refused, body: { error: { ...error, message } } };
}

const byHand = 'Call the monitoring station by telephone';

const dispatches: Readonly<Record<Exclude<DispatchTold['kind'], 'requested'>, readonly [number, string, string]>> = {
  not_configured: [
    501,
    'not_configured',
    `this bridge is not set up to ask the service (cloud.api_key, cloud.dialect.public_paths). Nobody was called. ${byHand}`,
  ],
  offline: [
    503,
    'cloud_offline',
    `there is no connection to the service, and nothing is sent later. Nobody was called. ${byHand}`,
  ],
  refused: [502, 'cloud_refused', `the service refused the request. Nobody was called. ${byHand}`],
  unknown: [504, 'dispatch_unknown', `the service has not answered: it may have the request, or not. ${byHand}`],
};

/** Only what the service has taken is a dispatch. */
export function dispatchReply(told: DispatchTold, unnamed: string): Reply {
  if (told.kind !== 'requested') return apiError(...dispatches[told.kind]);
  return data({ dispatch_id: told.dispatchId ?? unnamed, status: 'requested' }, 202);
}
