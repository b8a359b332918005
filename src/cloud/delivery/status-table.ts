import type { FailureKind } from '#lib/contract/client.ts';

/** What an answer's body is, as far as acceptance goes. */
export type BodyKind = 'empty' | 'json' | 'other';

/** What came of one try, reduced to what the table looks at. */
export interface Outcome {
  readonly status?: number;
  readonly body?: BodyKind;
  /** The event id in the answer, where there is one: ours, or another. */
  readonly echo?: 'same' | 'other';
  readonly retryAfter?: boolean;
  readonly failure?: FailureKind;
}

/** Why the line or the cloud holds events back; shown to people and in metrics. */
export type LinkTrouble = 'unreachable' | 'intercepted' | 'busy' | 'clock' | 'unauthorized' | 'forbidden';

export type Action =
  | { readonly do: 'accept' }
  /** This event alone: one more try after the wait, then parked with the reason. Others go on. */
  | { readonly do: 'again'; readonly waitMs: number }
  /** Once more at once on a new connection, then like a busy server. */
  | { readonly do: 'reconnect' }
  /** The origin rests; nothing is wrong with this event. Waits double from `fromMs` to `toMs`. */
  | {
      readonly do: 'rest';
      readonly trouble: LinkTrouble;
      readonly fromMs: number;
      readonly toMs: number;
      /** Whether news of the line (`linkUp`) ends the rest at once; false where a person must change something. */
      readonly endsWithLink: boolean;
      /**
       * The event itself may be the cause. When it alone fails while others pass it is parked, or waits by itself and
       * is never parked.
       */
      readonly blamed?: 'parks' | 'waits';
    };

/** Statuses and inclusive ranges. */
export type Statuses = readonly (number | readonly [from: number, to: number])[];

export interface StatusRow {
  readonly name: string;
  readonly when: {
    readonly status?: Statuses;
    readonly body?: readonly BodyKind[];
    readonly echo?: 'same' | 'other';
    readonly retryAfter?: boolean;
    readonly failure?: readonly FailureKind[];
  };
  readonly action: Action;
}

const second = 1_000;
const minute = 60_000;

const rest = (
  trouble: LinkTrouble,
  fromMs: number,
  toMs: number,
  more: { endsWithLink: boolean; blamed?: 'parks' | 'waits' },
): Action => ({ do: 'rest', trouble, fromMs, toMs, ...more });
/** What is sent is surely not the cause. */
const lineDown = (trouble: LinkTrouble) => rest(trouble, second, 5 * minute, { endsWithLink: true });
/** It may be down, or something on the way, or behind the server, does not like this event. */
const maybeDown = (trouble: LinkTrouble) => rest(trouble, second, 5 * minute, { endsWithLink: true, blamed: 'waits' });
const needsPerson = (trouble: LinkTrouble, fromMs: number, toMs: number, blamed?: 'waits') =>
  rest(trouble, fromMs, toMs, { endsWithLink: false, ...(blamed !== undefined && { blamed }) });
const again: Action = { do: 'again', waitMs: minute };

/**
 * What happens after one try to send an event; the first row that fits decides, and the last fits everything. A request
 * carries one event; any 2xx with an empty or JSON body is an acceptance. No row drops an event, and every state has a
 * timed exit.
 */
export const statusTable: readonly StatusRow[] = [
  {
    name: 'accepted, but for another event',
    when: { status: [[200, 299]], echo: 'other' },
    action: again,
  },
  { name: 'accepted', when: { status: [[200, 299]], body: ['empty', 'json'] }, action: { do: 'accept' } },
  { name: 'success with a page: intercepted line', when: { status: [[200, 299]] }, action: maybeDown('intercepted') },
  { name: 'redirect: never followed', when: { status: [[300, 399]] }, action: maybeDown('intercepted') },
  { name: 'proxy or portal wants a login', when: { status: [407, 511] }, action: maybeDown('intercepted') },
  { name: 'known under another id', when: { status: [409], echo: 'other' }, action: again },
  // Only what names our event shows that it is there; another conflict is no acceptance.
  { name: 'known already', when: { status: [409], echo: 'same' }, action: { do: 'accept' } },
  { name: 'refused as invalid', when: { status: [400, 422] }, action: again },
  { name: 'too large for the cloud', when: { status: [413] }, action: again },
  {
    name: 'refused with a fresh token',
    when: { status: [401] },
    action: needsPerson('unauthorized', minute, 15 * minute, 'waits'),
  },
  {
    name: 'not permitted, or the address is wrong',
    when: { status: [403, 404, 405, 410, 501, 505] },
    action: needsPerson('forbidden', 5 * minute, 60 * minute, 'waits'),
  },
  {
    name: 'our request is malformed',
    when: { status: [406, 415, 431] },
    action: needsPerson('forbidden', 5 * minute, 60 * minute, 'waits'),
  },
  { name: 'wrong connection', when: { status: [421] }, action: { do: 'reconnect' } },
  { name: 'too many requests', when: { status: [429] }, action: lineDown('busy') },
  {
    name: 'asks for a pause',
    when: { status: [503], retryAfter: true },
    action: lineDown('busy'),
  },
  {
    name: 'not now',
    when: { status: [408, 425, 502, 503, 504] },
    action: maybeDown('busy'),
  },
  {
    name: 'server error',
    when: { status: [[500, 599]] },
    action: rest('busy', second, 5 * minute, { endsWithLink: true, blamed: 'parks' }),
  },
  { name: 'another refusal', when: { status: [[400, 499]] }, action: again },
  {
    name: 'certificate not valid at this time',
    when: { failure: ['tls_time'] },
    action: rest('clock', second, minute, { endsWithLink: true }),
  },
  {
    name: 'somebody else answers',
    when: { failure: ['tls_untrusted', 'tls_name', 'garbled'] },
    action: maybeDown('intercepted'),
  },
  {
    name: 'line down',
    when: { failure: ['dns', 'refused', 'unreachable', 'timeout', 'reset', 'tls'] },
    action: maybeDown('unreachable'),
  },
  { name: 'answer too large', when: { failure: ['too_large'] }, action: maybeDown('intercepted') },
  { name: 'token server away', when: { failure: ['token_unreachable'] }, action: lineDown('unreachable') },
  {
    name: 'token server refuses',
    when: { failure: ['token_refused'] },
    action: needsPerson('unauthorized', minute, 30 * minute),
  },
  {
    name: 'address not allowed',
    when: { failure: ['forbidden_address'] },
    action: needsPerson('forbidden', 5 * minute, 60 * minute),
  },
  { name: 'anything else', when: {}, action: maybeDown('unreachable') },
];

/** The row that decides about an outcome. */
export function rowFor(outcome: Outcome): StatusRow {
  const row = statusTable.find(({ when }) => fits(when, outcome));
  if (row === undefined) throw new TypeError('the status table has no last row');
  return row;
}

function fits(when: StatusRow['when'], outcome: Outcome): boolean {
  return (
    (when.status === undefined || includesStatus(when.status, outcome.status)) &&
    (when.body === undefined || (outcome.body !== undefined && when.body.includes(outcome.body))) &&
    (when.echo === undefined || when.echo === outcome.echo) &&
    (when.retryAfter === undefined || when.retryAfter === (outcome.retryAfter ?? false)) &&
    (when.failure === undefined || (outcome.failure !== undefined && when.failure.includes(outcome.failure)))
  );
}

export const includesStatus = (statuses: Statuses, status: number | undefined): boolean =>
  status !== undefined &&
  statuses.some((range) => (typeof range === 'number' ? status === range : status >= range[0] && status <= range[1]));
