import type { Logger } from 'pino';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { sleep } from '#lib/wait.ts';
import type { Lane } from '#site/model/index.ts';
import type { OutboxRow, Store } from '#site/store/index.ts';
import type { Feed } from './feed.ts';
import type { DeliveryMetrics } from './metrics.ts';
import type { Queue } from './queue.ts';

export interface DirectOptions {
  readonly store: Pick<Store, 'addGap'>;
  readonly queue: Queue;
  readonly feed: Pick<Feed, 'wasAccepted'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: DeliveryMetrics;
  readonly signal: AbortSignal;
}

interface Lost {
  readonly seqFrom: number;
  readonly seqTo: number;
  readonly count: number;
}

const cap = 1_200;

/**
 * Events that could not be written, kept in memory alone. At 1,200 the oldest of the least important lane gives way; a
 * gap record of it is written as soon as the store takes writes again.
 */
export function createDirect(options: DirectOptions): (rows: readonly OutboxRow[]) => void {
  const { queue, feed, clock, log, metrics, signal } = options;
  const lost = new Map<Lane, Lost>();
  const waits = backoff({ baseMs: 1_000, capMs: 30_000 });
  let writing = false;

  function lose(lane: Lane, more: Lost): void {
    const known = lost.get(lane) ?? more;
    const count = known === more ? more.count : known.count + more.count;
    const [seqFrom, seqTo] = [Math.min(known.seqFrom, more.seqFrom), Math.max(known.seqTo, more.seqTo)];
    lost.set(lane, { seqFrom, seqTo, count });
  }

  /** One record per lane and write, however many were lost. */
  async function record(): Promise<void> {
    writing = true;
    while (lost.size > 0 && !signal.aborted) {
      for (const [lane, gap] of [...lost]) {
        lost.delete(lane);
        try {
          await options.store.addGap({ lane, ...gap, why: 'memory_full', at: clock.wall() });
          waits.reset();
          log.error({ lane, ...gap }, 'events that could not be written gave way to more important ones');
        } catch {
          // The store's own health tells why.
          lose(lane, gap);
        }
      }
      if (lost.size > 0) await sleep(waits.next(), signal).catch(() => {});
    }
    writing = false;
  }

  return (rows) => {
    for (const row of rows) {
      if (!row.toCloud || queue.get(row.seq) !== undefined || feed.wasAccepted(row.seq)) continue;
      queue.add(row, { direct: true, fresh: true });
      const loser = queue.directCount() > cap ? queue.leastDirect() : undefined;
      if (loser === undefined) continue;
      queue.drop(loser);
      const { seq, lane, silent } = loser.row;
      if (silent !== true) metrics.directDropped.inc({ lane });
      lose(lane, { seqFrom: seq, seqTo: seq, count: 1 });
    }
    if (lost.size > 0 && !writing) void record();
  };
}
