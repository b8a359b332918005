import type { OutboxRow } from '#site/store/index.ts';
import type { Feed } from './feed.ts';
import type { DeliveryMetrics } from './metrics.ts';
import type { Queue } from './queue.ts';

export interface DirectOptions {
  readonly queue: Queue;
  readonly feed: Pick<Feed, 'wasAccepted'>;
  readonly metrics: DeliveryMetrics;
}

const cap = 1_200;

/**
 * Sends events that could not be written from memory. At 1,200 the oldest of the least important lane gives way, which
 * is counted and no loss: whoever could not write a row still holds it, writes it later, and counts it if it must give
 * it up. So no gap record is made here.
 */
export function createDirect({ queue, feed, metrics }: DirectOptions): (rows: readonly OutboxRow[]) => void {
  return (rows) => {
    for (const row of rows) {
      if (!row.toCloud || queue.get(row.seq) !== undefined || feed.wasAccepted(row.seq)) continue;
      queue.add(row, { direct: true, fresh: true });
      const loser = queue.directCount() > cap ? queue.leastDirect() : undefined;
      if (loser === undefined) continue;
      queue.drop(loser);
      if (loser.row.silent !== true) metrics.directDropped.inc({ lane: loser.row.lane });
    }
  };
}
