import type { Logger } from 'pino';
import type { CloudClient } from '#cloud/client/index.ts';
import type { Clock } from '#lib/clock.ts';
import { sleep, type Wakeup } from '#lib/wait.ts';
import { fileOf } from '#site/store/index.ts';
import type { Attempts } from './attempts.ts';
import type { Breaker } from './breaker.ts';
import type { Feed } from './feed.ts';
import type { Item } from './item.ts';
import type { LineWatch } from './line-watch.ts';
import type { Link } from './link.ts';
import { belowAlarms, belowFresh, type Queue } from './queue.ts';
import type { Settler } from './settler.ts';
import type { Spread } from './spread.ts';
import type { Watchdog } from './watchdog.ts';

export interface LoopOptions {
  readonly queue: Queue;
  readonly feed: Feed;
  readonly settler: Pick<Settler, 'size'>;
  readonly attempts: Pick<Attempts, 'size' | 'isPoorProbe' | 'launch'>;
  readonly breaker: Breaker;
  readonly spread: Spread;
  readonly link: Link;
  readonly watch: LineWatch;
  readonly watchdog: Watchdog;
  readonly tokens: Pick<CloudClient['eventTokens'], 'hurry'>;
  /** Rows came, a request has ended, the line is back: it looks again. */
  readonly wakeups: Wakeup;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Says which event starts now, and when to look again. */
export interface Loop {
  /** Resolves after the signal has aborted, and never rejects. */
  run(): Promise<void>;
}

/**
 * Verdicts that may wait for a file. Above it its backlog rests, since a restart would repeat it all; fresh alarms and
 * what is in memory only still go: on a disk that takes no writes they would wait for ever.
 */
const unsettledCap = 2_000;
const tickMs = 30_000;
const restartMs = 1_000;

export function createLoop(options: LoopOptions): Loop {
  const { queue, feed, settler, attempts, breaker, spread, link, watch, watchdog, wakeups, clock, signal } = options;

  /** As many verdicts wait for the file of the event as may. */
  function isFull({ row }: Item): boolean {
    return settler.size(fileOf(row.lane)) >= unsettledCap;
  }

  function mayGo(item: Item): boolean {
    return item.fresh || item.direct || !isFull(item);
  }

  /** Events of ranks below this may start now; 0 for none. */
  function belowRank(): number {
    const more = attempts.size - breaker.limit();
    if (more < 0) return spread.belowRank();
    // The slots that alarms, and of these the fresh ones, have to themselves are no second probe.
    if (breaker.state().state !== 'closed' || more > 1) return 0;
    return Math.min(spread.belowRank(), more === 0 ? belowAlarms : belowFresh);
  }

  /** Sends as much as slots, breaker and order allow. */
  async function pump(): Promise<void> {
    while (!signal.aborted) {
      const isProbe = breaker.state().state !== 'closed';
      const isPoor = (item: Item) => isProbe && attempts.isPoorProbe(item);
      const item = queue.next(clock.monotonic(), belowRank(), mayGo, isPoor);
      if (item === undefined) return;
      // Older events of its key that rest are not waited for, and one that goes alone knows older ones already.
      if (!isFull(item) && queue.isFirst(item) && feed.mustLookBefore(item)) await feed.lookBefore(item);
      else attempts.launch(item);
    }
  }

  /** When the breaker or an item set aside is due next; finished requests and new rows wake the loop by themselves. */
  function nextDueMono(): number {
    const now = clock.monotonic();
    const waits = [breaker.waitMs(), queue.nextDueMono() - now, watch.waitMs(breaker.state()), spread.waitMs()];
    if (queue.shownSize === 0) waits.push(link.waitMs());
    return now + Math.min(tickMs, ...waits.filter((ms) => ms > 0));
  }

  async function turn(): Promise<void> {
    // Asked before looking at what may go: what becomes due meanwhile must not be slept through.
    const due = nextDueMono();
    feed.kick();
    if (queue.waiting('alarm') > 0) {
      breaker.hurry();
      options.tokens.hurry();
    }
    await pump();
    const state = breaker.state();
    watch.poll(state, signal);
    watchdog.check({ waiting: queue.undecided > queue.asideCount, maySend: state.state !== 'open' });
    // An idle line, and one on which only a silent event waits: how it is shown must not tell of that one (safety 4).
    if (queue.shownSize === 0) link.check(signal, wakeups.wake);
    await wakeups.wait(Math.max(0, Math.min(due, nextDueMono()) - clock.monotonic()), signal);
  }

  return {
    /** A programming error in the loop must not end delivery for good: it is logged and the loop begins again. */
    async run() {
      while (!signal.aborted) {
        try {
          feed.markFresh();
          while (!signal.aborted) await turn();
        } catch (error) {
          if (signal.aborted) return;
          options.log.error({ err: error }, 'the delivery loop failed and begins again');
          // Without a pause a loop that fails at once would leave no turn to anything else.
          await sleep(restartMs, signal).catch(() => {});
        }
      }
    },
  };
}
