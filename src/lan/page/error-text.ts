import { ApiError, LateError, OfflineError, StrangeError } from './api.ts';
import type { TextKey, Words } from './text.ts';

/** Above this nobody counts seconds. */
const secondsCap = 120;

/** How long to wait before it is tried again, rounded up. */
export const waitText = (seconds: number, { t }: Pick<Words, 't'>): string =>
  seconds > secondsCap
    ? t('error.waitMinutes', { count: Math.ceil(seconds / 60) })
    : t('error.wait', { count: seconds });

const minuteS = 60;
const hourS = 3600;
const dayS = 86_400;

/** A length of time as somebody would say it: seconds up to a minute, days from two on. */
export function ageText(seconds: number, { t }: Pick<Words, 't'>): string {
  if (seconds < minuteS) return t('length.seconds', { seconds });
  if (seconds < hourS) return t('length.minutes', { minutes: Math.floor(seconds / minuteS) });
  if (seconds >= 2 * dayS) return t('length.days', { days: Math.floor(seconds / dayS) });
  const minutes = Math.floor((seconds % hourS) / minuteS);
  const hours = t('length.hours', { hours: Math.floor(seconds / hourS) });
  return minutes === 0 ? hours : `${hours} ${t('length.minutes', { minutes })}`;
}

/** Codes of failures that the page has words of its own for; `code_refused` has a reason besides, which the bridge says. */
export const knownProblems: readonly string[] = [
  ...['access_busy', 'access_denied', 'access_wait', 'code_refused', 'deadline', 'last_owner', 'queue_full', 'stopped'],
];

/** What a failure means where it is shown, by its code. */
export type Meanings = Readonly<Record<string, TextKey>>;

/** What is wrong with a member of what was sent, by the label that the page gives it. */
function fieldText({ field, detail }: { field: string; detail: string }, words: Words): string {
  const label = words.known('field', field);
  return `${label === undefined ? field : label}: ${detail}`;
}

/** What went wrong, in words. */
export function errorText(error: unknown, words: Words, meanings: Meanings = {}): string {
  const { t } = words;
  if (error instanceof OfflineError) return t('error.offline');
  if (error instanceof LateError) return t('error.late');
  if (error instanceof StrangeError) return t('error.strange', { status: `${error.status}` });
  if (!(error instanceof ApiError)) return t('error.page');
  const { problem, retryAfterS } = error;
  const fields = problem.errors?.map((one) => fieldText(one, words)).join('; ');
  const detail = problem.detail ?? fields ?? problem.title;
  const said = meant(problem.code, detail, words, meanings);
  return retryAfterS === undefined
    ? said
    : `${/[.!?]$/.test(said) ? said : `${said}.`} ${waitText(retryAfterS, words)}`;
}

function meant(code: string, detail: string, { t, word }: Words, meanings: Meanings): string {
  const key = meanings[code];
  if (key !== undefined) return t(key);
  if (!knownProblems.includes(code)) return detail;
  return code === 'code_refused' ? t('error.said', { text: word('problem', code), detail }) : word('problem', code);
}
