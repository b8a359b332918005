import type { FailureKind } from '#lib/contract/client.ts';
import { includesStatus, type Statuses } from './status-table.ts';
import type { UploadAnswer } from './upload-answer.ts';

/** What happens after one try to upload a picture or clip. */
export type UploadAction =
  | 'uploaded'
  /** The address is of no use: ask for another under the same event id. */
  | 'ask'
  /** Part of it is there: the rest at once. */
  | 'resume'
  /** The place is busy or away: the same address later. */
  | 'later'
  /** This file will never be taken. */
  | 'failed';

export interface UploadRow {
  readonly name: string;
  readonly when: {
    readonly status?: Statuses;
    /** What an answer of success shows; `stored` where nothing is given. */
    readonly answer?: UploadAnswer;
    readonly failure?: readonly FailureKind[];
    /** Only where cut uploads may go on (`upload_resume`). */
    readonly resumable?: true;
  };
  readonly action: UploadAction;
}

/** What happens after one try to upload a picture or clip; the first row that fits decides, and the last fits everything. */
export const uploadTable: readonly UploadRow[] = [
  { name: 'success with a page: intercepted line', when: { status: [[200, 299]], answer: 'page' }, action: 'later' },
  { name: 'success nobody can read', when: { status: [[200, 299]], answer: 'garbled' }, action: 'later' },
  { name: 'the storage has something else', when: { status: [[200, 299]], answer: 'other' }, action: 'ask' },
  { name: 'uploaded', when: { status: [[200, 299]] }, action: 'uploaded' },
  { name: 'incomplete', when: { status: [308], resumable: true }, action: 'resume' },
  { name: 'redirect: never followed', when: { status: [[300, 399]] }, action: 'ask' },
  { name: 'not now', when: { status: [408, 425, 429] }, action: 'later' },
  { name: 'too large', when: { status: [413] }, action: 'failed' },
  { name: 'wrong kind of file', when: { status: [415] }, action: 'failed' },
  { name: 'address expired or unknown', when: { status: [[400, 499]] }, action: 'ask' },
  { name: 'server error', when: { status: [[500, 599]] }, action: 'later' },
  { name: 'address not allowed', when: { failure: ['forbidden_address'] }, action: 'ask' },
  { name: 'line down', when: {}, action: 'later' },
];

export function uploadRowFor(outcome: {
  status?: number;
  answer?: UploadAnswer;
  failure?: FailureKind;
  resumable?: boolean;
}): UploadRow {
  const row = uploadTable.find(
    ({ when }) =>
      (when.status === undefined || includesStatus(when.status, outcome.status)) &&
      (when.resumable === undefined || outcome.resumable === true) &&
      (when.answer === undefined || outcome.answer === when.answer) &&
      (when.failure === undefined || (outcome.failure !== undefined && when.failure.includes(outcome.failure))),
  );
  if (row === undefined) throw new TypeError('the upload table has no last row');
  return row;
}
