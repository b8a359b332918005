import type { Logger } from 'pino';
import type { CloudClient } from '#cloud/client/index.ts';
import type { Clock } from '#lib/clock.ts';
import { crashPoint } from '#lib/crash-point.ts';
import type { PendingRow } from '#site/store/index.ts';
import type { Sent } from './address-book.ts';
import { type Breaker, retryAfterCapMs } from './breaker.ts';
import type { EventTimes } from './event-times.ts';
import type { Feed } from './feed.ts';
import type { DeliveryMetrics } from './metrics.ts';
import { type Judgement, judge } from './outcome.ts';
import { numberIn, placeOf } from './place.ts';
import type { Item, Queue } from './queue.ts';
import type { Settler } from './settler.ts';
import { type Action, type LinkTrouble, nothingSent } from './status-table.ts';

/** Requests with events, and what follows from their answers. */
export interface Attempts {
  launch(item: Item): void;
  /** Sends an accepted event once more, for its upload addresses. What the origin asks for holds for events too. */
  repeat: Send;
  /** Requests under way. */
  readonly size: number;
  /** Those of `repeat`. */
  readonly repeats: number;
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

export type Send = (row: PendingRow, signal: AbortSignal) => Promise<Sent>;

type Rests = Pick<Extract<Action, { do: 'rest' }>, 'trouble' | 'fromMs' | 'toMs' | 'endsWithLink'>;

const eventDeadlineMs = 20_000;
const asideCap = 512;
/** Server errors on one event while others pass, after which it waits by itself. */
const blamedCap = 5;
/** After so many an event that the cloud has already is tried instead, while none has passed. */
const comparedFrom = 3;
/** So often an event that alone fails keeps its place in its key: a quarter of an hour. */
const keepsPlaceFor = 4;
/** The same while nothing passes: another event must get its chance to show that the server is well. */
const blamedAlone = 10;
const suspectedMs = 60_000;
/** No line watch looks for the line of a silent event, so that it is tried this often itself. */
const unseenLineMs = 15_000;
/** The same where a person must change something: nobody sees that it waits. */
const unseenFaultMs = 60_000;
const hourMs = 3_600_000;
const busy = { trouble: 'busy', fromMs: 1_000, toMs: 300_000, endsWithLink: true } as const;

const isUnsent = ({ failure }: Judgement): boolean => failure !== undefined && nothingSent.has(failure);

/** One try. Body and id are the same every time, only `sent_at` differs (S-168). */
export function createSend(options: {
  readonly cloud: Pick<CloudClient, 'api'>;
  readonly times: Pick<EventTimes, 'encoded'>;
  readonly clock: Clock;
  readonly metrics: DeliveryMetrics;
}): Send {
  const { cloud, times, clock, metrics } = options;
  return async (row, signal) => {
    const encoded = await times.encoded(row, signal);
    crashPoint('send.before');
    const result = await cloud.api.postEvent({
      encoded,
      headers: { 'x-partner-trace-id': row.eventId },
      signal,
      deadlineMs: eventDeadlineMs,
    });
    crashPoint('send.after');
    const judgement = judge(result, row.eventId, clock.wall());
    if (row.silent !== true) metrics.tries.inc({ outcome: judgement.row.name });
    const taken = judgement.row.action.do === 'accept' && result.kind === 'answer';
    return { judgement, answer: taken ? result : undefined };
  };
}

export function createAttempts(options: AttemptsOptions): Attempts {
  const { queue, breaker, clock, log, metrics, send } = options;
  const flights = new Set<Promise<void>>();
  let line = new AbortController();
  /** Answers that show the cloud to be well, those to repeats of what it has already included. */
  let accepted = 0;
  let acceptedAtRest = 0;
  /** Events that were new to the cloud. One that can only read, or answers repeats out of a cache, takes none of them. */
  let taken = 0;
  let takesOnlyKnown = false;
  let repeats = 0;
  let lastAccepted: PendingRow | undefined;
  options.signal.addEventListener('abort', () => line.abort(options.signal.reason), { once: true });

  function launch(item: Item): void {
    queue.started(item);
    const flight = attempt(item, line.signal).finally(() => {
      flights.delete(flight);
      options.onEnded();
    });
    flights.add(flight);
  }

  async function attempt(item: Item, signal: AbortSignal): Promise<void> {
    let sentMono = clock.monotonic();
    let sent: Sent;
    try {
      if (isDoubtful(item) && ((await takesKnown(signal)) === 'no' || breaker.waitMs() > 0)) {
        queue.back(item);
        return;
      }
      sentMono = clock.monotonic();
      sent = await send(item.row, signal);
      // Not while the origin rests: a pause that another request was asked for meanwhile holds for this one too.
      if (sent.judgement.row.action.do === 'reconnect' && breaker.waitMs() === 0) sent = await send(item.row, signal);
      if (isOwnFault(item, sent) && (await takesKnown(signal)) === 'yes') {
        // Once more: a fault that has just ended must not put an alarm behind its own end.
        sentMono = clock.monotonic();
        if (breaker.waitMs() === 0) sent = await send(item.row, signal);
        if (isOwnFault(item, sent)) {
          waitApart(item, sent);
          return;
        }
      }
    } catch (error) {
      queue.back(item);
      const { eventId, silent } = item.row;
      if (!signal.aborted && silent !== true)
        log.error({ err: error, eventId }, 'sending an event failed unexpectedly');
      return;
    }
    const { action } = sent.judgement.row;
    if (sent.answer !== undefined) accept(item, sent, sentMono);
    else if (action.do === 'again') refuse(item, sent, sentMono, action.waitMs);
    else hold(item, sent, sentMono, action);
    if (item.row.silent !== true) options.onTried(sent);
  }

  /**
   * Whether an event may be the only one to fail: as the first in its line it would be the probe again and again, and
   * no other could show that the cloud is well. Every second time, so that neither of the two decides alone.
   */
  function isDoubtful(item: Item): boolean {
    item.compared = !item.compared && item.blamed >= comparedFrom && accepted === item.acceptedBefore;
    return item.compared;
  }

  /** Before all rest for long, until a person changes something, it is told at once whether the others are meant too. */
  function isOwnFault({ row }: Item, { judgement }: Sent): boolean {
    const { action } = judgement.row;
    if (row.silent === true || action.do !== 'rest' || isUnsent(judgement)) return false;
    return action.blamed === 'waits' && !action.endsWithLink;
  }

  /** A repeat of what the cloud has does no harm, and changes no order. Whether the cloud takes it, if there is any. */
  async function takesKnown(signal: AbortSignal): Promise<'yes' | 'no' | 'nothing known'> {
    const known = lastAccepted ?? (await options.known());
    if (known === undefined) return 'nothing known';
    lastAccepted = known;
    // A pause that another request was asked for meanwhile holds for this one too.
    if (breaker.waitMs() > 0) return 'no';
    const sentMono = clock.monotonic();
    const sent = await send(known, signal);
    const { action } = sent.judgement.row;
    const lives = sent.answer !== undefined || action.do === 'again';
    if (lives) {
      accepted += 1;
      open(sentMono);
    } else restOrigin(action.do === 'rest' ? action : busy, sent.judgement, sentMono);
    options.onTried(sent);
    return lives ? 'yes' : 'no';
  }

  function accept(item: Item, sent: Sent, sentMono: number): void {
    const { row } = item;
    accepted += 1;
    taken += 1;
    if (takesOnlyKnown) {
      takesOnlyKnown = false;
      queue.asideIsDue('alone');
    }
    if (row.silent !== true) lastAccepted = row;
    open(sentMono);
    options.feed.accepted(row.seq);
    if (row.silent !== true) count(row);
    decide(item, { verdict: 'delivered' });
    options.onAccepted(row, sent);
  }

  function count({ lane, boot, mono }: PendingRow): void {
    metrics.delivered.inc({ lane });
    if (boot === clock.bootId) metrics.latency.observe({ lane }, (clock.monotonic() - mono) / 1000);
  }

  /** The server lives and does not want this event: one more try by itself, then it is parked. */
  function refuse(item: Item, sent: Sent, sentMono: number, waitMs: number): void {
    open(sentMono);
    // Nobody could see that it is parked, nor put it back: a silent event is offered for as long as it takes.
    if (item.row.silent === true) waitAlone(item, sent, { fromMs: waitMs, toMs: hourMs, tries: item.tries });
    else if (item.refused > 0) park(item, sent);
    else {
      item.refused = 1;
      aside(item, waitMs);
    }
  }

  /** The origin rests. The event keeps its place, unless it seems to be the cause. */
  function hold(item: Item, sent: Sent, sentMono: number, action: Action): void {
    const { judgement } = sent;
    const rest = action.do === 'rest' ? action : busy;
    if (item.row.silent === true) {
      const toMs = rest.endsWithLink ? unseenLineMs : unseenFaultMs;
      waitAlone(item, sent, { fromMs: rest.fromMs, toMs, tries: item.tries });
      return;
    }
    const blamed = action.do === 'rest' && !isUnsent(judgement) ? action.blamed : undefined;
    if (blamed === undefined) queue.back(item);
    else if (blame(item, sent, blamed)) return;
    restOrigin(rest, judgement, sentMono);
  }

  /** It waits in its place, unless it seems to be the cause. True when it is, so that the origin need not rest for it. */
  function blame(item: Item, sent: Sent, blamed: 'parks' | 'waits'): boolean {
    beginsToFail(item);
    item.blamed += 1;
    const othersPass = accepted > item.acceptedBefore;
    // A repeat that passes does not show that another new event would: for want of one nothing is parked.
    const mayPark = blamed === 'parks' && taken > item.takenBefore;
    if (othersPass && !mayPark && item.blamed >= blamedCap) {
      waitApart(item, sent);
      return true;
    }
    // Without anything to compare it with, another event must get its chance.
    const alone = othersPass ? item.blamed >= blamedCap : item.blamed >= blamedAlone && lastAccepted === undefined;
    if (mayPark && item.suspected) park(item, sent);
    else if (alone && blamed === 'parks') {
      item.suspected = mayPark;
      aside(item, suspectedMs);
    } else queue.back(item);
    return false;
  }

  function beginsToFail(item: Item): void {
    if (item.blamed > 0 || item.alone > 0) return;
    item.acceptedBefore = accepted;
    item.takenBefore = taken;
  }

  /**
   * Never parked: a gateway, a filter or a permission is mended without anybody thinking of this event. At first it
   * keeps its place, since what comes and goes must not change the order of its key.
   */
  function waitApart(item: Item, sent: Sent): void {
    const { seq, eventId } = item.row;
    beginsToFail(item);
    item.alone += 1;
    item.acceptedBefore = accepted;
    item.compared = false;
    const keepsPlace = item.alone <= keepsPlaceFor;
    const isOnly = taken > item.takenBefore;
    if (!isOnly) takesOnlyKnown = true;
    const toMs = isOnly ? hourMs : busy.toMs;
    waitAlone(item, sent, { fromMs: suspectedMs, toMs, tries: item.alone, keepsPlace });
    const { reason, status } = sent.judgement;
    if (item.alone === 1)
      log.warn({ seq, eventId, status, reason }, 'the cloud takes other events but not this one: it waits by itself');
  }

  /**
   * A silent event must not be seen to find the line dead (safety 4): it waits by itself, longer with each try and at
   * least as long as the server asks for, and the next probe tells how the line is.
   */
  function waitAlone(
    item: Item,
    { judgement }: Sent,
    wait: Pick<Rests, 'fromMs' | 'toMs'> & { tries: number; keepsPlace?: boolean },
  ): void {
    const own = Math.min(wait.toMs, wait.fromMs * 2 ** Math.min(wait.tries - 1, 20));
    const asked = judgement.retryAfterMs === undefined ? 0 : Math.min(judgement.retryAfterMs, retryAfterCapMs) + 1_000;
    aside(item, Math.max(own, asked), wait);
  }

  /** While something is accepted between the rests, a fresh alarm goes on counting how long it is held up. */
  function restOrigin(rest: Rests, { reason, retryAfterMs, tokenWaitMs }: Judgement, sentMono: number): void {
    if (accepted === acceptedAtRest) queue.originRests();
    acceptedAtRest = accepted;
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
    if (lives) open(sentMono);
    // A server that fails on this one event may be well; a silent event is not seen to find the line dead (safety 4).
    const rests = action.do === 'rest' && (action.blamed !== 'parks' || judgement.retryAfterMs !== undefined);
    if (row.silent === true || !(lives || rests)) return sent;
    if (rests) restOrigin(action, judgement, sentMono);
    options.onTried(sent);
    return sent;
  };

  function park(item: Item, sent: Sent): void {
    const { row, direct, tries } = item;
    const { reason, status } = sent.judgement;
    if (direct) {
      keep(item, sent);
      return;
    }
    if (row.silent !== true) {
      const { eventId, lane } = row;
      metrics.parked.inc({ lane });
      log.warn({ seq: numberIn(row), eventId, tries, status, reason }, 'an event was refused and is parked');
    }
    crashPoint('park.decided');
    decide(item, { verdict: 'parked', status, reason });
  }

  /** Without a row there is nothing to park: it is offered until it is accepted, or written and then parked. */
  function keep(item: Item, sent: Sent): void {
    const { eventId } = item.row;
    const { reason, status } = sent.judgement;
    item.refused += 1;
    waitAlone(item, sent, { fromMs: suspectedMs, toMs: hourMs, tries: item.refused });
    const seq = numberIn(item.row);
    log.warn({ seq, eventId, status, reason }, 'an event in memory only was refused and is tried again by itself');
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

  function aside(item: Item, waitMs: number, place: { keepsPlace?: boolean } = {}): void {
    queue.setAside(item, clock.monotonic() + waitMs, place);
    queue.hastenAside(asideCap);
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
