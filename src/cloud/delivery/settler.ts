import { describe } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import { sleep } from '#lib/wait.ts';
import type { Store, Verdict } from '#site/store/index.ts';
import type { Item } from './queue.ts';

/**
 * Writes verdicts. Sending does not wait for it: a lost verdict is only a repeat. Verdicts that come while one write
 * is under way go together in the next. A failed write is tried again until it succeeds; the store takes repeats.
 */
export interface Settler {
  add(item: Item, verdict: Verdict): void;
  /** Verdicts that are not yet on disk. */
  readonly size: number;
  /** Why writing fails at present. */
  readonly trouble: string | undefined;
  /** Resolves when nothing is left to write or the signal aborts. */
  flush(signal: AbortSignal): Promise<void>;
}

export interface SettlerOptions {
  readonly store: Pick<Store, 'settle'>;
  /** The verdict of an item is on disk. */
  readonly done: (item: Item) => void;
  readonly signal: AbortSignal;
}

/** Verdicts in one write; more would hold other writes up. */
const perWrite = 500;

export function createSettler(options: SettlerOptions): Settler {
  const waiting = new Map<Item, Verdict>();
  const waits = backoff({ baseMs: 250, capMs: 30_000 });
  let running: Promise<void> | undefined;
  let trouble: string | undefined;

  async function run(): Promise<void> {
    while (waiting.size > 0 && !options.signal.aborted) {
      const batch = [...waiting].slice(0, perWrite);
      try {
        await options.store.settle(batch.map(([, verdict]) => verdict));
        trouble = undefined;
        waits.reset();
        for (const [item] of batch) {
          waiting.delete(item);
          options.done(item);
        }
      } catch (error) {
        trouble = describe(error);
        await sleep(waits.next(), options.signal).catch(() => {});
      }
    }
  }

  function kick(): Promise<void> {
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  }

  return {
    add(item, verdict) {
      waiting.set(item, verdict);
      void kick();
    },
    get size() {
      return waiting.size;
    },
    get trouble() {
      return trouble;
    },
    async flush(signal) {
      const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      while (waiting.size > 0 && !signal.aborted && !options.signal.aborted) await Promise.race([kick(), aborted]);
    },
  };
}
