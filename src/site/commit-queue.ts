import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import { sleep } from '#lib/wait.ts';
import type { Commit, OutboxRow, Store } from './store/index.ts';

/** What waits for one decision to be on disk. */
export interface Waiting {
  readonly commit: Commit;
  /**
   * Called once, in the order of `add`: with true when the commit is on disk, with false when it was not within
   * two seconds and the world must not wait longer.
   */
  publish(durable: boolean): void;
}

/** A site event is shown at the latest so long after its decision, durable or not. */
const publishAfterMs = 2000;
/** Rows that may wait in memory while nothing can be written. */
const memoryCap = 1200;

/**
 * The one line of commits. Every commit is sent at once, so that the store can group them; they are published in
 * order. A commit that failed is of unknown outcome and is sent again under the same numbers until it is on disk.
 */
export interface CommitQueue {
  add(waiting: Waiting): Added;
  /** Event rows in memory that are not on disk yet. */
  readonly waitingRows: number;
  /** The last try to write failed, or a commit is overdue. */
  readonly failing: boolean;
  stop(): void;
}

/** Neither promise rejects before `stop`. */
export interface Added {
  /** Resolves when the commit is on disk. */
  readonly durable: Promise<void>;
  /** Resolves after `publish` was called. */
  readonly published: Promise<void>;
}

export function commitQueue(options: {
  store: Store;
  /** Rows that could not be written in time; they are offered to the cloud from memory. */
  direct: (rows: readonly OutboxRow[]) => void;
  log: Logger;
  metrics: Registry;
}): CommitQueue {
  const { store, log } = options;
  const abort = new AbortController();
  let tail: Promise<void> = Promise.resolve();
  let waitingRows = 0;
  let failing = false;
  /** Commits that were not on disk in time and still are not. */
  let overdue = 0;

  new Gauge({
    name: 'siteward_commit_waiting_rows',
    help: 'Event rows in memory that are not on disk yet',
    registers: [options.metrics],
    collect() {
      this.set(waitingRows);
    },
  });
  const notDurable = new Counter({
    name: 'siteward_commit_late_total',
    help: 'Decisions published before they were on disk',
    registers: [options.metrics],
  });
  const dropped = new Counter({
    name: 'siteward_commit_dropped_rows_total',
    help: 'Activity rows given up because nothing could be written and memory was full',
    registers: [options.metrics],
  });

  async function persist(commit: Commit): Promise<void> {
    const pause = backoff({ baseMs: 100, capMs: 5000 });
    for (;;) {
      try {
        await store.commit(commit);
        failing = false;
        return;
      } catch (error) {
        abort.signal.throwIfAborted();
        if (!failing) log.error({ err: error }, 'a commit failed; it is sent again under the same numbers');
        failing = true;
        await sleep(pause.next(), abort.signal);
      }
    }
  }

  /** Under memory pressure activity gives way; alarms, arming and troubles never do. */
  function admit(commit: Commit): Commit {
    if (waitingRows + commit.rows.length <= memoryCap) return commit;
    const rows = commit.rows.filter((row) => row.lane !== 'activity');
    dropped.inc(commit.rows.length - rows.length);
    return { ...commit, rows };
  }

  return {
    add(waiting) {
      const commit = admit(waiting.commit);
      waitingRows += commit.rows.length;
      const durable = persist(commit).finally(() => {
        waitingRows -= commit.rows.length;
      });
      durable.catch(() => undefined);
      const inTime = withinTime(durable, abort.signal);
      const published = tail.then(async () => {
        const result = await inTime;
        if (result === 'stopped') throw new SitewardError('stopped', 'siteward stopped before the commit was on disk');
        if (result === 'late') {
          notDurable.inc();
          overdue += 1;
          void durable
            .catch(() => undefined)
            .then(() => {
              overdue -= 1;
            });
          options.direct(commit.rows);
        }
        waiting.publish(result === 'durable');
      });
      tail = published.catch(() => undefined);
      return { durable, published };
    },
    get waitingRows() {
      return waitingRows;
    },
    get failing() {
      return failing || overdue > 0;
    },
    stop() {
      abort.abort(new SitewardError('stopped', 'siteward is stopping'));
    },
  };
}

async function withinTime(durable: Promise<void>, signal: AbortSignal): Promise<'durable' | 'late' | 'stopped'> {
  const done = new AbortController();
  const late = sleep(publishAfterMs, AbortSignal.any([signal, done.signal])).then(
    () => 'late' as const,
    () => 'stopped' as const,
  );
  const result = await Promise.race([
    durable.then(
      () => 'durable' as const,
      () => 'stopped' as const,
    ),
    late,
  ]);
  done.abort();
  return result;
}
