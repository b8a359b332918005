import { SitewardError } from '#errors.ts';
import { unlessAborted } from '#lib/wait.ts';
import { resample } from './resample.ts';
import { faded } from './sound.ts';

/** One message at the rate of a speaker. */
export interface Prepared {
  readonly sha256: string;
  readonly rate: number;
}

/** Messages ready for speakers of a rate, so that an alarm needs neither disk nor arithmetic. */
export interface PreparedCache {
  /**
   * The samples, faded; made when they are not there, only once for all who ask. `urgent` goes before what waits. Rejects
   * with what the loading rejects with, `queue_full`, or the reason of the signal.
   */
  get(of: Prepared, signal: AbortSignal, urgent?: boolean): Promise<Int16Array>;
  /** Makes it and keeps it for good; false where there is no room for that. */
  pin(of: Prepared, signal: AbortSignal): Promise<boolean>;
  /** Of what is pinned these alone stay so. */
  unpin(except: readonly Prepared[]): void;
  /** Another greatest number of bytes, at once. What a sound has taken already stays with it. */
  bound(bytes: number): void;
  /** Forgets a message that is gone. */
  forget(sha256: string): void;
  readonly stats: CacheStats;
}

export interface CacheStats {
  /** At most as many as allowed; what is being made comes on top. */
  readonly bytes: number;
  readonly pinnedBytes: number;
  readonly messages: number;
  readonly hits: number;
  readonly misses: number;
}

/** So many are made side by side; each takes its share of the only thread. */
const atOnce = 2;
const waitingCap = 64;

interface Entry {
  readonly sha256: string;
  readonly samples: Int16Array;
  pinned: boolean;
}

interface Job {
  readonly name: string;
  readonly begin: () => void;
}

export function createPreparedCache(options: {
  readonly maxBytes: number;
  /** Samples of one channel, 16 bits, and their rate. */
  readonly load: (sha256: string, signal: AbortSignal) => Promise<{ rate: number; samples: Int16Array }>;
  /** Ends what is being made. */
  readonly stop: AbortSignal;
}): PreparedCache {
  const { load, stop } = options;
  let { maxBytes } = options;
  /** The one used last stands last. */
  const entries = new Map<string, Entry>();
  const making = new Map<string, Promise<Int16Array>>();
  const waiting: Job[] = [];
  let running = 0;
  let bytes = 0;
  let pinnedBytes = 0;
  let hits = 0;
  let misses = 0;

  const nameOf = ({ sha256, rate }: Prepared) => `${sha256} ${rate}`;

  function drop(name: string, entry: Entry): void {
    entries.delete(name);
    bytes -= entry.samples.byteLength;
    if (entry.pinned) pinnedBytes -= entry.samples.byteLength;
  }

  /** The least recently used give way. */
  function keep(name: string, entry: Entry): void {
    if (entry.samples.byteLength > maxBytes - pinnedBytes) return;
    entries.set(name, entry);
    bytes += entry.samples.byteLength;
    for (const [other, old] of entries) {
      if (bytes <= maxBytes) return;
      if (!old.pinned) drop(other, old);
    }
  }

  function turn(name: string, urgent: boolean): Promise<void> {
    if (running < atOnce) {
      running += 1;
      return Promise.resolve();
    }
    if (waiting.length >= waitingCap)
      return Promise.reject(new SitewardError('queue_full', 'too many messages are being prepared at once'));
    return new Promise((begin) => {
      if (urgent) waiting.unshift({ name, begin });
      else waiting.push({ name, begin });
    });
  }

  function done(): void {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next.begin();
  }

  async function make(of: Prepared, name: string, urgent: boolean): Promise<Int16Array> {
    await turn(name, urgent);
    try {
      stop.throwIfAborted();
      const { rate, samples } = await load(of.sha256, stop);
      const prepared = faded(await resample(samples, rate, of.rate, stop), of.rate);
      keep(name, { sha256: of.sha256, samples: prepared, pinned: false });
      return prepared;
    } finally {
      done();
    }
  }

  function hurry(name: string): void {
    const at = waiting.findIndex((job) => job.name === name);
    waiting.unshift(...(at < 0 ? [] : waiting.splice(at, 1)));
  }

  const get: PreparedCache['get'] = (of, signal, urgent = false) => {
    if (signal.aborted) return Promise.reject(signal.reason);
    const name = nameOf(of);
    const found = entries.get(name);
    if (found !== undefined) {
      hits += 1;
      entries.delete(name);
      entries.set(name, found);
      return Promise.resolve(found.samples);
    }
    misses += 1;
    const underWay = making.get(name);
    if (underWay !== undefined && urgent) hurry(name);
    const work = underWay ?? make(of, name, urgent).finally(() => making.delete(name));
    making.set(name, work);
    return unlessAborted(work, signal);
  };

  return {
    get,
    unpin(except) {
      const wanted = new Set(except.map(nameOf));
      for (const [name, entry] of entries) {
        if (!entry.pinned || wanted.has(name)) continue;
        entry.pinned = false;
        pinnedBytes -= entry.samples.byteLength;
      }
    },
    bound(to) {
      maxBytes = to;
      for (const pinned of [false, true])
        for (const [name, entry] of entries) if (bytes > maxBytes && entry.pinned === pinned) drop(name, entry);
    },
    async pin(of, signal) {
      await get(of, signal, true);
      const entry = entries.get(nameOf(of));
      if (entry === undefined) return false;
      if (!entry.pinned) pinnedBytes += entry.samples.byteLength;
      entry.pinned = true;
      return true;
    },
    forget(sha256) {
      for (const [name, entry] of entries) if (entry.sha256 === sha256) drop(name, entry);
    },
    get stats() {
      return { bytes, pinnedBytes, messages: entries.size, hits, misses };
    },
  };
}
