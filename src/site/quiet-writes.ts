import type { Clock } from '#lib/clock.ts';
import type { Changes, SiteView } from './model/index.ts';

/** A change of state that no event carries. */
export interface QuietChange {
  readonly view: SiteView;
  readonly changes: Changes;
}

/** What rides with a commit. */
export interface QuietBatch {
  /** Nothing rides. */
  readonly isEmpty: boolean;
  /** To be called before what the commit itself shows, so that nothing older is ever shown after something newer. */
  show(): void;
  /** Its changes are done when the commit is shown. */
  follow(published: Promise<void>): void;
}

/**
 * Each write takes the whole state to the disk, so changes that follow each other closely share one: it begins so long after the last
 * write began, or as soon as so many wait. Fewer than mosquitto leaves unacknowledged (20), or that would be the pace of a panel.
 */
const apartMs = 20;
const together = 16;

/** Changes without an event: they wait for the write under way, and for each other for a moment, and then share one. */
export interface QuietWrites {
  /**
   * Resolves when it is on disk and shown. While nothing can be written it resolves at once, is shown as soon as all
   * commits before it are, and is written later.
   */
  add(change: QuietChange): Promise<void>;
  /** To be called for every commit: each holds the newest state, and with it all that waits here. */
  take(): QuietBatch;
  /** Nothing waits to be written. */
  readonly isEmpty: boolean;
}

export function quietWrites(options: {
  show: (change: QuietChange) => void;
  /** Adds a commit of the state alone, which takes what waits; resolves when it is on disk. */
  write: () => Promise<void>;
  isFailing: () => boolean;
  clock: Pick<Clock, 'monotonic'>;
}): QuietWrites {
  const { clock } = options;
  /** Not shown, and in no commit. */
  let waiting: QuietChange[] = [];
  let done = Promise.withResolvers<void>();
  let isWriting = false;
  /** When the last commit took the state. */
  let takenMono = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  /** Something was shown that no commit holds. */
  let isOwed = false;
  /** Commits that are not shown yet. */
  let commitsAhead = 0;

  function write(): void {
    if (isWriting || (waiting.length === 0 && !isOwed)) return;
    const waitMs = takenMono + apartMs - clock.monotonic();
    if (waitMs > 0 && waiting.length < together) {
      timer ??= setTimeout(begin, waitMs);
      return;
    }
    begin();
  }

  function begin(): void {
    clearTimeout(timer);
    timer = undefined;
    if (isWriting || (waiting.length === 0 && !isOwed)) return;
    isWriting = true;
    void options
      .write()
      .catch(() => undefined)
      .then(() => {
        isWriting = false;
        write();
      });
  }

  /** What waits, and its promise, to the caller, who must show it. */
  function takeWaiting() {
    const [batch, { promise, resolve, reject }] = [waiting, done];
    waiting = [];
    done = Promise.withResolvers();
    promise.catch(() => undefined);
    const show = () => {
      for (const change of batch) options.show(change);
    };
    return { isEmpty: batch.length === 0, show, resolve, reject };
  }

  /** The LAN does not wait for a disk that fails, only for what came earlier. */
  function showUnwritten(): void {
    if (waiting.length === 0 || commitsAhead > 0 || !options.isFailing()) return;
    const { show, resolve, reject } = takeWaiting();
    isOwed = true;
    void Promise.try(show).then(resolve, reject);
  }

  return {
    add(change) {
      const { promise } = done;
      waiting.push(change);
      write();
      if (!options.isFailing()) return promise;
      // Who sends changes is not held back now, so they must not pile up.
      if (waiting.length > 1) waiting = [waiting.reduce(merged)];
      showUnwritten();
      return Promise.resolve();
    },
    take() {
      const { isEmpty, show, resolve, reject } = takeWaiting();
      const wasOwed = isOwed;
      isOwed = false;
      commitsAhead += 1;
      takenMono = clock.monotonic();
      clearTimeout(timer);
      timer = undefined;
      return {
        isEmpty: isEmpty && !wasOwed,
        show,
        follow(published) {
          void published.then(resolve, reject).then(() => {
            commitsAhead -= 1;
            showUnwritten();
          });
        },
      };
    },
    get isEmpty() {
      return waiting.length === 0 && !isOwed;
    },
  };
}

/** The newer view, with what both changed. */
function merged({ changes: older }: QuietChange, { view, changes: newer }: QuietChange): QuietChange {
  return {
    view,
    changes: {
      partitions: [...new Set([...older.partitions, ...newer.partitions])],
      zones: [...new Set([...older.zones, ...newer.zones])],
      troubles: older.troubles || newer.troubles,
      links: older.links || newer.links,
    },
  };
}
