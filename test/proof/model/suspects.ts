import { nothingSent } from '#cloud/client/index.ts';
import type { FailureKind } from '#lib/contract/client.ts';
import { rowFor, type StatusRow } from '../../../src/cloud/delivery/status-table.ts';
import { type Entry, entriesOf, type History, type Put } from './history.ts';
import type { Try } from './tries.ts';

type Posted = Extract<Entry, { what: 'posted' }>;

/** The row of the status table for an answer that was no acceptance. */
function rowOf({ status, failure, retryAfterMs }: Posted): StatusRow {
  if (status === undefined) return rowFor({ failure: failure as FailureKind });
  return rowFor({ status, body: 'other', retryAfter: retryAfterMs !== undefined });
}

/** A request that the box gave up by itself, the line being a new one, says nothing. */
const isGivenUp = ({ failure = '' }: Posted): boolean => failure.startsWith('Error:');

/** How the event may be at fault for what came of a try; undefined where it is not. */
export function blameOf(answer: Posted): 'parks' | 'waits' | 'needs a person' | undefined {
  if (answer.taken || isGivenUp(answer)) return undefined;
  const { action } = rowOf(answer);
  if (action.do !== 'rest' || nothingSent.has(answer.failure as FailureKind)) return undefined;
  return action.blamed === 'waits' && !action.endsWithLink ? 'needs a person' : action.blamed;
}

/** After it nothing is sent for a while. */
export const restsOrigin = (answer: Posted): boolean =>
  !answer.taken && !isGivenUp(answer) && rowOf(answer).action.do === 'rest';

/** It is said of this event, and not of the line: it waits by itself, or is parked. */
export const isRefusal = (answer: Posted): boolean =>
  !answer.taken && !isGivenUp(answer) && (rowOf(answer).action.do === 'again' || answer.status === 409);

const bySilent = (history: Pick<History, 'entries'>): ReadonlySet<string> =>
  new Set(entriesOf(history, 'numbered').flatMap(({ silent, eventId }) => (silent ? [eventId] : [])));

/**
 * The places of the comparisons: one extra request, under its own id, with an event that the cloud is known to have,
 * after a failure of another that may be its own fault and that it does not have. One for each failure.
 */
export function comparisonsOf(history: Pick<History, 'entries'>): ReadonlySet<number> {
  const silent = bySilent(history);
  const puts = entriesOf(history, 'numbered');
  const media = new Set(puts.flatMap((put) => (put.media ? [put.eventId] : [])));
  const idOf = new Map(puts.map(({ seq, eventId }) => [seq, eventId]));
  const settled = new Set<string>();
  let taken = new Set<string>();
  let sent = new Map<number, string>();
  let suspects = new Map<string, boolean>();
  const found = new Set<number>();
  for (const [at, entry] of history.entries.entries()) {
    if (entry.what === 'life') [taken, sent, suspects] = [new Set(), new Map(), new Map()];
    if (entry.what === 'settled') for (const seq of entry.seqs) settled.add(idOf.get(seq) ?? '');
    if (entry.what === 'post') {
      const { nth, eventId } = entry;
      sent.set(nth, eventId);
      const isKnown = taken.has(eventId) || settled.has(eventId);
      const suspect = isKnown ? [...suspects].find(([id, isOpen]) => isOpen && id !== eventId) : undefined;
      if (suspect === undefined) continue;
      found.add(at);
      // It may as well be a request for fresh addresses.
      if (!media.has(eventId)) suspects.set(suspect[0], false);
    }
    if (entry.what !== 'posted') continue;
    const id = sent.get(entry.nth) ?? '';
    if (entry.taken) {
      taken.add(id);
      suspects.delete(id);
    } else if (!silent.has(id)) {
      const blame = blameOf(entry);
      // One that was taken and is asked again for addresses may alone not be permitted any more.
      const isHad = taken.has(id) || settled.has(id);
      const mayBeAtFault = isHad ? media.has(id) && blame === 'needs a person' : blame !== undefined;
      if (suspects.has(id) || mayBeAtFault) suspects.set(id, true);
    }
  }
  return found;
}

/** Failures with something passing since the first, after which an event that may be at fault waits by itself. */
const failsAloneFrom = 5;
/** Found to fail alone so often, it no longer keeps its place in its key. */
const losesPlaceFrom = 5;
/** While nothing was taken, others of its key get their chance after so many failures. */
const givesWayFrom = 10;

/** Whether others of its key, alarms or not, may go before it: it was refused, or is known to fail alone. */
export function waitsAlone({ entries }: History, late: Put, tries: readonly Try[], before: number): boolean {
  if (late.silent) return true;
  const past = tries.flatMap(({ life, answer, answerAt = before }) =>
    answer !== undefined && answerAt < before ? [{ life, answer, answerAt }] : [],
  );
  if (past.some(({ answer }) => isRefusal(answer))) return true;
  const life = past.at(-1)?.life;
  const failures = past.filter((one) => one.life === life && blameOf(one.answer) !== undefined);
  const began = failures[0]?.answerAt ?? before;
  const passed = (to: number) => entries.slice(began, to).some((entry) => entry.what === 'posted' && entry.taken);
  const alone = failures.filter(
    ({ answer, answerAt }, at) =>
      passed(answerAt) && (at + 1 >= failsAloneFrom || blameOf(answer) === 'needs a person'),
  );
  if (alone.some(({ answer }) => blameOf(answer) === 'parks')) return true;
  return alone.length >= losesPlaceFrom || (failures.length >= givesWayFrom && !passed(before));
}
