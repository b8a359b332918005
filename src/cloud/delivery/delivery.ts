import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { CloudClient } from '#cloud/client/index.ts';
import type { Clock } from '#lib/clock.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { sleep, wakeup } from '#lib/wait.ts';
import type { Lane } from '#site/model/index.ts';
import type { OutboxRow, PendingRow, Store } from '#site/store/index.ts';
import { createAddressBook, type Sent } from './address-book.ts';
import { type Breaker, createBreaker } from './breaker.ts';
import { createEventTimes, type TrustedMoment } from './event-times.ts';
import { createFeed, type Feed } from './feed.ts';
import type { MediaFiles } from './files.ts';
import { createLink, type OnLink } from './link.ts';
import { deliveryMetrics } from './metrics.ts';
import { judge } from './outcome.ts';
import { belowAlarms, type Item, Queue } from './queue.ts';
import { createSettler, type Settler } from './settler.ts';
import type { Action } from './status-table.ts';
import { createUploader, type UploadResume } from './uploader.ts';

export interface DeliveryOptions {
  readonly store: Pick<
    Store,
    'take' | 'before' | 'settle' | 'events' | 'row' | 'media' | 'updateMedia' | 'anchors' | 'addAnchor' | 'memory'
  >;
  readonly cloud: Pick<CloudClient, 'api' | 'eventTokens' | 'http' | 'probe'>;
  readonly files: MediaFiles;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  /** Told when events begin or cease to be held back, with the reason for people. */
  readonly onLink?: OnLink;
  /** Told of each event that was in memory only and gave way at the cap; the loss is to be recorded. */
  readonly onDropped?: (lost: { readonly seq: number; readonly lane: Lane }) => void;
  /** Requests side by side; one is kept for alarms. */
  readonly slots?: number;
  readonly uploadSlots?: number;
  /** See `UploaderOptions`: how a cut upload goes on, and the most uploads may send, bytes per second. */
  readonly uploadResume?: UploadResume;
  readonly uploadRate?: number;
  /** See `UploaderOptions`. */
  readonly allowLoopbackHttp?: boolean;
  readonly random?: () => number;
}

/** Takes events out of the outbox and to the cloud, alarms first, each key in order, nothing lost. */
export interface Delivery extends Part {
  /** New rows are on disk, or files are ready. */
  wake(): void;
  /** The line may be back: waits end now, unless the server asked for them. */
  linkUp(): void;
  /** The true time is known now: events of this boot whose clock was in doubt are corrected by it. */
  clockTrusted(moment: TrustedMoment): void;
  /** The wall clock was set; nobody has confirmed it yet. */
  clockStepped(): void;
  /** A person changed something (keys, permissions): every wait ends now. */
  retryNow(): void;
  /** Rows that could not be written: sent from memory. At 1,200 the oldest of the least important lane gives way. */
  direct(rows: readonly OutboxRow[]): void;
  /** Parked events were put back in line: they are looked for from the beginning of their lanes, at once. */
  retried(): void;
}

const eventDeadlineMs = 20_000;
const directCap = 1_200;
const asideCap = 512;
/** Verdicts that may wait for the disk; above it nothing more is sent, since a restart would repeat it all. */
const unsettledCap = 2_000;
/** Server errors on one event while others pass, after which it waits by itself. */
const blamedCap = 5;
/** The same while nothing passes: another event must get its chance to show that the server is well. */
const blamedAlone = 10;
const suspectedMs = 60_000;
const tickMs = 30_000;
const drainMs = 2_000;
const silentRetryMs = 5_000;
const restartMs = 1_000;

export function createDelivery(options: DeliveryOptions): Delivery {
  const { clock, log, store, cloud } = options;
  const slots = options.slots ?? 4;
  const random = options.random ?? Math.random;
  const metrics = deliveryMetrics(options.metrics);
  const queue = new Queue();
  const wakeups = wakeup();
  const breaker: Breaker = createBreaker({ clock, slots, random });
  const link = createLink({
    breaker,
    cloud,
    log,
    clock,
    ...(options.onLink === undefined ? {} : { onLink: options.onLink }),
  });
  const flights = new Set<Promise<void>>();
  const stopping = new AbortController();
  /** Ends requests and writes that did not finish within the drain. */
  const cut = new AbortController();
  let accepted = 0;
  let loop: Promise<unknown> | undefined;

  const settler: Settler = createSettler({
    store,
    signal: cut.signal,
    done(item) {
      queue.forget(item);
      wakeups.wake();
    },
  });
  const feed: Feed = createFeed({
    store,
    queue,
    clock,
    signal: stopping.signal,
    onRows: wakeups.wake,
    onRepeat(row) {
      const item = queue.add(row, { direct: false, fresh: false });
      queue.decided(item);
      settler.add(item, { seq: row.seq, lane: row.lane, verdict: 'delivered', at: clock.wall(), tries: 1 });
    },
  });
  const times = createEventTimes({
    store,
    clock,
    hear: async (signal) => (await cloud.eventTokens.get(signal)).kind === 'token',
  });
  const book = createAddressBook({
    store,
    clock,
    isWaiting: (seq) => {
      const state = queue.get(seq)?.state;
      return state !== undefined && state !== 'settling';
    },
    mayAsk: () => breaker.state().state === 'closed',
    send,
  });
  const uploader = createUploader({
    store,
    files: options.files,
    book,
    raw: cloud.http.raw,
    clock,
    log,
    metrics,
    slots: options.uploadSlots ?? 2,
    eventsUnderWay: () => flights.size > 0,
    resume: options.uploadResume ?? 'off',
    ...(options.uploadRate !== undefined && { bytesPerS: options.uploadRate }),
    allowLoopbackHttp: options.allowLoopbackHttp ?? false,
    random,
  });

  /** One try. Body and id are the same every time, only `sent_at` differs (S-168). */
  async function send(row: PendingRow, signal: AbortSignal): Promise<Sent> {
    const result = await cloud.api.postEvent({
      encoded: await times.encoded(row, signal),
      headers: { 'x-partner-trace-id': row.eventId },
      signal,
      deadlineMs: eventDeadlineMs,
    });
    const judgement = judge(result, row.eventId, clock.wall());
    if (row.silent !== true) metrics.tries.inc({ outcome: judgement.row.name });
    const taken = judgement.row.action.do === 'accept' && result.kind === 'answer';
    return { judgement, answer: taken ? result : undefined };
  }

  function launch(item: Item): void {
    queue.started(item);
    const flight = attempt(item).finally(() => {
      flights.delete(flight);
      wakeups.wake();
    });
    flights.add(flight);
  }

  async function attempt(item: Item): Promise<void> {
    const sentMono = clock.monotonic();
    let sent: Sent;
    try {
      sent = await send(item.row, cut.signal);
      if (sent.judgement.row.action.do === 'reconnect') sent = await send(item.row, cut.signal);
    } catch (error) {
      queue.back(item);
      if (!cut.signal.aborted) log.error({ err: error, seq: item.row.seq }, 'sending an event failed unexpectedly');
      return;
    }
    const { action } = sent.judgement.row;
    if (sent.answer !== undefined) accept(item, sent, sentMono);
    else if (action.do === 'again') refuse(item, sent, sentMono, action.waitMs);
    else hold(item, sent, sentMono, action);
    if (item.row.silent !== true) link.update();
  }

  function accept(item: Item, sent: Sent, sentMono: number): void {
    const { row } = item;
    accepted += 1;
    open(sentMono);
    if (sent.answer !== undefined) book.accepted(row, sent.answer);
    feed.accepted(row.seq);
    if (row.silent !== true) count(row);
    decide(item, { verdict: 'delivered' });
    uploader.accepted(row.seq);
  }

  function count({ lane, boot, mono }: PendingRow): void {
    metrics.delivered.inc({ lane });
    if (boot === clock.bootId) metrics.latency.observe({ lane }, (clock.monotonic() - mono) / 1000);
  }

  /** The server lives and does not want this event: one more try by itself, then it is parked. */
  function refuse(item: Item, sent: Sent, sentMono: number, waitMs: number): void {
    open(sentMono);
    if (item.refused) park(item, sent);
    else {
      item.refused = true;
      aside(item, waitMs);
    }
  }

  /** The origin rests. The event keeps its place, unless it seems to be the cause. */
  function hold(item: Item, sent: Sent, sentMono: number, action: Action): void {
    // A silent event must not be seen to find the line dead (safety 4): it waits by itself, and the next probe tells.
    if (item.row.silent === true) {
      aside(item, silentRetryMs);
      return;
    }
    const { judgement } = sent;
    const rest = action.do === 'rest' ? action : busy;
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
    queue.originRests();
    const { reason, retryAfterMs, tokenWaitMs } = judgement;
    breaker.failed({ ...rest, reason, retryAfterMs, tokenWaitMs }, sentMono);
  }

  function park(item: Item, { judgement }: Sent): void {
    const { row, direct, tries } = item;
    const { reason, status } = judgement;
    if (row.silent !== true) {
      const { seq, eventId, lane } = row;
      metrics.parked.inc({ lane });
      log.warn({ seq, eventId, tries, status, reason, direct }, 'an event was refused and is parked');
    }
    decide(item, { verdict: 'parked', status, reason });
  }

  function decide(
    item: Item,
    fate: { verdict: 'delivered' } | { verdict: 'parked'; status: number | undefined; reason: string },
  ): void {
    const { row, tries } = item;
    queue.decided(item);
    if (item.direct) queue.forget(item);
    else settler.add(item, { seq: row.seq, lane: row.lane, at: clock.wall(), tries, ...fate });
  }

  function aside(item: Item, waitMs: number): void {
    queue.setAside(item, clock.monotonic() + waitMs);
    if (queue.asideCount > asideCap) queue.hastenOldestAside();
  }

  function open(sentMono: number): void {
    const before = breaker.state().state;
    breaker.succeeded(sentMono);
    if (before === 'closed' || breaker.state().state !== 'closed') return;
    feed.markFresh();
    uploader.linkUp();
  }

  /** Sends as much as slots, breaker and order allow. */
  async function pump(): Promise<void> {
    while (!stopping.signal.aborted && settler.size < unsettledCap) {
      const item = queue.next(clock.monotonic(), belowRank());
      if (item === undefined) return;
      if (feed.mustLookBefore(item)) await feed.lookBefore(item);
      else launch(item);
    }
  }

  /** Events of ranks below this may start now; 0 for none. One slot is kept for alarms. */
  function belowRank(): number {
    const closed = breaker.state().state === 'closed';
    const limit = breaker.limit();
    const forAlarms = closed ? Math.min(slots, limit + 1) : limit;
    const forOthers = closed ? Math.max(1, Math.min(limit, slots - 1)) : limit;
    if (flights.size < forOthers) return Number.POSITIVE_INFINITY;
    return flights.size < forAlarms ? belowAlarms : 0;
  }

  async function run(): Promise<void> {
    const { signal } = stopping;
    feed.markFresh();
    while (!signal.aborted) {
      feed.kick();
      if (queue.waiting('alarm') > 0) breaker.hurry();
      await pump();
      show();
      if (queue.size === 0) link.check(signal, wakeups.wake);
      await wakeups.wait(pauseMs(), signal);
    }
  }

  /** A programming error in the loop must not end delivery for good: it is logged and the loop begins again. */
  async function supervise(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await run();
      } catch (error) {
        if (stopping.signal.aborted) return;
        log.error({ err: error }, 'the delivery loop failed and begins again');
        // Without a pause a loop that fails at once would leave no turn to anything else.
        await sleep(restartMs, stopping.signal).catch(() => {});
      }
    }
  }

  /** Until the breaker or an item set aside is due; finished requests and new rows wake the loop by themselves. */
  function pauseMs(): number {
    const rest = breaker.waitMs();
    const due = queue.nextDueMono() - clock.monotonic();
    return Math.min(tickMs, rest > 0 ? rest : tickMs, due > 0 ? due : tickMs);
  }

  function show(): void {
    metrics.inFlight.set(flights.size);
    const { size, aside: setAside } = queue.shown();
    metrics.window.set(size);
    metrics.aside.set(setAside);
    metrics.unsettled.set(settler.size);
    metrics.breaker.set({ closed: 0, 'half-open': 1, open: 2 }[breaker.state().state]);
  }

  function wakeAll(): void {
    feed.wake();
    uploader.wake();
    wakeups.wake();
  }

  return {
    name: 'delivery',
    start() {
      times.begin();
      loop = Promise.all([supervise(), uploader.run(stopping.signal)]);
      return Promise.resolve();
    },
    async stop() {
      if (cut.signal.aborted) return;
      stopping.abort(new Error('delivery was stopped'));
      // Requests under way get a moment to finish, so that a restart repeats little.
      const patience = AbortSignal.timeout(drainMs);
      const impatient = new Promise((resolve) => patience.addEventListener('abort', resolve, { once: true }));
      await Promise.race([Promise.allSettled([...flights]), impatient]);
      await settler.flush(patience);
      cut.abort(new Error('delivery was stopped'));
      await Promise.allSettled([...flights, loop]);
    },
    health: () => health(),
    wake: wakeAll,
    linkUp() {
      cloud.eventTokens.retryNow();
      breaker.linkUp();
      uploader.linkUp();
      link.recheck();
      wakeAll();
    },
    clockTrusted: times.trusted,
    clockStepped: times.stepped,
    retryNow() {
      breaker.clear();
      cloud.eventTokens.retryNow();
      uploader.linkUp();
      link.recheck();
      wakeAll();
    },
    direct(rows) {
      for (const row of rows) {
        if (!row.toCloud || queue.get(row.seq) !== undefined || feed.wasAccepted(row.seq)) continue;
        queue.add(row, { direct: true, fresh: true });
        if (queue.directCount() <= directCap) continue;
        const loser = queue.leastDirect();
        if (loser === undefined) continue;
        queue.drop(loser);
        metrics.directDropped.inc({ lane: loser.row.lane });
        const { seq, lane, eventId } = loser.row;
        log.error({ seq, lane, eventId }, 'an event that could not be written gave way to a more important one');
        options.onDropped?.({ seq, lane });
      }
      wakeups.wake();
    },
    retried() {
      feed.retried();
      wakeups.wake();
    },
  };

  function health(): Health {
    const state = breaker.state();
    const facts = {
      link: link.word(),
      inFlight: flights.size,
      inMemory: queue.shown().size,
      aside: queue.shown().aside,
      direct: queue.directCount(),
      clockOffsetMs: cloud.eventTokens.state().clockOffsetMs,
    };
    const trouble = feed.trouble ?? settler.trouble;
    if (trouble !== undefined)
      return { state: 'degraded', reason: `the outbox cannot be read or written: ${trouble}`, facts };
    if (state.state !== 'closed') return { state: 'degraded', reason: state.reason ?? 'events are held back', facts };
    const fault = link.fault();
    return fault === undefined ? ok(facts) : { state: 'degraded', reason: fault, facts };
  }
}

const busy = { trouble: 'busy', fromMs: 1_000, toMs: 300_000, endsWithLink: true } as const;
