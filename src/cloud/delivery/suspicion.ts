import { retryAfterCapMs } from './breaker.ts';
import type { Action } from './status-table.ts';

/*
 * Who is at fault when the cloud does not take an event: this event, or the cloud and the line to it? What is known
 * goes in, the verdict comes out; no clock, no request. `attempts.ts` asks and does what it says.
 *
 * What others do tells: when something passes while this event fails, it is the event; when another fails as well, it
 * is the cloud. Where nobody else is there, an event the cloud has already is sent once more, the comparison.
 */

/** What is held against one event. */
export interface Suspicion {
  /** Tries that failed for a reason that may be its own. */
  readonly failures: number;
  /** What had passed when it began to fail, or when it was last found to fail alone. */
  readonly passedBefore: number;
  readonly takenBefore: number;
  /** Failures before that, and its own since: what is beyond are those of others. */
  readonly failedBefore: number;
  /** How often it was found to be the only one to fail. */
  readonly alone: number;
  /** How often it was refused. */
  readonly refused: number;
  /** The server failed on it while it took others; the next time it is parked. */
  readonly isLastTry: boolean;
  /** Its last try began with a comparison. */
  readonly compared: boolean;
}

export const unsuspected: Suspicion = {
  failures: 0,
  passedBefore: 0,
  takenBefore: 0,
  failedBefore: 0,
  alone: 0,
  refused: 0,
  isLastTry: false,
  compared: false,
};

/** What is known of the cloud. */
export interface Evidence {
  /** Answers that show it to be well, those to comparisons included. */
  readonly passed: number;
  /** Events that were new to it. One that can only read, or answers repeats out of a cache, takes none of them. */
  readonly taken: number;
  /** Failures that may be the fault of the event. */
  readonly failed: number;
  /** The number of the only event that failed since something passed, or that there were more. */
  readonly failing: number | 'many' | undefined;
}

export const noEvidence: Evidence = { passed: 0, taken: 0, failed: 0, failing: undefined };
export const afterPass = (before: Evidence): Evidence => ({
  ...before,
  ...{ passed: before.passed + 1, failing: undefined },
});

/** What came of one try. */
export interface Outcome {
  readonly action: Action;
  /** It failed before a byte of the event had left. */
  readonly isUnsent: boolean;
  readonly isAnswered: boolean;
  /** What the server asked for, milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/** Whether the cloud takes what it has already; `none` where it has nothing that could be sent again. */
export type Known = 'unasked' | 'passes' | 'fails' | 'none';

export interface Case {
  readonly seq: number;
  readonly silent: boolean;
  /** It has no row that could be parked. */
  readonly direct: boolean;
  readonly tries: number;
  readonly suspicion: Suspicion;
  readonly evidence: Evidence;
  readonly outcome: Outcome;
  readonly known: Known;
}

export type Rest = Pick<Extract<Action, { do: 'rest' }>, 'trouble' | 'fromMs' | 'toMs' | 'endsWithLink'>;

export type Verdict =
  | { readonly do: 'deliver' }
  /** The cloud or the line: the event keeps its place, and all rest. */
  | { readonly do: 'rest'; readonly rest: Rest }
  /** The event: it waits by itself, and others go on, unless all rest as well. */
  | ({ readonly do: 'apart'; readonly rest?: Rest } & Apart)
  | { readonly do: 'park'; readonly rest?: Rest };

export interface Apart {
  readonly waitMs: number;
  /** Younger ones of its key wait for it. */
  readonly keepsPlace: boolean;
  /** News that end the wait: of the line, or of an event that the cloud took. */
  readonly endsWithLink: boolean;
  readonly endsWithTaken: boolean;
  /** What people are told. */
  readonly tell?: 'alone' | 'refused';
}

export interface Judged {
  readonly suspicion: Suspicion;
  readonly evidence: Evidence;
  readonly verdict: Verdict;
}

/** Failures of one event, with something passing since the first, after which it waits by itself. */
const failsAloneFrom = 5;
/** After so many an event that the cloud has already is tried instead, while none has passed. */
const comparedFrom = 3;
/** Where nothing tells which of the two it is: after so many, others get their chance. */
const givesWayFrom = 10;
/** So often an event that alone fails keeps its place in its key: a quarter of an hour. */
const keepsPlaceFor = 4;
const minuteMs = 60_000;
const hourMs = 3_600_000;
/** The longest wait while nobody knows whether the cloud takes anything new. */
const untilTakenMs = 300_000;
/** Until another event is tried in place of the only one that failed. */
const brieflyMs = 1_000;
/** No line watch looks for the line of a silent event, so that it is tried this often itself. */
const unseenLineMs = 15_000;
/** The same where a person must change something: nobody sees that it waits. */
const unseenFaultMs = 60_000;
export const busy: Rest = { trouble: 'busy', fromMs: 1_000, toMs: untilTakenMs, endsWithLink: true };
const byTime = { keepsPlace: false, endsWithLink: false, endsWithTaken: false };

/** It failed for a reason that may be its own. */
export function mayBeAtFault({ silent, outcome }: Pick<Case, 'silent' | 'outcome'>): boolean {
  return !silent && outcome.action.do === 'rest' && outcome.action.blamed !== undefined && !outcome.isUnsent;
}

/** Before all rest for long, until a person changes something, it is told at once whether the others are meant too. */
export function isComparedAtOnce(one: Pick<Case, 'silent' | 'outcome'>): boolean {
  const { action } = one.outcome;
  return mayBeAtFault(one) && action.do === 'rest' && !action.endsWithLink;
}

/**
 * Others pass and this one fails: it is tried once more at once, before it waits by itself or is parked. A fault that has
 * just ended must not put an alarm behind its own end, and a server that fails by turns may have met it each time. Not
 * where no answer came, since another deadline would hold up its key, nor where the server asks for a pause.
 */
export function isHeldAgainst(one: Case): boolean {
  const { isAnswered, retryAfterMs } = one.outcome;
  return mayBeAtFault(one) && isAnswered && retryAfterMs === undefined && verdictOn(one).verdict.do !== 'rest';
}

/**
 * Whether a comparison goes before the next try: as the first in its line the event would be the probe again and again,
 * and no other could show that the cloud is well. Every second time, so that neither of the two decides alone.
 */
export function isComparedBefore({ compared, failures, passedBefore }: Suspicion, { passed }: Evidence): boolean {
  return !compared && failures >= comparedFrom && passed === passedBefore;
}

/** Where there is nothing to compare it with, any other event is the better probe. */
export const isPoorProbe = ({ failures }: Suspicion): boolean => failures >= comparedFrom;

export function verdictOn(one: Case): Judged {
  const { suspicion, evidence, outcome, silent } = one;
  const { action } = outcome;
  if (action.do === 'accept') {
    const seen = { ...afterPass(evidence), taken: evidence.taken + 1 };
    return { suspicion, evidence: seen, verdict: { do: 'deliver' } };
  }
  if (action.do === 'again') return { evidence, ...onRefusal(one, action.waitMs) };
  const rest = action.do === 'rest' ? action : busy;
  if (silent) {
    const toMs = rest.endsWithLink ? unseenLineMs : unseenFaultMs;
    return { suspicion, evidence, verdict: { do: 'apart', waitMs: waitOf(one, rest.fromMs, toMs), ...byTime } };
  }
  if (!mayBeAtFault(one)) return { suspicion, evidence, verdict: { do: 'rest', rest } };
  const failing = evidence.failing === undefined || evidence.failing === one.seq ? one.seq : 'many';
  const blamed = onFailure({ ...one, suspicion: begun(one) }, rest, action.do === 'rest' && action.blamed === 'parks');
  const { failedBefore } = blamed.suspicion;
  return {
    evidence: { ...evidence, failing, failed: evidence.failed + 1 },
    ...blamed,
    suspicion: { ...blamed.suspicion, failedBefore: failedBefore + 1 },
  };
}

/** The server lives and does not want this event: one more try by itself, then it is parked. */
function onRefusal(one: Case, waitMs: number): Omit<Judged, 'evidence'> {
  const { silent, suspicion } = one;
  const refused = { ...suspicion, refused: suspicion.refused + 1 };
  // Nobody could see that it is parked, nor put it back: a silent event is offered for as long as it takes.
  if (silent) return { suspicion: refused, verdict: { do: 'apart', waitMs: waitOf(one, waitMs, hourMs), ...byTime } };
  if (suspicion.refused === 0) return { suspicion: refused, verdict: { do: 'apart', waitMs, ...byTime } };
  return parked(one);
}

/** Without a row there is nothing to park: it is offered until it is accepted, or written and then parked. */
function parked(one: Case, rest?: Rest): Omit<Judged, 'evidence'> {
  const suspicion = { ...one.suspicion, refused: one.suspicion.refused + 1 };
  const too = rest === undefined ? {} : { rest };
  if (!one.direct) return { suspicion, verdict: { do: 'park', ...too } };
  const waitMs = waitOf(one, minuteMs, hourMs, suspicion.refused);
  return { suspicion, verdict: { do: 'apart', waitMs, ...byTime, ...too, tell: 'refused' } };
}

function begun({ suspicion, evidence }: Case): Suspicion {
  if (suspicion.failures > 0 || suspicion.alone > 0) return suspicion;
  const { passed, taken, failed } = evidence;
  return { ...suspicion, passedBefore: passed, takenBefore: taken, failedBefore: failed };
}

/**
 * It takes some of the others and fails on as many: an overloaded cloud, that this event has only met at bad moments. So
 * often only: two events on which alone it fails would call it that for each other, for ever.
 */
function isMoody({ suspicion, evidence }: Case): boolean {
  if (suspicion.failures >= givesWayFrom) return false;
  const taken = evidence.taken - suspicion.takenBefore;
  return taken > 0 && taken < 2 * (evidence.failed - suspicion.failedBefore);
}

function onFailure(one: Case, rest: Rest, parks: boolean): Omit<Judged, 'evidence'> {
  const { evidence, known } = one;
  // It failed once more after the comparison had passed.
  if (known === 'passes' && isComparedAtOnce(one)) return apartAlone(one);
  const suspicion = { ...one.suspicion, failures: one.suspicion.failures + 1 };
  if (evidence.passed === suspicion.passedBefore || known === 'fails')
    return {
      suspicion,
      verdict: known === 'none' ? onNothingKnown({ ...one, suspicion }, rest) : { do: 'rest', rest },
    };
  if (suspicion.failures < failsAloneFrom || isMoody({ ...one, suspicion }))
    return { suspicion, verdict: { do: 'rest', rest } };
  // A comparison that passes does not show that another new event would: for want of one nothing is parked.
  if (!parks || evidence.taken === suspicion.takenBefore) return apartAlone({ ...one, suspicion });
  if (suspicion.isLastTry) return parked({ ...one, suspicion }, rest);
  // Something must pass once more, or an outage that begins now would park it.
  return { suspicion: { ...suspicion, isLastTry: true, passedBefore: evidence.passed }, verdict: givesWay(rest) };
}

/** The cloud has nothing that could be sent again, as on the first day: only other events can tell. */
function onNothingKnown(one: Case, rest: Rest): Verdict {
  const { seq, evidence, suspicion } = one;
  const othersFail = evidence.failing !== undefined && evidence.failing !== seq;
  if (rest.endsWithLink || othersFail) return suspicion.failures < givesWayFrom ? { do: 'rest', rest } : givesWay(rest);
  return {
    ...{ do: 'apart', waitMs: waitOf(one, rest.fromMs, rest.toMs, suspicion.failures) },
    ...{ keepsPlace: true, endsWithLink: false, endsWithTaken: true },
    rest: briefly(rest),
  };
}

/** Not all for long on the word of one: whichever comes next is tried at once, and tells whether all are meant. */
export const briefly = (rest: Rest): Rest => ({ ...rest, fromMs: brieflyMs, toMs: brieflyMs });

/** Others of its key get their chance, after all have rested. */
const givesWay = (rest: Rest): Verdict => ({
  ...{ do: 'apart', waitMs: minuteMs, rest },
  ...{ keepsPlace: false, endsWithLink: true, endsWithTaken: false },
});

/**
 * Never parked: a gateway, a filter or a permission is mended without anybody thinking of this event. At first it keeps
 * its place, since what comes and goes must not change the order of its key.
 */
function apartAlone(one: Case): Omit<Judged, 'evidence'> {
  const { suspicion, evidence, outcome } = one;
  const alone = suspicion.alone + 1;
  const othersTaken = evidence.taken > suspicion.takenBefore;
  return {
    suspicion: { ...suspicion, alone, passedBefore: evidence.passed, compared: false },
    verdict: {
      do: 'apart',
      waitMs: waitOf(one, minuteMs, othersTaken ? hourMs : untilTakenMs, alone),
      keepsPlace: alone <= keepsPlaceFor,
      endsWithLink: outcome.action.do === 'rest' && outcome.action.endsWithLink,
      endsWithTaken: !othersTaken,
      ...(alone === 1 && { tell: 'alone' as const }),
    },
  };
}

/** Longer with each try, and at least as long as the server asks for. */
function waitOf({ outcome, tries }: Case, fromMs: number, toMs: number, nth = tries): number {
  const own = Math.min(toMs, fromMs * 2 ** Math.min(nth - 1, 20));
  const { retryAfterMs } = outcome;
  return Math.max(own, retryAfterMs === undefined ? 0 : Math.min(retryAfterMs, retryAfterCapMs) + 1_000);
}
