import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { CloudClient } from '#cloud/client/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { Part } from '#lib/health.ts';
import { sleep, wakeup } from '#lib/wait.ts';
import type { TrustedMoment } from '#site/model/index.ts';
import type { OutboxRow, PendingRow, Store } from '#site/store/index.ts';
import { createAddressBook } from './address-book.ts';
import { createAttempts, createSend } from './attempts.ts';
import { type Breaker, createBreaker } from './breaker.ts';
import { createDirect } from './direct.ts';
import { createEventTimes } from './event-times.ts';
import { createFeed, type Feed } from './feed.ts';
import type { MediaFiles } from './files.ts';
import { deliveryHealth } from './health.ts';
import { createLineWatch } from './line-watch.ts';
import { createLink, type OnLink } from './link.ts';
import { deliveryMetrics } from './metrics.ts';
import { belowAlarms, Queue } from './queue.ts';
import { createSettler, type Settler } from './settler.ts';
import { createSpread } from './spread.ts';
import { createUploader, type UploadResume } from './uploader.ts';
import { createWatchdog } from './watchdog.ts';

export interface DeliveryOptions {
  readonly store: Pick<
    Store,
    'take' | 'before' | 'settle' | 'events' | 'row' | 'media' | 'updateMedia' | 'anchors' | 'addAnchor' | 'memory'
  >;
  readonly cloud: Pick<CloudClient, 'api' | 'eventTokens' | 'http' | 'probe' | 'look'>;
  readonly files: MediaFiles;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  /** Told when events begin or cease to be held back, with the reason for people. */
  readonly onLink?: OnLink;
  /** Requests side by side; alarms have one more of their own. */
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
  /** The body of a try that would begin now, its time corrected by what is known. Asks and tells nobody. */
  preview(row: PendingRow): string;
  /** Parked events were put back in line: they are looked for from the beginning of their lanes, at once. */
  retried(): void;
}

/** Verdicts that may wait for the disk; above it nothing more is sent, since a restart would repeat it all. */
const unsettledCap = 2_000;
/** At 80 ms to the cloud, 100 events a second; more would be no gain for a site and a load for the cloud. */
const defaultSlots = 8;
const tickMs = 30_000;
const drainMs = 2_000;
const restartMs = 1_000;

export function createDelivery(options: DeliveryOptions): Delivery {
  const { clock, log, store, cloud } = options;
  const slots = options.slots ?? defaultSlots;
  const random = options.random ?? Math.random;
  const metrics = deliveryMetrics(options.metrics, () => ({
    ...queue.shown(),
    unsettled: settler.size,
    breaker: breaker.state().state,
  }));
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
  const spread = createSpread({ clock, random });
  const watch = createLineWatch({ look: cloud.look, clock, metrics, onUp: () => lineIsBack() });
  const watchdog = createWatchdog({ clock, renew });
  const stopping = new AbortController();
  /** Ends requests and writes that did not finish within the drain. */
  const cut = new AbortController();
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
  const send = createSend({ cloud, times, clock, metrics });
  const book = createAddressBook({
    store,
    clock,
    isWaiting: (seq) => {
      const state = queue.get(seq)?.state;
      return state !== undefined && state !== 'settling';
    },
    mayAsk: () => breaker.state().state === 'closed',
    send: (row, signal) => attempts.repeat(row, signal),
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
    eventsUnderWay: () => attempts.size > 0,
    resume: options.uploadResume ?? 'off',
    ...(options.uploadRate !== undefined && { bytesPerS: options.uploadRate }),
    allowLoopbackHttp: options.allowLoopbackHttp ?? false,
    random,
  });

  const attempts = createAttempts({
    send,
    queue,
    breaker,
    feed,
    settler,
    clock,
    log,
    metrics,
    signal: cut.signal,
    onAccepted(row, { answer }) {
      if (answer !== undefined) book.accepted(row, answer);
      uploader.accepted(row.seq);
    },
    onTried({ judgement }) {
      watch.failed(judgement.failure);
      link.update();
    },
    onDecided: watchdog.progress,
    onOpened(outageMs) {
      spread.outageEnded(outageMs);
      feed.markFresh();
      uploader.linkUp();
    },
    onEnded: wakeups.wake,
  });
  const direct = createDirect({ queue, feed, metrics });

  /** Sends as much as slots, breaker and order allow. */
  async function pump(): Promise<void> {
    while (!stopping.signal.aborted && settler.size < unsettledCap) {
      const item = queue.next(clock.monotonic(), belowRank());
      if (item === undefined) return;
      if (feed.mustLookBefore(item)) await feed.lookBefore(item);
      else attempts.launch(item);
    }
  }

  /** Events of ranks below this may start now; 0 for none. */
  function belowRank(): number {
    const limit = breaker.limit();
    // The slot that alarms have to themselves is no second probe.
    const ofAlarms = breaker.state().state === 'closed' ? 1 : 0;
    if (attempts.size >= limit + ofAlarms) return 0;
    return Math.min(spread.belowRank(), attempts.size < limit ? Number.POSITIVE_INFINITY : belowAlarms);
  }

  async function run(): Promise<void> {
    const { signal } = stopping;
    feed.markFresh();
    while (!signal.aborted) {
      // Asked before looking at what may go: what becomes due meanwhile must not be slept through.
      const due = nextDueMono();
      feed.kick();
      if (queue.waiting('alarm') > 0) breaker.hurry();
      await pump();
      const state = breaker.state();
      watch.poll(state, signal);
      watchdog.check({ waiting: queue.undecided > queue.asideCount, maySend: state.state !== 'open' });
      if (queue.size === 0) link.check(signal, wakeups.wake);
      await wakeups.wait(Math.max(0, Math.min(due, nextDueMono()) - clock.monotonic()), signal);
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

  /** When the breaker or an item set aside is due next; finished requests and new rows wake the loop by themselves. */
  function nextDueMono(): number {
    const now = clock.monotonic();
    const waits = [breaker.waitMs(), queue.nextDueMono() - now, watch.waitMs(breaker.state()), spread.waitMs()];
    return now + Math.min(tickMs, ...waits.filter((ms) => ms > 0));
  }

  /** The line has just come back: what still waits on the old one would wait for its deadline. */
  function lineIsBack(): void {
    log.info('the line to the cloud is back');
    cloud.http.renew();
    attempts.restart();
    lineUp();
  }

  function lineUp(): void {
    cloud.eventTokens.retryNow();
    breaker.linkUp();
    uploader.linkUp();
    link.recheck();
    wakeAll();
  }

  function renew(stalledMs: number): void {
    metrics.renewed.inc();
    log.warn({ stalledMs: Math.round(stalledMs) }, 'nothing was delivered for long: new connections are made');
    cloud.http.renew();
    attempts.restart();
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
      await Promise.race([attempts.ended(), impatient]);
      await settler.flush(patience);
      cut.abort(new Error('delivery was stopped'));
      await Promise.allSettled([attempts.ended(), loop]);
    },
    health: () =>
      deliveryHealth({
        breaker,
        link,
        clock,
        queue,
        spreadMs: spread.waitMs(),
        trouble: feed.trouble ?? settler.trouble,
        clockOffsetMs: cloud.eventTokens.state().clockOffsetMs,
      }),
    wake: wakeAll,
    linkUp: lineUp,
    clockTrusted: times.trusted,
    clockStepped: times.stepped,
    preview: times.preview,
    retryNow() {
      breaker.clear();
      spread.end();
      cloud.eventTokens.retryNow();
      uploader.linkUp();
      link.recheck();
      wakeAll();
    },
    direct(rows) {
      direct(rows);
      wakeups.wake();
    },
    retried() {
      feed.retried();
      wakeups.wake();
    },
  };
}
