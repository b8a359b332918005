import { objectOf, retryAfterMs, shownWords } from '#cloud/client/index.ts';
import type { postEvent } from '#cloud/contract/index.ts';
import type { Answer, FailureKind, Result } from '#lib/contract/client.ts';
import { withoutTokens } from '#lib/secret.ts';
import { type BodyKind, type Outcome, rowFor, type StatusRow } from './status-table.ts';

/** One try, judged: the row of the status table and what goes with it. */
export interface Judgement {
  readonly row: StatusRow;
  readonly status: number | undefined;
  /** Why no answer came. */
  readonly failure?: FailureKind;
  /** For people, at most 300 characters: status and what the server said, or what failed. */
  readonly reason: string;
  /** What the server asked for, milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Nothing was sent, for want of a token: when the token source asks for one again, milliseconds. */
  readonly tokenWaitMs?: number;
}

/** Judges what came of sending the event `eventId`. `wallMs` serves a Retry-After date in an answer without `Date`. */
export function judge(result: Result<typeof postEvent>, eventId: string, wallMs: number): Judgement {
  if (result.kind === 'failure') {
    return {
      row: rowFor({ failure: result.failure }),
      status: undefined,
      failure: result.failure,
      reason: withoutTokens(result.message).slice(0, 300),
      // The wait of the token source is no wish of the server: it ends with the line.
      retryAfterMs: undefined,
      ...(result.retryAfterMs !== undefined && { tokenWaitMs: result.retryAfterMs }),
    };
  }
  const wait = retryAfterMs(result.headers, wallMs);
  const echo = echoOf(result.json, eventId);
  const outcome: Outcome = {
    status: result.status,
    body: bodyKind(result),
    retryAfter: wait !== undefined,
    ...(echo === undefined ? {} : { echo }),
  };
  const row = rowFor(outcome);
  const reason = row.action.do === 'accept' ? row.name : reasonOf(result, row);
  // Who answers in place of the cloud has nothing to ask for.
  const isCloud = row.action.do !== 'rest' || row.action.trouble !== 'intercepted';
  return { row, status: result.status, reason, retryAfterMs: isCloud ? wait : undefined };
}

/** JSON is what reads as JSON and does not claim to be something else. */
function bodyKind(answer: Answer<typeof postEvent>): BodyKind {
  if (answer.text.trim() === '') return 'empty';
  const type = answer.headers['content-type']?.toLowerCase() ?? '';
  const claimsOther = type !== '' && !type.includes('json');
  return answer.json !== undefined && !claimsOther ? 'json' : 'other';
}

function echoOf(json: unknown, eventId: string): 'same' | 'other' | undefined {
  const body = objectOf(json);
  const id = body?.event_id ?? objectOf(body?.data)?.event_id;
  if (typeof id !== 'string') return undefined;
  return id.toLowerCase() === eventId.toLowerCase() ? 'same' : 'other';
}

/** Tolerant of every error body (S-195); HTML is named, not quoted. */
function reasonOf(answer: Answer<typeof postEvent>, row: StatusRow): string {
  const body = objectOf(answer.json);
  const said = [body?.error, body?.message, body?.error_description, body?.detail]
    .flatMap((part) => (Array.isArray(part) ? part : [part]))
    .filter((part) => typeof part === 'string')
    .join(': ');
  const detail = said !== '' ? said : bodyKind(answer) === 'other' ? 'the body is not JSON' : '';
  const clean = shownWords(detail);
  return `${answer.status} ${row.name}${clean === '' ? '' : `: ${clean}`}`;
}
