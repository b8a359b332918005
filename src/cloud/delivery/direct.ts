import type { OutboxRow, PendingRow } from '#site/store/index.ts';
import type { Feed } from './feed.ts';
import type { DeliveryMetrics } from './metrics.ts';
import type { Queue } from './queue.ts';

export interface DirectOptions {
  readonly queue: Queue;
  readonly feed: Pick<Feed, 'came' | 'wasAccepted' | 'retried'>;
  readonly metrics: DeliveryMetrics;
  /** Accepted while it had no row, and now it has one. */
  readonly onRepeat: (row: PendingRow) => void;
}

/** Events that could not be written, sent from memory. */
export interface Direct {
  add(rows: readonly OutboxRow[]): void;
  written(rows: readonly OutboxRow[]): void;
}

const cap = 1_200;

export function createDirect({ queue, feed, metrics, onRepeat }: DirectOptions): Direct {
  return {
    /**
     * At 1,200 the oldest of the least important lane gives way, which is counted and no loss: whoever could not write a
     * row still holds it, writes it later, and counts it if it must give it up. So no gap record is made here.
     */
    add(rows) {
      for (const row of rows) {
        if (!row.toCloud || queue.get(row.seq) !== undefined || feed.wasAccepted(row.seq)) continue;
        feed.came(queue.add(row, { direct: true, fresh: true }));
        const loser = queue.directCount() > cap ? queue.leastDirect() : undefined;
        if (loser === undefined) continue;
        queue.drop(loser);
        if (loser.row.silent !== true) metrics.directDropped.inc({ lane: loser.row.lane });
      }
    },

    /**
     * A verdict is given only on a row that is on disk, since one that comes before it changes nothing: at once where the
     * event was accepted meanwhile, or at the end of its try. A disk that is full gives up what it has no verdict on, and
     * counts it as lost until the verdict comes.
     */
    written(rows) {
      for (const row of rows) {
        const item = queue.get(row.seq);
        if (item === undefined && feed.wasAccepted(row.seq)) onRepeat(row);
        if (item?.direct !== true) continue;
        queue.written(item);
        if (queue.get(row.seq) === undefined) feed.retried();
      }
    },
  };
}
