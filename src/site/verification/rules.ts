import type {
  AuditDraft,
  Deadline,
  HandedRequest,
  VerificationRefusal as Refusal,
  ReplyCode,
  Stamp,
  VerificationAction,
  VerificationDocument,
  VerificationState,
} from '#site/model/index.ts';
import { isoTime } from '#site/model/index.ts';
import type { AboutEvent, Book, Fate, KeptAnswer, Outgoing, Verification } from './types.ts';

/**
 * The rules of alarm verification (safety 6, S-150 to S-157): the book and what happens in, the next
 * book and what is to be told out. Pure: no clock, no store, no line.
 */

/** Requests without an end at a time; one more is refused, so that no flood can push out what somebody must answer. */
export const openCap = 32;
/** Ended ones that are kept for people; the oldest give way. */
export const keptCap = 200;
const answersCap = 8;
/** Without a deadline of the service. */
const lifeMs = 10 * 60_000;
/** A deadline further ahead is a mistake. */
const longestMs = 24 * 3_600_000;
/** The service judges by its own clock (S-151): an answer is tried so long past the deadline as ours knows it. */
export const graceMs = 120_000;
const futureMs = 30_000;

export interface Step<R> {
  readonly book: Book;
  /** Ids whose record is to be written; one that is no longer in the book is to be deleted. */
  readonly changed: readonly string[];
  readonly audit: readonly AuditDraft[];
  readonly result: R;
}

const refused = (code: ReplyCode, field?: string): Refusal => ({
  outcome: code === 'EXPIRED' ? 'expired' : 'refused',
  code,
  ...(field === undefined ? {} : { field }),
});

const same = <R>(book: Book, result: R): Step<R> => ({ book, changed: [], audit: [], result });

/** Milliseconds until `due`: on the monotonic clock within one boot, else on the wall clock. */
export const leftMs = (at: Stamp, due: Deadline): number =>
  at.boot === due.boot ? due.mono - at.mono : due.wall - at.wall;

/** Over by a clock that can be trusted: after a start of the machine one in doubt ends nothing. */
function isPast(at: Stamp, due: Deadline, graceMs = 0): boolean {
  if (at.boot !== due.boot && at.clock === 'doubtful') return false;
  return leftMs(at, due) + graceMs <= 0;
}

export interface Origin {
  readonly source: 'lan' | 'cli';
  readonly client: string;
}

export type Asked = 'done' | 'already' | Refusal;

/** A request comes in. The same one again is no second one; another under its id is refused. */
export function ask(
  book: Book,
  request: HandedRequest,
  { about, from, at }: { about: AboutEvent | undefined; from: Origin; at: Stamp },
): Step<Asked> {
  const id = request.verification_id.toLowerCase();
  const expiresAt = request.expires_at === undefined ? undefined : Date.parse(request.expires_at);
  const known = book.get(id);
  if (known !== undefined) {
    const isSameTime = request.expires_in_s !== undefined || known.expiresAt === expiresAt;
    const isSame = known.contact === request.contact_id && known.event?.id === request.event_id && isSameTime;
    return same(book, isSame ? 'already' : refused('ID_CONFLICT', 'verification_id'));
  }
  // With a clock in doubt nobody knows what a deadline means; the request lives as one without.
  const livesMs = request.expires_in_s === undefined ? lifeMs : request.expires_in_s * 1000;
  const asksMs = expiresAt === undefined || at.clock === 'doubtful' ? livesMs : expiresAt - at.wall;
  if (asksMs <= 0) return same(book, refused('EXPIRED', 'expires_at'));
  if (asksMs > longestMs) return same(book, refused('FUTURE', 'expires_at'));
  const isAlike = (one: Verification) => isSilent(one) === (about?.silent === true);
  if ([...book.values()].filter((one) => isAlike(one) && isOpen(one)).length >= openCap)
    return same(book, refused('BUSY'));
  const added: Verification = {
    version: 1,
    id,
    contact: request.contact_id,
    ...(about === undefined ? {} : { event: about }),
    asked: at,
    due: { mono: at.mono + asksMs, wall: at.wall + asksMs, boot: at.boot },
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...from,
    answers: [],
  };
  const { kept, gone } = trimmed(new Map([...book, [id, added]]));
  const entry: AuditDraft = {
    kind: 'command',
    source: from.source,
    client_id: from.client,
    target: targetOf(id),
    action: 'verification_asked',
    outcome: 'done',
    ...eyesFor(added),
  };
  return { book: kept, changed: [id, ...gone], audit: [entry], result: 'done' };
}

/** What somebody says to a verification, after the code was checked. */
export interface Given {
  readonly verificationId: string;
  readonly action: VerificationAction;
  readonly commandId: string;
  readonly origin: Origin;
  /** The user of the code, or the account of the guard. */
  readonly by: string;
  /** The contact that is bound to them; undefined: none. */
  readonly contact: number | undefined;
  /** The contact the command names, if any: it must be theirs. */
  readonly named?: number;
  readonly mayAnswer: boolean;
  readonly duress: boolean;
  /** The moment of the press as the client tells it, wall clock milliseconds. */
  readonly pressedAt: number;
  /** Why the command as such was refused already: then only a call for help is left of it. */
  readonly refusal?: Refusal;
}

export type Answered = { readonly outcome: 'done' | 'already'; readonly n: number } | Refusal;

/**
 * An answer. The first one stands, but a `dispatch` overrides a `disregard`, never the reverse. Under duress the result is
 * what it would be without, byte for byte, and `dispatch` is what the service hears (safety 6).
 */
export function answer(book: Book, given: Given, at: Stamp): Step<Answered> {
  const kept = book.get(given.verificationId.toLowerCase());
  // What nobody sees is unknown to whoever answers.
  const found = kept === undefined || isSilent(kept) ? undefined : kept;
  const judged = given.refusal ?? judge(found, given, at);
  if (found === undefined)
    return same(book, judged === 'accept' ? refused('UNKNOWN_TARGET', 'verification_id') : judged);
  const isAccepted = judged === 'accept';
  const result: Answered = isAccepted ? { outcome: 'done', n: found.answers.length } : judged;
  const hasDispatch = found.answers.some((one) => one.action === 'dispatch' && !isLost(one));
  const calls =
    given.duress && !hasDispatch && !isPast(at, found.due, graceMs) && found.answers.length < 2 * answersCap;
  if (!isAccepted && !calls) return same(book, result);
  const pressedAt = Math.min(Math.max(given.pressedAt, found.asked.wall), at.wall);
  const added: KeptAnswer = {
    action: isAccepted && !calls && !hasDispatch ? given.action : 'dispatch',
    shown: isAccepted ? given.action : null,
    contact: given.contact ?? found.contact,
    by: given.by,
    command: given.commandId,
    at: { ...at, wall: pressedAt, mono: at.mono - (at.wall - pressedAt) },
    fate: 'waiting',
  };
  const before = added.shown === 'dispatch' ? overridden(found, at) : { next: found, audit: [] };
  const next = new Map(book).set(found.id, { ...found, answers: [...before.next.answers, added] });
  return { book: next, changed: [found.id], audit: [...before.audit, ...answerAudit(found, added, given)], result };
}

/** What waits to be sent as `disregard`, as operators see it, ends: the `dispatch` waits behind nothing. */
function overridden(found: Verification, at: Stamp): { next: Verification; audit: readonly AuditDraft[] } {
  let [next, audit]: [Verification, readonly AuditDraft[]] = [found, []];
  for (const [n, { fate, shown }] of found.answers.entries()) {
    if (fate !== 'waiting' || shown !== 'disregard') continue;
    const end = ended(next, n, { fate: 'unsent', reason: 'OVERRIDDEN', fateAt: at.wall });
    next = end.next;
    audit = [...audit, ...end.audit];
  }
  return { next, audit };
}

function judge(found: Verification | undefined, given: Given, at: Stamp): 'accept' | Answered {
  if (found === undefined) return refused('UNKNOWN_TARGET', 'verification_id');
  if (!given.mayAnswer) return refused('NOT_ALLOWED', 'code');
  if (given.contact === undefined) return refused('FORBIDDEN', 'contact_id');
  if (given.named !== undefined && given.named !== given.contact) return refused('FORBIDDEN', 'contact_id');
  if (given.pressedAt > at.wall + futureMs && at.clock !== 'doubtful') return refused('FUTURE', 'responded_at');
  const repeat = found.answers.findIndex((one) => one.command === given.commandId && one.shown === given.action);
  if (repeat >= 0) return { outcome: 'done', n: repeat };
  const n = found.answers.findLastIndex((one) => one.shown !== null);
  const standing = found.answers[n];
  if (standing?.fate === 'gone') return refused('VERIFICATION_GONE');
  if (found.expired !== undefined || isPast(at, found.due)) return refused('EXPIRED');
  if (standing === undefined) return 'accept';
  if (standing.shown === 'dispatch' && given.action === 'disregard') return refused('ALREADY_ANSWERED', 'action');
  if (standing.shown === given.action && !isLost(standing)) return { outcome: 'already', n };
  return found.answers.filter((one) => one.shown !== null).length < answersCap ? 'accept' : refused('BUSY');
}

/** The service did not take it, and will not. */
const isLost = ({ fate }: KeptAnswer): boolean => fate === 'refused' || fate === 'gone' || fate === 'unsent';

const targetOf = (id: string): string => `verification:${id}`;

function answerAudit({ id }: Verification, added: KeptAnswer, given: Given): AuditDraft[] {
  const entry = (action: VerificationAction): AuditDraft => ({
    kind: 'command',
    source: given.origin.source,
    actor_ref: given.by,
    client_id: given.origin.client,
    command_id: given.commandId,
    target: targetOf(id),
    action: `verification_${action}`,
    outcome: 'accepted',
  });
  const told = added.shown === null ? [] : [entry(added.shown)];
  if (added.shown === added.action) return told;
  // What stands was never shown, or is shown as something else: who must not know it is not told here either.
  const reason = given.duress ? 'DURESS' : 'DISPATCH_STANDS';
  return [...told, { ...entry(added.action), reason, visibility: 'auditor' }];
}

/** The service has spoken about an answer, as it was sent. */
export function settle(
  book: Book,
  sent: Pick<Outgoing, 'verificationId' | 'n'> & Partial<Pick<Outgoing, 'action'>>,
  told: { readonly fate: Fate; readonly reason?: string },
  at: Stamp,
): Step<boolean> {
  const found = book.get(sent.verificationId);
  const one = found?.answers[sent.n];
  if (found === undefined || one?.fate !== 'waiting') return same(book, false);
  const { next, audit } = ended(found, sent.n, { ...told, action: sent.action ?? one.action, fateAt: at.wall });
  return { book: new Map(book).set(found.id, next), changed: [found.id], audit, result: true };
}

type End = Pick<KeptAnswer, 'fate' | 'reason'> & { readonly action?: VerificationAction; readonly fateAt: number };

function ended(found: Verification, n: number, end: End): { next: Verification; audit: AuditDraft[] } {
  const answers = found.answers.map((one, index) => (index === n ? { ...one, ...end } : one));
  const one = answers[n];
  const why = end.reason === 'OVERRIDDEN' ? end.reason : end.fate.toUpperCase();
  const entry = (action: VerificationAction): AuditDraft => ({
    kind: 'command',
    source: 'verification',
    target: targetOf(found.id),
    action: `verification_${action}`,
    outcome: end.fate === 'recorded' ? 'done' : 'failed',
    ...(end.fate === 'recorded' ? {} : { reason: end.fate === 'gone' ? 'VERIFICATION_GONE' : why }),
  });
  const told = one === undefined || one.shown === null ? [] : [entry(one.shown)];
  const truth =
    one === undefined || one.shown === one.action ? [] : [{ ...entry(one.action), visibility: 'auditor' } as const];
  return { next: { ...found, answers }, audit: [...told, ...truth] };
}

/** Time has gone on: what nobody has answered expires, what could not be sent is given up. */
export function elapse(book: Book, at: Stamp): Step<undefined> {
  const next = new Map(book);
  const changed: string[] = [];
  const audit: AuditDraft[] = [];
  for (const found of book.values()) {
    let one = found;
    for (const [n, { fate }] of found.answers.entries()) {
      if (fate !== 'waiting' || !isPast(at, found.due, graceMs)) continue;
      const end = ended(one, n, { fate: 'unsent', fateAt: at.wall });
      one = end.next;
      audit.push(...end.audit);
    }
    if (isUnanswered(one) && isPast(at, one.due)) {
      one = { ...one, expired: at.wall };
      const target = targetOf(one.id);
      audit.push({
        kind: 'command',
        source: 'verification',
        target,
        action: 'verification_expired',
        outcome: 'expired',
        ...eyesFor(one),
      });
    }
    if (one === found) continue;
    next.set(one.id, one);
    changed.push(one.id);
  }
  return { book: next, changed, audit, result: undefined };
}

/** About an event that only the auditor sees: nobody else sees the request, which waits for its deadline (safety 4). */
export const isSilent = ({ event }: Pick<Verification, 'event'>): boolean => event?.silent === true;

const eyesFor = (one: Verification): Pick<AuditDraft, 'visibility'> => (isSilent(one) ? { visibility: 'auditor' } : {});

const isUnanswered = ({ answers, expired }: Verification): boolean =>
  expired === undefined && answers.every(({ shown }) => shown === null);

const hasEnded = (one: Verification): boolean =>
  !isUnanswered(one) && one.answers.every(({ fate }) => fate !== 'waiting');

/** By what operators see, so that an answer they do not see takes no place. */
const isOpen = (one: Verification): boolean =>
  isUnanswered(one) || one.answers.some(({ fate, shown }) => fate === 'waiting' && shown !== null);

/** When `elapse` has something to do next, milliseconds; undefined: never. */
export function nextMs(book: Book, at: Stamp): number | undefined {
  const waits = [...book.values()].flatMap((one) => {
    const left = leftMs(at, one.due);
    const unsent = one.answers.some(({ fate }) => fate === 'waiting') ? [left + graceMs] : [];
    return isUnanswered(one) ? [left, ...unsent] : unsent;
  });
  return waits.length === 0 ? undefined : Math.max(0, Math.min(...waits));
}

/**
 * What waits to be sent. A `dispatch` waits behind nothing, not even behind another one. A `disregard` before one that
 * operators do not see goes on as they see it, and carries what stands: the service never hears it after the `dispatch`.
 */
export function outgoing(book: Book, at: Stamp): readonly Outgoing[] {
  return [...book.values()].flatMap(({ id, answers }) => {
    const stands = answers.findLast((one) => one.action === 'dispatch' && !isLost(one));
    return answers.flatMap((one, n) => {
      if (one.fate !== 'waiting') return [];
      const { action, contact: contactId } = one.action === 'disregard' && stands !== undefined ? stands : one;
      const respondedAt = pressed(action === one.action ? one : (stands ?? one), at);
      const isPlain = one.shown === action;
      return [{ verificationId: id, n, action, contactId, respondedAt, isShown: one.shown !== null, isPlain }];
    });
  });
}

/** A press under a clock in doubt is told by the monotonic clock once the wall clock is good. */
function pressed({ at: then }: KeptAnswer, now: Stamp): number {
  const corrects = then.clock === 'doubtful' && now.clock !== 'doubtful' && then.boot === now.boot;
  return corrects ? now.wall - (now.mono - then.mono) : then.wall;
}

/** Those nobody sees take no place of the others. */
function trimmed(book: Map<string, Verification>): { kept: Book; gone: readonly string[] } {
  const over = [...book.values()].filter(hasEnded);
  const oldest = (some: readonly Verification[]) => some.slice(0, Math.max(0, some.length - keptCap));
  const seen = oldest(over.filter((one) => !isSilent(one)));
  const gone = [...seen, ...oldest(over.filter(isSilent))].map(({ id }) => id);
  for (const id of gone) book.delete(id);
  return { kept: book, gone };
}

/** As operators see it. */
export function shown(one: Verification): VerificationDocument {
  const { event } = one;
  const answers = one.answers.filter((given) => given.shown !== null);
  return {
    verification_id: one.id,
    state: stateOf(one, answers),
    contact_id: one.contact,
    ...(event === undefined ? {} : { event_id: event.id }),
    ...(event?.kind === undefined ? {} : { kind: event.kind }),
    ...(event?.incident === undefined ? {} : { incident_id: event.incident }),
    ...(event?.partition === undefined ? {} : { partition: event.partition }),
    ...(event?.zone === undefined ? {} : { zone: event.zone }),
    asked_at: isoTime(one.asked.wall),
    expires_at: isoTime(one.due.wall),
    answers: answers.map((given) => ({
      action: given.shown ?? given.action,
      contact_id: given.contact,
      by: given.by,
      responded_at: isoTime(given.at.wall),
      fate: given.fate,
      ...(given.fateAt === undefined ? {} : { fate_at: isoTime(given.fateAt) }),
      ...(given.reason === undefined ? {} : { reason: given.reason }),
    })),
  };
}

function stateOf({ expired }: Verification, answers: readonly KeptAnswer[]): VerificationState {
  return answers.at(-1)?.fate ?? (expired === undefined ? 'open' : 'expired');
}
