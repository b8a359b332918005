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
import type { Item, Queue } from './queue.ts';
import type { Settler } from './settler.ts';
import type { Action } from './status-table.ts';

/** Requests with events, and what follows from their answers. */
export interface Attempts {
  launch(item: Item): void;
  /** Sends an accepted event once more, for its upload addresses. What the origin asks for holds for events too. */
  repeat: Send;
  /** Requests under way. */
  readonly size: number;
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
  /** A try that may be seen has ended; `sent` tells how. */
  readonly onTried: (sent: Sent) => void;
  /** An event has got its verdict. */
  readonly onDecided: () => void;
  /** The cloud takes events again, after so many milliseconds. */
  readonly onOpened: (outageMs: number) => void;
  /** A slot is free. */
  readonly onEnded: () => void;
}

export type Send = (row: PendingRow, signal: AbortSignal) => Promise<Sent>;

type Rests = Pick<Extract<Action, { do: 'rest' }>, 'trouble' | 'fromMs' | 'toMs' | 'endsWithLink'>;

const eventDeadlineMs = 20_000;
const asideCap = 512;
/** Server errors on one event while others pass, after which it waits by itself. */
const blamedCap = 5;
/** The same while nothing passes: another event must get its chance to show that the server is well. */
const blamedAlone = 10;
const suspectedMs = 60_000;
/** No line watch looks for the line of a silent event, so that it is tried this often itself. */
const unseenLineMs = 15_000;
const hourMs = 3_600_000;
const busy = { trouble: 'busy', fromMs: 1_000, toMs: 300_000, endsWithLink: true } as const;

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
  let accepted = 0;
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
    const sentMono = clock.monotonic();
    let sent: Sent;
    try {
      sent = await send(item.row, signal);
      if (sent.judgement.row.action.do === 'reconnect') sent = await send(item.row, signal);
    } catch (error) {
      queue.back(item);
      if (!signal.aborted) log.error({ err: error, seq: item.row.seq }, 'sending an event failed unexpectedly');
      return;
    }
    const { action } = sent.judgement.row;
    if (sent.answer !== undefined) accept(item, sent, sentMono);
    else if (action.do === 'again') refuse(item, sent, sentMono, action.waitMs);
    else hold(item, sent, sentMono, action);
    if (item.row.silent !== true) options.onTried(sent);
  }

  function accept(item: Item, sent: Sent, sentMono: number): void {
    const { row } = item;
    accepted += 1;
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
    if (item.row.silent === true) waitUnseen(item, sent, { fromMs: waitMs, toMs: hourMs });
    else if (item.refused) park(item, sent);
    else {
      item.refused = true;
      aside(item, waitMs);
    }
  }

  /** The origin rests. The event keeps its place, unless it seems to be the cause. */
  function hold(item: Item, sent: Sent, sentMono: number, action: Action): void {
    const { judgement } = sent;
    const rest = action.do === 'rest' ? action : busy;
    if (item.row.silent === true) {
      waitUnseen(item, sent, { fromMs: rest.fromMs, toMs: rest.endsWithLink ? unseenLineMs : rest.toMs });
      return;
    }
    const blames = action.do === 'rest' && action.blamesEvent === true;
    if (blames) {
      if (item.blamed === 0) item.acceptedBefore = accepted;
      item.blamed += 1;
    }
    const othersPass = accepted > item.acceptedBefore;
    const alone = item.blamed >= blamedAlone || (item.blamed >= blamedCap && othersPass);
    if (blames && othersPass && item.suspected) park(item, sent);
    else if (blames && alone) {
      item.suspected = othersPass;
      aside(item, suspectedMs);
    } else queue.back(item);
    restOrigin(rest, judgement, sentMono);
  }

  /**
   * A silent event must not be seen to find the line dead (safety 4): it waits by itself, longer with each try and at
   * least as long as the server asks for, and the next probe tells how the line is.
   */
  function waitUnseen(item: Item, { judgement }: Sent, { fromMs, toMs }: Pick<Rests, 'fromMs' | 'toMs'>): void {
    const own = Math.min(toMs, fromMs * 2 ** Math.min(item.tries - 1, 20));
    const asked = judgement.retryAfterMs === undefined ? 0 : Math.min(judgement.retryAfterMs, retryAfterCapMs) + 1_000;
    aside(item, Math.max(own, asked));
  }

  function restOrigin(rest: Rests, { reason, retryAfterMs, tokenWaitMs }: Judgement, sentMono: number): void {
    queue.originRests();
    breaker.failed({ ...rest, reason, retryAfterMs, tokenWaitMs }, sentMono);
  }

  const repeat: Send = async (row, signal) => {
    const sentMono = clock.monotonic();
    const sent = await send(row, signal);
    const { judgement } = sent;
    const { action } = judgement.row;
    // A server that fails on this one event may be well; a silent event is not seen to find the line dead (safety 4).
    const rests = action.do === 'rest' && (action.blamesEvent !== true || judgement.retryAfterMs !== undefined);
    if (!rests || row.silent === true) return sent;
    restOrigin(action, judgement, sentMono);
    options.onTried(sent);
    return sent;
  };

  function park(item: Item, { judgement }: Sent): void {
    const { row, direct, tries } = item;
    const { reason, status } = judgement;
    if (row.silent !== true) {
      const { seq, eventId, lane } = row;
      metrics.parked.inc({ lane });
      log.warn({ seq, eventId, tries, status, reason, direct }, 'an event was refused and is parked');
    }
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
    else options.settler.add(item, { seq: row.seq, lane: row.lane, at: clock.wall(), tries, ...fate });
    options.onDecided();
  }

  function aside(item: Item, waitMs: number): void {
    queue.setAside(item, clock.monotonic() + waitMs);
    if (queue.asideCount > asideCap) queue.hastenOldestAside();
  }

  function open(sentMono: number): void {
    const before = breaker.state();
    breaker.succeeded(sentMono);
    if (before.state === 'closed' || breaker.state().state !== 'closed') return;
    options.onOpened(clock.monotonic() - (before.sinceMono ?? clock.monotonic()));
  }

  return {
    launch,
    repeat,
    get size() {
      return flights.size;
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
