import { describe } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { sleep } from '#lib/wait.ts';
import type { Store, Verdict } from '#site/store/index.ts';
import type { Item } from './queue.ts';

/**
 * Writes verdicts. Sending does not wait for it: a lost verdict is only a repeat. Verdicts are
 * gathered for up to 250 ms. A failed write is tried again until it succeeds; the store takes repeats.
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
/** A verdict waits so long for others to go with: a write for each would cost the disk far more than they weigh. */
const gatherMs = 250;

export function createSettler(options: SettlerOptions): Settler {
  const waiting = new Map<Item, Verdict>();
  const waits = backoff({ baseMs: 250, capMs: 30_000 });
  let running: Promise<void> | undefined;
  let gathering: NodeJS.Timeout | undefined;
  let trouble: string | undefined;
  /** The end is near: nothing is gathered any more. */
  let hurried = false;

  async function run(): Promise<void> {
    try {
      while (waiting.size > 0 && !options.signal.aborted) {
        await write();
        if (waiting.size < perWrite && !hurried && trouble === undefined) return;
      }
    } finally {
      running = undefined;
      gather();
    }
  }

  async function write(): Promise<void> {
    const batch: [Item, Verdict][] = [];
    for (const one of waiting) if (batch.push(one) >= perWrite) break;
    try {
      crashPoint('settle.before');
      await options.store.settle(batch.map(([, verdict]) => verdict));
      crashPoint('settle.committed');
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

  function gather(): void {
    if (waiting.size > 0 && !options.signal.aborted) gathering ??= setTimeout(() => void kick(), gatherMs);
  }

  function kick(): Promise<void> {
    clearTimeout(gathering);
    gathering = undefined;
    if (waiting.size > 0 && !options.signal.aborted) running ??= run();
    return running ?? Promise.resolve();
  }

  return {
    add(item, verdict) {
      waiting.set(item, verdict);
      if (waiting.size >= perWrite) void kick();
      else gather();
    },
    get size() {
      return waiting.size;
    },
    get trouble() {
      return trouble;
    },
    async flush(signal) {
      hurried = true;
      const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      while (waiting.size > 0 && !signal.aborted && !options.signal.aborted) await Promise.race([kick(), aborted]);
    },
  };
}
