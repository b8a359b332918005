import { describe } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { sleep } from '#lib/wait.ts';
import { type FileName, fileOf, type Store, type Verdict } from '#site/store/index.ts';
import type { Item } from './item.ts';

/**
 * Writes verdicts. Sending does not wait for it: a lost verdict is only a repeat. Verdicts are gathered for up to
 * 250 ms; a few of them then wait for the next write of the store. A failed write is tried again until it succeeds;
 * the store takes repeats. Each file has a line of its own, so that a failing `bulk.db` holds up no verdict on an alarm.
 */
export interface Settler {
  add(item: Item, verdict: Verdict): void;
  /** Verdicts that are not yet on disk. */
  size(file: FileName): number;
  /** Those of both files, as anyone may see it: without silent events (safety 4). */
  shown(): number;
  /** Why writing fails at present. */
  readonly trouble: string | undefined;
  /** The end is near: from now on nothing is gathered, and nothing rides. */
  hurry(): void;
  /** Hurries, and resolves when nothing is left to write or the signal aborts. */
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
/** Fewer than these ride with the next write of the store, so long at most. */
const few = 16;
const rideMs = 5000;

export function createSettler(options: SettlerOptions): Settler {
  const files = { site: lineOf(options), bulk: lineOf(options) };
  const both = [files.site, files.bulk];
  const hurry = () => {
    for (const line of both) line.hurry();
  };
  return {
    add: (item, verdict) => files[fileOf(verdict.lane)].add(item, verdict),
    size: (file) => files[file].size(),
    shown: () => files.site.shown() + files.bulk.shown(),
    get trouble() {
      return files.site.trouble() ?? files.bulk.trouble();
    },
    hurry,
    async flush(signal) {
      hurry();
      await Promise.all(both.map((line) => line.written(signal)));
    },
  };
}

/** A refusal is for people to look at: it does not ride. */
const isParked = ({ verdict }: Verdict): boolean => verdict === 'parked';

/** The verdicts of one file. */
function lineOf(options: SettlerOptions) {
  const waiting = new Map<Item, Verdict>();
  const waits = backoff({ baseMs: 250, capMs: 30_000 });
  let running: Promise<void> | undefined;
  let gathering: NodeJS.Timeout | undefined;
  let trouble: string | undefined;
  /** Ends the ride of what waits for the store's next write, and the wait after a failed one. */
  let ride = new AbortController();
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
      await settle(batch.map(([, verdict]) => verdict));
      crashPoint('settle.committed');
      trouble = undefined;
      waits.reset();
      for (const [item] of batch) {
        waiting.delete(item);
        options.done(item);
      }
    } catch (error) {
      trouble = describe(error);
      const waitMs = hurried ? gatherMs : waits.next();
      ride = new AbortController();
      await sleep(waitMs, AbortSignal.any([options.signal, ride.signal])).catch(() => {});
    }
  }

  async function settle(verdicts: readonly Verdict[]): Promise<void> {
    const rides = verdicts.length < few && !hurried && !verdicts.some(isParked);
    if (!rides) return options.store.settle(verdicts);
    ride = new AbortController();
    const timer = setTimeout(() => ride.abort(), rideMs);
    try {
      await options.store.settle(verdicts, { until: ride.signal });
    } finally {
      clearTimeout(timer);
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
    add(item: Item, verdict: Verdict) {
      waiting.set(item, verdict);
      if ((waiting.size >= few || isParked(verdict)) && trouble === undefined) ride.abort();
      if (waiting.size >= perWrite || hurried) void kick();
      else gather();
    },
    size: () => waiting.size,
    shown: () => [...waiting.keys()].filter(({ row }) => row.silent !== true).length,
    trouble: () => trouble,
    hurry() {
      hurried = true;
      ride.abort();
      void kick();
    },
    async written(signal: AbortSignal) {
      const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      while (waiting.size > 0 && !signal.aborted && !options.signal.aborted) await Promise.race([kick(), aborted]);
    },
  };
}
