import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import { never, sleep, withDeadline } from '#lib/wait.ts';
import { commitLine, type Line, tells } from './commit-line.ts';
import { lossLedger } from './loss-ledger.ts';
import type { Lane } from './model/index.ts';
import {
  type Commit,
  type FileName,
  fileOf,
  type GapMark,
  type NewGap,
  type OutboxRow,
  type Store,
} from './store/index.ts';

/** What waits for one decision to be on disk. */
export interface Waiting {
  readonly commit: Commit;
  /**
   * Called once, in the order of `add`: when the commit is on disk, or when it was not within two seconds (at
   * once when its file is known to fail) and the world must not wait longer. `isDurable` tells which of both holds for the rows of a lane.
   */
  publish(isDurable: (lane: Lane) => boolean): void;
}

/** A site event is shown at the latest so long after its decision, durable or not. */
const publishAfterMs = 2000;
/**
 * Rows that may wait in memory while nothing can be written: above it activity gives way, above twice of it troubles
 * too. Alarms and arming only at the cap of commits.
 */
const memoryCap = 1200;
/**
 * Commits to `site.db` that may wait. At the cap the one in the middle gives way: the first tell how it began, the last
 * how it stands, and the newest state holds all of it. Its rows are counted in a gap record.
 */
const commitCap = 10_000;
/** Bytes they hold at most, without the state: only one is kept for all of them. At the cap as above. */
const byteCap = 96 * 1024 ** 2;
/** What a stop waits for the disk to take what is left, milliseconds: less than any part of the daemon gets for it. */
const lastTryMs = 1500;

/**
 * The one line of commits. Every commit is sent at once, so that the store can group them; they are published in
 * order. A commit that failed is of unknown outcome and is sent again under the same numbers until it is on disk.
 */
export interface CommitQueue {
  add(waiting: Waiting): Added;
  /** Event rows in memory that are not on disk yet, without silent ones (safety 4). */
  readonly waitingRows: number;
  /** The last try to write `site.db` failed, or a commit to it is overdue. */
  readonly failing: boolean;
  /** The same of `bulk.db`: activity waits, everything else goes on. */
  readonly bulkFailing: boolean;
  /**
   * What waits is tried once more at once: the disk may have room again, and after the stop nobody has it. What is not on
   * disk by then, at most 1.5 s later, rejects with `stopped`.
   */
  stop(): Promise<void>;
}

/** No promise rejects before `stop`. */
export interface Added {
  /** Resolves when the whole commit is on disk, or gave way in the middle of a very long line. */
  readonly durable: Promise<void>;
  /** Resolves when its rows of the lane are. */
  durableIn(lane: Lane): Promise<void>;
  /** Resolves after `publish` was called. */
  readonly published: Promise<void>;
}

/** What one commit writes to one file. A file that fails must not keep the rows of the other from the disk. */
interface Part {
  readonly file: FileName;
  readonly commit: Commit;
  readonly durable: Promise<void>;
  /** False when it gave way, or the stop came before; never rejects. */
  readonly written: Promise<boolean>;
}

function split(commit: Commit): { file: FileName; commit: Commit }[] {
  const { rows, arming } = commit;
  const of = (file: FileName) => rows.filter(({ lane }) => fileOf(lane) === file);
  const [site, bulk] = [of('site'), of('bulk')];
  const parts: { file: FileName; commit: Commit }[] = [];
  const isOnlyActivity =
    site.length === 0 &&
    arming.length === 0 &&
    (commit.audit ?? []).length === 0 &&
    commit.state === undefined &&
    bulk.length > 0;
  if (isOnlyActivity) return [{ file: 'bulk', commit }];
  parts.push({ file: 'site', commit: bulk.length === 0 ? commit : { ...commit, rows: site } });
  const { silent } = commit;
  if (bulk.length > 0)
    parts.push({ file: 'bulk', commit: { rows: bulk, arming: [], inputs: [], ...(silent === true && { silent }) } });
  return parts;
}

export function commitQueue(options: {
  store: Store;
  /** Rows that could not be written in time; they are offered to the cloud from memory. */
  direct: (rows: readonly OutboxRow[]) => void;
  /** Some of these are on disk now. */
  written?: (rows: readonly OutboxRow[]) => void;
  /** One of these that the cloud has. Asked after the stop of delivery too. */
  wasAccepted?: (seq: number) => boolean;
  log: Logger;
  metrics: Registry;
  /** For tests. */
  commitCap?: number;
  byteCap?: number;
}): CommitQueue {
  const { store, log, wasAccepted = () => false } = options;
  const abort = new AbortController();
  /** Aborts before `abort` does: the next try of each commit is its last. */
  const ending = new AbortController();
  /** Parts that are not on disk yet. */
  const open = new Set<Promise<void>>();
  let stopped: Promise<void> | undefined;
  /** Waits between two tries: one signal each, since what several signals end is larger than an event. */
  const naps = new Set<AbortController>();
  let tail: Promise<void> = Promise.resolve();
  let waitingRows = 0;
  let waitingSilent = 0;
  const shownRows = () => waitingRows - waitingSilent;
  const failing: Record<FileName, boolean> = { site: false, bulk: false };
  /** Commits that were not on disk in time and still are not. */
  const overdue: Record<FileName, number> = { site: 0, bulk: 0 };
  const losses = lossLedger({ store, wasAccepted, signal: abort.signal });
  /** Rows of commits that are neither on disk nor given up. */
  const unsaved = new Set<readonly OutboxRow[]>();
  const line = commitLine({ most: options.commitCap ?? commitCap, mostBytes: options.byteCap ?? byteCap });

  new Gauge({
    name: 'siteward_commit_waiting_rows',
    help: 'Event rows in memory that are not on disk yet',
    registers: [options.metrics],
    collect() {
      this.set(shownRows());
    },
  });
  const notDurable = new Counter({
    name: 'siteward_commit_late_total',
    help: 'Decisions published before they were on disk',
    registers: [options.metrics],
  });
  const dropped = new Counter({
    name: 'siteward_commit_dropped_rows_total',
    help: 'Rows given up because nothing could be written and memory was full',
    labelNames: ['lane'],
    registers: [options.metrics],
  });

  /** By itself, since an error keeps what was on the stack when it was made: whoever waits must not hold one. */
  async function isTaken(file: FileName, commit: Commit): Promise<boolean> {
    try {
      await store.commit(commit);
      failing[file] = false;
      return true;
    } catch (error) {
      if (abort.signal.aborted) return false;
      const isNews = !failing[file] && !ending.signal.aborted;
      if (isNews) log.error({ err: error, file }, 'a commit failed; it is sent again under the same numbers');
      failing[file] = true;
      return false;
    }
  }

  /**
   * Resolves true when the commit is on disk, false when it gave way. One to `bulk.db` never gives way as a whole: its
   * rows have a cap of their own.
   */
  async function persist(file: FileName, commit: Commit, one?: Line): Promise<boolean> {
    const pause = backoff({ baseMs: 100, capMs: 5000 });
    for (;;) {
      // Only between two tries: one that is under way may succeed, and then nothing is lost.
      if (hasGivenWay(one)) {
        giveUp(commit.rows);
        return false;
      }
      const isLast = ending.signal.aborted;
      if (await isTaken(file, commit)) {
        if (one !== undefined) line.written(one);
        return true;
      }
      abort.signal.throwIfAborted();
      if (isLast) throw ending.signal.reason;
      const waitMs = Math.max(pause.next(), one === undefined ? 0 : line.turnMs());
      // Either may have come during the try.
      if (!hasGivenWay(one) && !ending.signal.aborted) await nap(waitMs, one);
      abort.signal.throwIfAborted();
    }
  }

  async function nap(ms: number, one: Line | undefined): Promise<void> {
    const ended = new AbortController();
    naps.add(ended);
    if (one !== undefined) one.nap = ended;
    await sleep(ms, ended.signal).catch(nothing);
    naps.delete(ended);
    if (one !== undefined) one.nap = undefined;
  }

  function endNaps(): void {
    for (const ended of naps) ended.abort();
  }

  function giveUp(rows: readonly OutboxRow[]): void {
    for (const row of rows.filter(isShown)) {
      dropped.inc({ lane: row.lane });
      if (row.toCloud && !wasAccepted(row.seq)) losses.add(row);
    }
  }

  /** To `site.db`; as `persist`. */
  async function inLine(one: Line): Promise<boolean> {
    try {
      const isWritten = await persist('site', one.commit, one);
      if (isWritten) markInBulk(one.marks);
      return isWritten;
    } finally {
      line.leave(one);
    }
  }

  /** Only after the event: a run that ends in between tells of these records once more, never not at all. */
  function markInBulk(reported: readonly GapMark[]): void {
    if (reported.length === 0) return;
    void persist('bulk', { rows: [], arming: [], inputs: [], reported }).catch(nothing);
  }

  /**
   * Under memory pressure the less important rows give way, each counted in a gap record. An event that tells of losses
   * stays: there is at most one per open gap record, and each of these is told once.
   */
  function admit(commit: Commit): Commit {
    const rows = waitingRows + commit.rows.length;
    if (rows <= memoryCap || tells(commit)) return commit;
    const keeps = ({ lane }: OutboxRow) => lane !== 'activity' && (lane !== 'trouble' || rows <= 2 * memoryCap);
    const kept = commit.rows.filter(keeps);
    giveUp(commit.rows.filter((row) => !keeps(row)));
    return { ...commit, rows: kept };
  }

  function write(file: FileName, given: Commit): Part {
    const { rows } = given;
    const { length } = rows;
    const silent = length - rows.filter(isShown).length;
    waitingRows += length;
    waitingSilent += silent;
    if (length > 0) unsaved.add(rows);
    const one = file === 'site' ? line.enter(given) : undefined;
    const commit = one?.commit ?? given;
    const work = one === undefined ? persist(file, commit) : inLine(one);
    void work.then(
      () => unsaved.delete(rows),
      () => undefined,
    );
    const durable = work.then(nothing).finally(() => {
      waitingRows -= length;
      waitingSilent -= silent;
      open.delete(durable);
    });
    open.add(durable);
    durable.catch(() => undefined);
    return { file, commit, durable, written: work.catch(isFalse) };
  }

  const writeAll = (all: Commit): Part[] => split(admit(all)).map(({ file, commit }) => write(file, commit));

  /** False when the part was not on disk in time; its rows are sent from memory then. */
  async function settle({ file, commit, written }: Part, inTime: ReturnType<typeof withinTime>): Promise<boolean> {
    const result = await inTime;
    if (result === 'stopped') throw new SitewardError('stopped', 'siteward stopped before the commit was on disk');
    if (result === 'durable') return true;
    if (commit.silent !== true) notDurable.inc();
    overdue[file] += 1;
    const { rows } = commit;
    options.direct(rows);
    void written.then((isWritten) => {
      overdue[file] -= 1;
      if (isWritten) options.written?.(rows);
    });
    return false;
  }

  async function end(): Promise<void> {
    const reason = new SitewardError('stopped', 'siteward is stopping');
    ending.abort(reason);
    endNaps();
    await withDeadline(lastTryMs, never(), () => Promise.allSettled(open)).catch(() => undefined);
    // A try that is under way may succeed until the store has stopped.
    if (unsaved.size > 0 || losses.open().length > 0) store.leave(lost);
    abort.abort(reason);
    endNaps();
  }

  /** What this run takes with it, counted by lane. */
  function lost(): readonly NewGap[] {
    const rows = [...unsaved].flat().filter(({ toCloud, silent, seq }) => toCloud && !silent && !wasAccepted(seq));
    const byLane = Map.groupBy(rows, ({ lane }) => lane);
    const gone = [...byLane].map(([lane, some]) => ({
      lane,
      seqFrom: some.reduce((low, { seq }) => Math.min(low, seq), Number.MAX_SAFE_INTEGER),
      seqTo: some.reduce((high, { seq }) => Math.max(high, seq), 0),
      count: some.length,
      why: 'memory_full' as const,
      at: some.reduce((last, { wall }) => Math.max(last, wall), 0),
    }));
    const counts = Object.fromEntries(gone.map(({ lane, count }) => [lane, count]));
    if (gone.length > 0)
      log.error(counts, 'events in memory only are lost with this stop; the next start tells the cloud');
    return [...losses.open(), ...gone];
  }

  return {
    add(waiting) {
      const parts = writeAll(waiting.commit);
      // Nothing waits for a file that is known to fail: each alarm would be late, and what follows it behind it.
      const times = parts.map(({ file, durable }) =>
        withinTime(durable, abort.signal, failing[file] ? 0 : publishAfterMs),
      );
      const published = tail.then(async () => {
        const done = new Map<FileName, boolean>();
        for (const [index, part] of parts.entries()) {
          const time = times[index];
          if (time !== undefined) done.set(part.file, await settle(part, time));
        }
        waiting.publish((lane) => done.get(fileOf(lane)) ?? true);
      });
      tail = published.catch(nothing);
      const durable = Promise.all(parts.map((part) => part.durable)).then(nothing);
      durable.catch(nothing);
      return {
        durable,
        durableIn: (lane) => parts.find(({ file }) => file === fileOf(lane))?.durable ?? durable,
        published,
      };
    },
    get waitingRows() {
      return shownRows();
    },
    get failing() {
      return failing.site || overdue.site > 0;
    },
    get bulkFailing() {
      return failing.bulk || overdue.bulk > 0;
    },
    stop() {
      stopped ??= end();
      return stopped;
    },
  };
}

const hasGivenWay = (one: Line | undefined): boolean => one?.givenUp === true;

const isShown = ({ silent }: OutboxRow): boolean => silent !== true;

/** A function made where a commit is in reach would keep it in memory, state and all, for as long as it waits. */
const nothing = (): void => undefined;
const isFalse = (): boolean => false;

async function withinTime(
  durable: Promise<unknown>,
  signal: AbortSignal,
  ms: number,
): Promise<'durable' | 'late' | 'stopped'> {
  const done = new AbortController();
  const late = sleep(ms, AbortSignal.any([signal, done.signal])).then(
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
  // An abort without a reason makes an error with a stack for each commit.
  done.abort('settled');
  return result;
}
