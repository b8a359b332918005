import { objectOf, retryAfterMs, shownWords } from '#cloud/client/index.ts';
import type { answerVerification } from '#cloud/contract/index.ts';
import type { Answer, Result } from '#lib/contract/client.ts';

/** What one try came to. `hold`: somebody must change something first, so the tries come seldom. */
export type Verdict =
  | { readonly do: 'recorded' }
  /** The service knows the request no more: too late, for good (S-151, S-157). */
  | { readonly do: 'gone'; readonly reason: string }
  | { readonly do: 'refused'; readonly reason: string }
  | { readonly do: 'again' | 'hold'; readonly reason: string; readonly retryAfterMs: number | undefined };

/** 401 after a fresh token, 403 and what only another configuration mends. */
const holds: ReadonlySet<number> = new Set([401, 403, 405, 501, 505]);
/** Not now, or somebody on the line who is not the service. */
const passing: ReadonlySet<number> = new Set([407, 408, 421, 425, 429]);

/**
 * Judges a try to record an answer. 404 is final only when it reads like the service: a web page under any status is
 * somebody else on the line, and is no answer. No word of the service is told: what it says of a `dispatch` that nobody
 * may see would stand beside a `disregard` (safety 6). So it is for all answers, or the lack of words would tell.
 */
export function judge(
  result: Result<typeof answerVerification>,
  sent: { readonly action: string; readonly isShown: boolean; readonly isPlain: boolean },
  wallMs: number,
): Verdict {
  if (result.kind === 'failure') {
    const isHeld = result.failure === 'token_refused' || result.failure === 'forbidden_address';
    const reason = shownWords(result.message);
    // The wait of the token source is no wish of the server.
    return { do: isHeld ? 'hold' : 'again', reason, retryAfterMs: undefined };
  }
  const { status } = result;
  const wait = retryAfterMs(result.headers, wallMs);
  const again = (reason: string, how: 'again' | 'hold' = 'again'): Verdict => ({ do: how, reason, retryAfterMs: wait });
  if (isPage(result))
    return again(`${status}: the answer is a web page; something on the line may answer in place of the cloud`);
  if (status >= 200 && status < 300) {
    const said = echoOf(result);
    // Either answer may be what operators see of one that is not plain; to them it is recorded with both.
    const isTaken = said === undefined || said === sent.action || (sent.isShown && !sent.isPlain);
    return isTaken ? { do: 'recorded' } : again(`${status}: the service says that another answer stands`);
  }
  const reason = reasonOf(result);
  if (status === 404 || status === 410) return { do: 'gone', reason };
  if (holds.has(status)) return again(reason, 'hold');
  if (passing.has(status) || status < 400 || status >= 500) return again(reason);
  return { do: 'refused', reason };
}

type Seen = Answer<typeof answerVerification>;

const isPage = ({ json, text }: Seen): boolean => json === undefined && text.trim() !== '';

function echoOf({ json }: Seen): string | undefined {
  const body = objectOf(json);
  const said = body?.action ?? objectOf(body?.data)?.action;
  return typeof said === 'string' ? said.toLowerCase() : undefined;
}

/** The status, and the member it is about where every answer has the same there. */
function reasonOf({ status, json }: Seen): string {
  const field = objectOf(json)?.field;
  return field === 'contact_id' || field === 'responded_at' ? `${status}: ${field}` : String(status);
}

/** The service does not take the moment of the press. */
export function isAboutTime({ json }: Seen): boolean {
  const body = objectOf(json);
  return [body?.field, body?.error, body?.message, body?.detail]
    .flat()
    .some((part) => typeof part === 'string' && part.includes('responded_at'));
}
