import { type ParkedEntry, parkedList, type WaitingEntry, waitingList } from '#lan/http/index.ts';
import { answered, type Control, patience } from '../control.ts';

/** As many as the daemon gives at once. */
const pageSize = 200;

/** Parked events, newest first, page by page; at most `limit`. */
export async function* parkedPages(control: Control, limit: number): AsyncGenerator<readonly ParkedEntry[]> {
  let before: number | undefined;
  for (let left = limit; left > 0; ) {
    const query = { limit: Math.min(left, pageSize), before };
    const { json } = answered(await control.client.listParked({ query, signal: patience() }));
    const { items, next_before: next } = parkedList.parse(json);
    if (items.length > 0) yield items;
    if (next === null) return;
    left -= items.length;
    before = next;
  }
}

/** Numbers of all parked events, newest first. */
export async function allParked(control: Control): Promise<readonly number[]> {
  const seqs: number[] = [];
  for await (const page of parkedPages(control, Number.POSITIVE_INFINITY)) seqs.push(...page.map(({ seq }) => seq));
  return seqs;
}

export interface WaitingFilter {
  readonly limit: number;
  readonly lane?: WaitingEntry['lane'];
  readonly partition?: string;
}

/** Waiting events, oldest first, page by page; at most `limit`. */
export async function* waitingPages(
  control: Control,
  { limit, lane, partition }: WaitingFilter,
): AsyncGenerator<readonly WaitingEntry[]> {
  let after = 0;
  for (let left = limit; left > 0; ) {
    const query = { limit: Math.min(left, pageSize), after, lane, partition };
    const { json } = answered(await control.client.listWaiting({ query, signal: patience() }));
    const { items, next_after: next } = waitingList.parse(json);
    if (items.length > 0) yield items;
    if (next === null) return;
    left -= items.length;
    after = next;
  }
}
