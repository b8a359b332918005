import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { CloudClient } from '#cloud/client/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { Part } from '#lib/health.ts';
import { wakeup } from '#lib/wait.ts';
import type { TrustedMoment } from '#site/model/index.ts';
import type { OutboxRow, PendingRow, Store } from '#site/store/index.ts';
import { createAddressBook } from './address-book.ts';
import { createAttempts } from './attempts.ts';
import { type Breaker, createBreaker } from './breaker.ts';
import { createDirect } from './direct.ts';
import { createEventTimes } from './event-times.ts';
import { createFeed, type Feed } from './feed.ts';
import type { MediaFiles } from './files.ts';
import { newestDelivered } from './known.ts';
import { createLineWatch } from './line-watch.ts';
import { createLink, type OnLink } from './link.ts';
import { createLoop } from './loop.ts';
import { deliveryMetrics } from './metrics.ts';
import { placeOf } from './place.ts';
import { Queue } from './queue.ts';
import { createRate } from './rate.ts';
import { createSend } from './send.ts';
import { createSettler, type Settler } from './settler.ts';
import { createSpread } from './spread.ts';
import { type DeliveryState, deliveryHealth, deliveryState } from './state.ts';
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
  /**
   * Told of each event the cloud accepted that everybody may know of, with milliseconds since it was made; undefined where
   * that was in an earlier boot.
   */
  readonly onAccepted?: (latencyMs: number | undefined) => void;
  /** Told when events begin or cease to be held back, with the reason for people. */
  readonly onLink: OnLink;
  /** How often an idle line is looked at, milliseconds; 60,000 unless set. */
  readonly heartbeatMs?: number;
  /** See `UploaderOptions`: how a cut upload goes on, and the most uploads may send, bytes per second. */
  readonly uploadResume: UploadResume;
  readonly uploadRate?: number;
  /** See `UploaderOptions`. */
  readonly allowLoopbackHttp: boolean;
  /** For tests and the bench: requests side by side; alarms have one more of their own, and fresh ones another. */
  readonly slots?: number;
  /** For tests. */
  readonly random?: () => number;
}

/** Takes events out of the outbox and to the cloud, alarms first, each key in order, nothing lost. */
export interface Delivery extends Part {
  state(): DeliveryState;
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
  /** Some of these are on disk now, and what the cloud said of them is written too. */
  written(rows: readonly OutboxRow[]): void;
  /** One of the last 4,096 events the cloud accepted; also after the stop. */
  wasAccepted(seq: number): boolean;
  /** The body of a try that would begin now, its time corrected by what is known. Asks and tells nobody. */
  preview(row: PendingRow): string;
  /** Parked events were put back in line: they are looked for from the beginning of their lanes, at once. */
  retried(): void;
}

/** At 80 ms to the cloud, 100 events a second; more would be no gain for a site and a load for the cloud. */
const defaultSlots = 8;
/** Uploads side by side: the line is shared with events. */
const uploadSlots = 2;
/** What waited while nothing was accepted for so long is a backlog; of a cloud that asks for pauses, for longer. */
const backlogMs = 10_000;
const backlogOfBusyMs = 60_000;
/** Pictures of events that are younger go before those that waited. */
const freshMs = 60_000;
const usualHeartbeatMs = 60_000;
const drainMs = 1_400;
const flushMs = 500;

export function createDelivery(options: DeliveryOptions): Delivery {
  const { clock, log, store, cloud } = options;
  const slots = options.slots ?? defaultSlots;
  const random = options.random ?? Math.random;
  const metrics = deliveryMetrics(options.metrics, () => ({
    ...queue.shown(),
    unsettled: settler.shown(),
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
    heartbeatMs: options.heartbeatMs ?? usualHeartbeatMs,
    onLink: options.onLink,
  });
  const rate = createRate({ clock });
  const spread = createSpread({ clock, random });
  const watch = createLineWatch({ look: cloud.look, clock, metrics, onUp: () => lineIsBack() });
  const watchdog = createWatchdog({ clock, renew });
  const stopping = new AbortController();
  /** Ends requests and writes that did not finish within the drain. */
  const cut = new AbortController();
  let running: Promise<unknown> | undefined;

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
    onRepeat: settleAgain,
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
    mayAsk: () => {
      const { state } = breaker.state();
      // When no event waits to be the probe, it is one: else pictures would wait for the next event, however long.
      const isProbe = state === 'half-open' && queue.undecided === queue.asideCount && attempts.repeats === 0;
      return state === 'closed' || isProbe;
    },
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
    slots: uploadSlots,
    eventsUnderWay: () => attempts.size > 0,
    resume: options.uploadResume,
    ...(options.uploadRate !== undefined && { bytesPerS: options.uploadRate }),
    allowLoopbackHttp: options.allowLoopbackHttp,
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
    known: () => newestDelivered(store, cut.signal),
    onAccepted(row, { answer }) {
      const ageMs = row.boot === clock.bootId ? clock.monotonic() - row.mono : undefined;
      if (row.silent !== true) {
        rate.count();
        options.onAccepted?.(ageMs);
      }
      if (answer !== undefined) book.accepted(row, answer);
      uploader.accepted(row.seq, ageMs !== undefined && ageMs < freshMs);
    },
    onTried({ judgement }) {
      watch.failed(judgement.failure);
      link.update();
    },
    onDecided: watchdog.progress,
    onOpened(outageMs, trouble) {
      spread.outageEnded(outageMs);
      // A cloud that is only busy rests often: an alarm does not become a part of the backlog by that.
      if (outageMs > (trouble === 'busy' ? backlogOfBusyMs : backlogMs)) feed.markFresh();
      uploader.linkUp();
    },
    onEnded: wakeups.wake,
  });
  const direct = createDirect({ queue, feed, metrics, onRepeat: settleAgain });
  const loop = createLoop({
    ...{ queue, feed, settler, attempts, breaker, spread, link, watch, watchdog, wakeups, clock, log },
    tokens: cloud.eventTokens,
    signal: stopping.signal,
  });

  /** The row has no verdict although the cloud took the event. */
  function settleAgain(row: PendingRow): void {
    const item = queue.add(row, { direct: false, fresh: false });
    queue.decided(item);
    settler.add(item, { ...placeOf(row), verdict: 'delivered', at: clock.wall(), tries: 1 });
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
    queue.asideIsDue('link');
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

  const state = () =>
    deliveryState({
      ...{ breaker, link, clock, queue },
      spreadMs: spread.waitMs(),
      perMin: rate.perMin(),
      storeTrouble: feed.trouble ?? settler.trouble,
      uploadTrouble: uploader.trouble(),
      clockOffsetMs: cloud.eventTokens.state().clockOffsetMs,
    });

  return {
    name: 'delivery',
    start() {
      times.begin();
      running = Promise.all([loop.run(), uploader.run(stopping.signal)]);
      return Promise.resolve();
    },
    async stop() {
      if (cut.signal.aborted) return;
      stopping.abort(new Error('delivery was stopped'));
      settler.hurry();
      // Requests under way get a moment to finish, so that a restart repeats little.
      const patience = AbortSignal.timeout(drainMs);
      const impatient = new Promise((resolve) => patience.addEventListener('abort', resolve, { once: true }));
      await Promise.race([attempts.ended(), impatient]);
      await settler.flush(AbortSignal.timeout(flushMs));
      cut.abort(new Error('delivery was stopped'));
      await Promise.allSettled([attempts.ended(), running]);
    },
    state,
    health: () => deliveryHealth(state()),
    wake: wakeAll,
    linkUp: lineUp,
    clockTrusted: times.trusted,
    clockStepped: times.stepped,
    preview: times.preview,
    retryNow() {
      breaker.clear();
      queue.asideIsDue('all');
      spread.end();
      cloud.eventTokens.retryNow();
      uploader.linkUp();
      link.recheck();
      wakeAll();
    },
    wasAccepted: feed.wasAccepted,
    direct(rows) {
      direct.add(rows);
      wakeups.wake();
    },
    written: direct.written,
    retried() {
      queue.asideIsDue('all');
      feed.retried();
      wakeups.wake();
    },
  };
}
