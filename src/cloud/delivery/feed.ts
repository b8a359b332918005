import { describe, isCode } from '#errors.ts';
import { type Backoff, backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { withDeadline } from '#lib/wait.ts';
import { type Lane, lanes } from '#site/model/index.ts';
import { fileOf, type PendingRow, type Store } from '#site/store/index.ts';
import type { Item } from './item.ts';
import type { Queue } from './queue.ts';

/** Keeps the window in memory filled from the store, oldest first in each lane, fresh alarms ahead. */
export interface Feed {
  /** Rows may have been added: every lane is looked at again. */
  wake(): void;
  /** Rows below the cursors may wait again (parked events put back in line): every lane is read from its beginning. */
  retried(): void;
  /** Looks for rows in the background where the window has room; `onRows` is called when something came. */
  kick(): void;
  /** From here on an alarm counts as fresh: called at the start and when the line is back. */
  markFresh(): void;
  /** An item that was not read: what is older of its key may have been committed without having been read. */
  came(item: Item): void;
  /** Whether older rows of the item's key may lie in the store unseen. */
  mustLookBefore(item: Item): boolean;
  /** Takes older rows of the item's key into the window; at most 3 s, then the item goes without. */
  lookBefore(item: Item): Promise<void>;
  /** The event was accepted; if the store still offers it, its verdict was lost. */
  accepted(seq: number): void;
  wasAccepted(seq: number): boolean;
  readonly trouble: string | undefined;
}

export interface FeedOptions {
  readonly store: Pick<Store, 'take' | 'before' | 'events'>;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onRows: () => void;
  /** A row the store offers although it was accepted. */
  readonly onRepeat: (row: PendingRow) => void;
}

/** Rows of each lane in memory. */
const windows: Readonly<Record<Lane, number>> = { alarm: 768, arming: 512, trouble: 512, activity: 512 };
/** The lanes whose events keep one order per key. */
const siteLanes = lanes.filter((lane) => fileOf(lane) === 'site');
/** So many at once, and not before there is room for them: few large reads cost less than many small ones. */
const perTake = 256;
/** The store cuts an answer at 256 KiB; a shorter one below this many bytes means that there are no more rows. */
const surelyWhole = 192 * 1024;
/** Rows may come back below the cursor (a parked event is tried again): lanes are read anew this often. */
const rescanMs = 30_000;
const lookBeforeMs = 3_000;
/** What is in memory only has waited for the disk already. */
const lookBeforeDirectMs = 1_000;
const beforeLimit = 64;
const acceptedCap = 4_096;

/** What keeps a reader from the store after an error: each for itself, so that no lane waits for another's file. */
interface Hold {
  readonly waits: Backoff;
  notBeforeMono: number;
  trouble: string | undefined;
}

interface Reader {
  readonly lane: Lane;
  readonly hold: Hold;
  /** Rows up to here were read. */
  cursor: number;
  /** The number of the read that found the lane's end; undefined while there may be more rows. */
  endedAt: number | undefined;
}

const hold = (): Hold => ({
  waits: backoff({ baseMs: 250, capMs: 15_000 }),
  notBeforeMono: 0,
  trouble: undefined,
});

export function createFeed(options: FeedOptions): Feed {
  const { store, queue, clock } = options;
  const holds = { alarm: hold(), arming: hold(), trouble: hold(), activity: hold(), fresh: hold() };
  const reader = (lane: Lane): Reader => ({ lane, hold: holds[lane], cursor: 0, endedAt: undefined });
  const readers: Record<Lane, Reader> = {
    alarm: reader('alarm'),
    arming: reader('arming'),
    trouble: reader('trouble'),
    activity: reader('activity'),
  };
  /** Reads alarms above the mark, beside the backlog. */
  let freshReader: Reader | undefined;
  /** The last 4,096 to 8,192 events that were accepted, in two halves: the older one goes as a whole. */
  let accepted = new Set<number>();
  let acceptedBefore = new Set<number>();
  const wasAccepted = (seq: number) => accepted.has(seq) || acceptedBefore.has(seq);
  /**
   * By item, the number of the last read begun when its row came. Older rows of its key may have been committed with
   * it, so that only reads begun later have surely seen them. Without an entry nothing needs to be looked for.
   */
  const cameAt = new WeakMap<Item, number>();
  let reads = 0;
  let freshAbove = Number.MAX_SAFE_INTEGER;
  let rescannedMono = clock.monotonic();
  let running = false;
  /** The store gave no answer in time: nothing that is in memory only waits for another. */
  let hangs = false;

  function admit(row: PendingRow): Item | undefined {
    const known = queue.get(row.seq);
    if (known?.direct === true) queue.written(known);
    if (queue.get(row.seq) !== undefined) return undefined;
    if (wasAccepted(row.seq)) {
      options.onRepeat(row);
      return undefined;
    }
    const item = queue.add(row, { direct: false, fresh: row.seq > freshAbove });
    came(item);
    return item;
  }

  function came(item: Item): void {
    if (siteLanes.includes(item.row.lane)) cameAt.set(item, reads);
  }

  const readOn = (one: Reader | undefined) => {
    if (one !== undefined) one.endedAt = undefined;
  };

  /** Whether every waiting row of the reader's lane below the item's seq is in memory. */
  function covers(one: Reader, item: Item, came: number): boolean {
    return one.cursor >= item.row.seq || (one.endedAt !== undefined && one.endedAt > came);
  }

  function wants(one: Reader): boolean {
    if (one.endedAt !== undefined || clock.monotonic() < one.hold.notBeforeMono) return false;
    // Fresh alarms have room of their own, so that no backlog can keep them out.
    if (one === freshReader)
      return queue.freshStored <= windows.alarm - perTake && queue.stored('alarm') <= 2 * windows.alarm - perTake;
    return queue.stored(one.lane) <= windows[one.lane] - perTake;
  }

  async function read(one: Reader): Promise<number> {
    const from = one.cursor;
    reads += 1;
    const number = reads;
    const rows = await store.take(one.lane, from, perTake);
    hangs = false;
    let bytes = 0;
    let added = 0;
    for (const row of rows) {
      bytes += row.body.length;
      if (admit(row) !== undefined) added += 1;
    }
    one.cursor = rows.at(-1)?.seq ?? from;
    if (rows.length < perTake && bytes < surelyWhole) one.endedAt = number;
    // The ends the other lanes had before these rows came say nothing about them.
    if (added > 0 && siteLanes.includes(one.lane))
      for (const lane of siteLanes) if (lane !== one.lane) readOn(readers[lane]);
    return added;
  }

  async function run(): Promise<void> {
    for (;;) {
      const all = lanes.map((lane) => readers[lane]);
      const one = (freshReader === undefined ? all : [freshReader, ...all]).find(wants);
      if (one === undefined || options.signal.aborted) return;
      await attempt(one);
    }
  }

  /** Never throws: the error of one reader does not end the others. */
  async function attempt(one: Reader): Promise<void> {
    const { hold } = one;
    try {
      if ((await read(one)) > 0) options.onRows();
      hold.trouble = undefined;
      hold.waits.reset();
    } catch (error) {
      hold.trouble = describe(error);
      hold.notBeforeMono = clock.monotonic() + hold.waits.next();
    }
  }

  /**
   * Takes the oldest rows of the item's key from all lanes of `site.db`, also such as come after it: whatever lies in
   * one answer is whole, so that the items behind it need no look of their own.
   */
  async function lookBefore(item: Item): Promise<void> {
    const { orderKey, seq } = item.row;
    const below = Math.max(seq, ...siteLanes.map((lane) => readers[lane].cursor + 1));
    const rows = await store.before({ orderKey, seq: below });
    hangs = false;
    for (const row of rows) {
      const seen = admit(row) ?? queue.get(row.seq);
      if (seen !== undefined) cameAt.delete(seen);
    }
    // Older rows than these may remain; the item is looked at again when they have left.
    if (rows.length < beforeLimit) cameAt.delete(item);
  }

  function readAnew(): void {
    rescannedMono = clock.monotonic();
    // New ones, so that a read under way cannot move their cursors.
    for (const lane of lanes) readers[lane] = reader(lane);
  }

  return {
    wake() {
      for (const lane of lanes) readOn(readers[lane]);
      readOn(freshReader);
    },
    retried: readAnew,
    kick() {
      if (clock.monotonic() - rescannedMono >= rescanMs) readAnew();
      if (running) return;
      running = true;
      void run().finally(() => {
        running = false;
      });
    },
    markFresh() {
      store.events({ limit: 1 }).then(
        (newest) => {
          freshAbove = newest[0]?.seq ?? 0;
          queue.age(freshAbove);
          freshReader = { ...reader('alarm'), hold: holds.fresh, cursor: freshAbove };
        },
        // Without the mark no alarm counts as fresh; order and delivery are not touched.
        () => {},
      );
    },
    came,
    mustLookBefore(item) {
      const at = cameAt.get(item);
      if (at === undefined || (item.direct && hangs)) return false;
      return siteLanes.some((lane) => !covers(readers[lane], item, at));
    },
    async lookBefore(item) {
      try {
        const ms = item.direct ? lookBeforeDirectMs : lookBeforeMs;
        await withDeadline(ms, options.signal, () => lookBefore(item));
      } catch (error) {
        hangs ||= isCode(error, 'deadline');
        // Order gives way to the alarm; its seq is in the payload.
        cameAt.delete(item);
      }
    },
    accepted(seq) {
      accepted.add(seq);
      if (accepted.size < acceptedCap) return;
      acceptedBefore = accepted;
      accepted = new Set();
    },
    wasAccepted,
    get trouble() {
      return Object.values(holds).find(({ trouble }) => trouble !== undefined)?.trouble;
    },
  };
}
