import type { Logger } from 'pino';
import { nothingSent } from '#cloud/client/index.ts';
import type { Clock } from '#lib/clock.ts';
import { crashPoint } from '#lib/crash-point.ts';
import type { PendingRow } from '#site/store/index.ts';
import type { Sent } from './address-book.ts';
import type { Breaker } from './breaker.ts';
import type { Feed } from './feed.ts';
import type { Item } from './item.ts';
import type { DeliveryMetrics } from './metrics.ts';
import type { Judgement } from './outcome.ts';
import { numberIn, placeOf } from './place.ts';
import type { Queue } from './queue.ts';
import type { Send } from './send.ts';
import type { Settler } from './settler.ts';
import type { LinkTrouble } from './status-table.ts';
import {
  type Apart,
  afterPass,
  briefly,
  busy,
  type Case,
  isComparedAtOnce,
  isComparedBefore,
  isHeldAgainst,
  isPoorProbe,
  type Known,
  mayBeAtFault,
  noEvidence,
  type Outcome,
  type Rest,
  verdictOn,
} from './suspicion.ts';

/** Requests with events, and what follows from their answers. */
export interface Attempts {
  launch(item: Item): void;
  /** Sends an accepted event once more, for its upload addresses. What the origin asks for holds for events too. */
  repeat: Send;
  /** Requests under way. */
  readonly size: number;
  /** Those of `repeat`. */
  readonly repeats: number;
  /** As a probe it comes after all others: nothing else could show whether it alone fails. */
  isPoorProbe(item: Item): boolean;
  /** Requests under way are given up and their events wait again: the line they went out on is gone. */
  restart(): void;
  /** Resolves when none is under way. */
  ended(): Promise<void>;
}

export interface AttemptsOptions {
  readonly send: Send;
  readonly queue: Queue;
  readonly breaker: Breaker;
  readonly feed: Pick<Feed, 'accepted'>;
  readonly settler: Pick<Settler, 'add'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: DeliveryMetrics;
  /** Ends all of them for good. */
  readonly signal: AbortSignal;
  readonly onAccepted: (row: PendingRow, sent: Sent) => void;
  /** An event the cloud has already, from a former run; undefined when there is none. */
  readonly known: () => Promise<PendingRow | undefined>;
  /** A try that may be seen has ended; `sent` tells how. */
  readonly onTried: (sent: Sent) => void;
  /** An event has got its verdict. */
  readonly onDecided: () => void;
  /** The cloud takes events again, after so many milliseconds of trouble. */
  readonly onOpened: (outageMs: number, trouble: LinkTrouble | undefined) => void;
  /** A slot is free. */
  readonly onEnded: () => void;
}

/** One request with an event, and when it began. */
interface Tried {
  readonly sent: Sent;
  readonly sentMono: number;
  readonly known: Known;
}

const asideCap = 512;

const outcomeOf = ({ judgement }: Sent): Outcome => ({
  action: judgement.row.action,
  isUnsent: judgement.failure !== undefined && nothingSent.has(judgement.failure),
  isAnswered: judgement.failure === undefined,
  retryAfterMs: judgement.retryAfterMs,
});

export function createAttempts(options: AttemptsOptions): Attempts {
  const { queue, breaker, clock, log, metrics, send } = options;
  const flights = new Set<Promise<void>>();
  let line = new AbortController();
  let evidence = noEvidence;
  let passedAtRest = 0;
  let repeats = 0;
  let comparing: Promise<Known> | undefined;
  /** The newest event of which it is certain that the cloud has it. */
  let lastAccepted: PendingRow | undefined;
  options.signal.addEventListener('abort', () => line.abort(options.signal.reason), { once: true });

  function launch(item: Item): void {
    queue.started(item, clock.monotonic());
    const flight = attempt(item, line.signal).finally(() => {
      flights.delete(flight);
      options.onEnded();
    });
    flights.add(flight);
  }

  async function attempt(item: Item, signal: AbortSignal): Promise<void> {
    let tried: Tried | undefined;
    try {
      tried = (await mayTry(item)) ? await tryNow(item, signal) : undefined;
    } catch (error) {
      const { eventId, silent } = item.row;
      if (!signal.aborted && silent !== true)
        log.error({ err: error, eventId }, 'sending an event failed unexpectedly');
    }
    if (tried === undefined) return queue.back(item);
    conclude(item, tried);
    if (item.row.silent !== true) options.onTried(tried.sent);
  }

  /** False where a comparison goes before the try and does not pass. */
  async function mayTry(item: Item): Promise<boolean> {
    const compared = isComparedBefore(item.suspicion, evidence);
    item.suspicion = { ...item.suspicion, compared };
    return !compared || ((await compare()) !== 'fails' && breaker.waitMs() === 0);
  }

  async function tryNow(item: Item, signal: AbortSignal): Promise<Tried> {
    const first = await tryOnce(item.row, signal);
    const at = { silent: item.row.silent === true, outcome: outcomeOf(first.sent) };
    if (!mayBeAtFault(at)) return { ...first, known: 'unasked' };
    if ((await findKnown()) === undefined) return { ...first, known: 'none' };
    const tried: Tried = { ...first, known: isComparedAtOnce(at) ? await compare() : 'unasked' };
    if (breaker.waitMs() > 0 || !isHeldAgainst(caseOf(item, tried))) return tried;
    return { ...(await tryOnce(item.row, signal)), known: tried.known };
  }

  function caseOf({ row, direct, tries, suspicion }: Item, { sent, known }: Tried): Case {
    const of = { seq: row.seq, silent: row.silent === true, direct, tries, suspicion, evidence };
    return { ...of, outcome: outcomeOf(sent), known };
  }

  async function tryOnce(row: PendingRow, signal: AbortSignal): Promise<Omit<Tried, 'known'>> {
    const sentMono = clock.monotonic();
    const sent = await send(row, signal);
    // Not while the origin rests: a pause that another request was asked for meanwhile holds for this one too.
    const isWrong = sent.judgement.row.action.do === 'reconnect' && breaker.waitMs() === 0;
    return { sent: isWrong ? await send(row, signal) : sent, sentMono };
  }

  async function findKnown(): Promise<PendingRow | undefined> {
    lastAccepted ??= await options.known();
    return lastAccepted;
  }

  /** One at a time, however many ask: a repeat of what the cloud has does no harm, and changes no order. */
  function compare(): Promise<Known> {
    comparing ??= compareNow(line.signal).finally(() => {
      comparing = undefined;
    });
    return comparing;
  }

  async function compareNow(signal: AbortSignal): Promise<Known> {
    const known = await findKnown();
    if (known === undefined) return 'none';
    // A pause that another request was asked for meanwhile holds for this one too.
    if (breaker.waitMs() > 0) return 'fails';
    const sentMono = clock.monotonic();
    const sent = await send(known, signal);
    const { action } = sent.judgement.row;
    const passes = sent.answer !== undefined || action.do === 'again';
    if (passes) {
      evidence = afterPass(evidence);
      open(sentMono);
    } else {
      evidence = { ...evidence, failed: evidence.failed + 1 };
      restOrigin(action.do === 'rest' ? action : busy, sent.judgement, sentMono);
    }
    options.onTried(sent);
    return passes ? 'passes' : 'fails';
  }

  /** What follows from the try, by the verdict on who is at fault. */
  function conclude(item: Item, tried: Tried): void {
    const { sent, sentMono } = tried;
    const { verdict, ...judged } = verdictOn(caseOf(item, tried));
    item.suspicion = judged.suspicion;
    evidence = judged.evidence;
    // The server lives, whatever it thinks of this event.
    if (verdict.do === 'deliver' || sent.judgement.row.action.do === 'again') open(sentMono);
    if (verdict.do === 'deliver') deliver(item, sent);
    else if (verdict.do === 'rest') queue.back(item);
    else if (verdict.do === 'park') park(item, sent);
    else apart(item, sent, verdict);
    if (verdict.do !== 'deliver' && verdict.rest !== undefined) restOrigin(verdict.rest, sent.judgement, sentMono);
  }

  function deliver(item: Item, sent: Sent): void {
    const { row } = item;
    queue.asideIsDue('taken');
    options.feed.accepted(row.seq);
    if (row.silent !== true) {
      lastAccepted = row;
      count(row);
    }
    decide(item, { verdict: 'delivered' });
    options.onAccepted(row, sent);
  }

  function count({ lane, boot, mono }: PendingRow): void {
    metrics.delivered.inc({ lane });
    if (boot === clock.bootId) metrics.latency.observe({ lane }, (clock.monotonic() - mono) / 1000);
  }

  /** While something is accepted between the rests, a fresh alarm goes on counting how long it is held up. */
  function restOrigin(rest: Rest, { reason, retryAfterMs, tokenWaitMs }: Judgement, sentMono: number): void {
    if (evidence.passed === passedAtRest) queue.originRests();
    passedAtRest = evidence.passed;
    breaker.failed({ ...rest, reason, retryAfterMs, tokenWaitMs }, sentMono);
  }

  const repeat: Send = async (row, signal) => {
    const sentMono = clock.monotonic();
    repeats += 1;
    const sent = await send(row, signal).finally(() => {
      repeats -= 1;
    });
    const { judgement } = sent;
    const { action } = judgement.row;
    const lives = sent.answer !== undefined || action.do === 'again';
    const wasOpen = breaker.state().state === 'closed';
    if (lives) open(sentMono);
    // A server that fails on this one event may be well; a silent event is not seen to find the line dead (safety 4).
    const rests = action.do === 'rest' && (action.blamed !== 'parks' || judgement.retryAfterMs !== undefined);
    if (row.silent === true || !(lives || rests)) return sent;
    if (rests) {
      const mayBeAlone = wasOpen && isComparedAtOnce({ silent: false, outcome: outcomeOf(sent) });
      const other = mayBeAlone ? await findKnown() : undefined;
      const isOther = other !== undefined && other.seq !== row.seq;
      if (isOther && (await compare()) === 'passes') return sent;
      restOrigin(mayBeAlone && !isOther ? briefly(action) : action, judgement, sentMono);
    }
    options.onTried(sent);
    return sent;
  };

  function apart(item: Item, { judgement }: Sent, { tell, ...wait }: Apart): void {
    queue.setAside(item, { ...wait, dueMono: clock.monotonic() + wait.waitMs });
    queue.hastenAside(asideCap);
    if (tell === undefined) return;
    const { reason, status } = judgement;
    const facts = { seq: numberIn(item.row), eventId: item.row.eventId, status, reason };
    if (tell === 'alone') log.warn(facts, 'the cloud takes other events but not this one: it waits by itself');
    else log.warn(facts, 'an event in memory only was refused and is tried again by itself');
  }

  function park(item: Item, { judgement }: Sent): void {
    const { row, tries } = item;
    const { reason, status } = judgement;
    metrics.parked.inc({ lane: row.lane });
    log.warn({ seq: numberIn(row), eventId: row.eventId, tries, status, reason }, 'an event was refused and is parked');
    crashPoint('park.decided');
    decide(item, { verdict: 'parked', status, reason });
  }

  function decide(
    item: Item,
    fate: { verdict: 'delivered' } | { verdict: 'parked'; status: number | undefined; reason: string },
  ): void {
    const { row, tries } = item;
    queue.decided(item);
    if (item.direct) queue.forget(item);
    else options.settler.add(item, { ...placeOf(row), at: clock.wall(), tries, ...fate });
    options.onDecided();
  }

  function open(sentMono: number): void {
    const before = breaker.state();
    breaker.succeeded(sentMono);
    if (before.state === 'closed' || breaker.state().state !== 'closed') return;
    options.onOpened(clock.monotonic() - (before.sinceMono ?? clock.monotonic()), before.trouble);
  }

  return {
    launch,
    repeat,
    get size() {
      return flights.size;
    },
    get repeats() {
      return repeats;
    },
    isPoorProbe: ({ suspicion }) => lastAccepted === undefined && isPoorProbe(suspicion),
    restart() {
      if (options.signal.aborted) return;
      const old = line;
      line = new AbortController();
      old.abort(new Error('the line is a new one'));
    },
    async ended() {
      await Promise.allSettled([...flights]);
    },
  };
}
