import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import { sleep } from '#lib/wait.ts';
import type { Lane } from './model/index.ts';
import type { Commit, Gap, OutboxRow, Store } from './store/index.ts';

/** What waits for one decision to be on disk. */
export interface Waiting {
  readonly commit: Commit;
  /**
   * Called once, in the order of `add`: when the commit is on disk, or when it was not within two seconds and the
   * world must not wait longer. `isDurable` tells which of both holds for the rows of a lane.
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

/**
 * The one line of commits. Every commit is sent at once, so that the store can group them; they are published in
 * order. A commit that failed is of unknown outcome and is sent again under the same numbers until it is on disk.
 */
export interface CommitQueue {
  add(waiting: Waiting): Added;
  /** Event rows in memory that are not on disk yet. */
  readonly waitingRows: number;
  /** The last try to write `site.db` failed, or a commit to it is overdue. */
  readonly failing: boolean;
  /** The same of `bulk.db`: activity waits, everything else goes on. */
  readonly bulkFailing: boolean;
  stop(): void;
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
}

/** A commit to `site.db` that is not on disk yet. */
interface Line {
  readonly givenUp: AbortController;
}
type FileName = 'site' | 'bulk';

const fileOf = (lane: Lane): FileName => (lane === 'activity' ? 'bulk' : 'site');

function split(commit: Commit): { file: FileName; commit: Commit }[] {
  const { rows, arming } = commit;
  const [site, bulk] = [rows.filter(({ lane }) => lane !== 'activity'), rows.filter(({ lane }) => lane === 'activity')];
  const parts: { file: FileName; commit: Commit }[] = [];
  const isOnlyActivity = site.length === 0 && arming.length === 0 && commit.state === undefined && bulk.length > 0;
  if (isOnlyActivity) return [{ file: 'bulk', commit }];
  parts.push({ file: 'site', commit: bulk.length === 0 ? commit : { ...commit, rows: site } });
  if (bulk.length > 0) parts.push({ file: 'bulk', commit: { rows: bulk, arming: [], inputs: [] } });
  return parts;
}

export function commitQueue(options: {
  store: Store;
  /** Rows that could not be written in time; they are offered to the cloud from memory. */
  direct: (rows: readonly OutboxRow[]) => void;
  log: Logger;
  metrics: Registry;
  /** For tests. */
  commitCap?: number;
}): CommitQueue {
  const { store, log } = options;
  const abort = new AbortController();
  let tail: Promise<void> = Promise.resolve();
  let waitingRows = 0;
  const failing: Record<FileName, boolean> = { site: false, bulk: false };
  /** Commits that were not on disk in time and still are not. */
  const overdue: Record<FileName, number> = { site: 0, bulk: 0 };
  const losses = lossLedger({ store, signal: abort.signal });
  /** Oldest first. */
  const line: Line[] = [];
  const most = options.commitCap ?? commitCap;

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
    help: 'Rows given up because nothing could be written and memory was full',
    labelNames: ['lane'],
    registers: [options.metrics],
  });

  async function persist(file: FileName, commit: Commit, givenUp: AbortSignal): Promise<void> {
    const pause = backoff({ baseMs: 100, capMs: 5000 });
    for (;;) {
      // Only between two tries: one that is under way may succeed, and then nothing is lost.
      if (givenUp.aborted) return giveUp(commit.rows);
      try {
        await store.commit(commit);
        failing[file] = false;
        return;
      } catch (error) {
        abort.signal.throwIfAborted();
        if (!failing[file]) log.error({ err: error, file }, 'a commit failed; it is sent again under the same numbers');
        failing[file] = true;
        await sleep(pause.next(), AbortSignal.any([abort.signal, givenUp])).catch(() => abort.signal.throwIfAborted());
      }
    }
  }

  function giveUp(rows: readonly OutboxRow[]): void {
    for (const row of rows) {
      dropped.inc({ lane: row.lane });
      if (row.toCloud && row.silent !== true) losses.add(row);
    }
  }

  /** Resolves when the commit is on disk, or when it gave way. */
  async function inLine(commit: Commit): Promise<void> {
    const one: Line = { givenUp: new AbortController() };
    line.push(one);
    if (line.length > most) line.splice(Math.floor(most / 2), 1)[0]?.givenUp.abort();
    try {
      await persist('site', commit, one.givenUp.signal);
    } finally {
      const place = line.indexOf(one);
      if (place >= 0) line.splice(place, 1);
    }
  }

  /** Under memory pressure the less important rows give way, each counted in a gap record. */
  function admit(commit: Commit): Commit {
    const rows = waitingRows + commit.rows.length;
    if (rows <= memoryCap) return commit;
    const keeps = ({ lane }: OutboxRow) => lane !== 'activity' && (lane !== 'trouble' || rows <= 2 * memoryCap);
    giveUp(commit.rows.filter((row) => !keeps(row)));
    return { ...commit, rows: commit.rows.filter(keeps) };
  }

  function write(file: FileName, commit: Commit): Part {
    const { length } = commit.rows;
    waitingRows += length;
    const durable = (file === 'site' ? inLine(commit) : persist(file, commit, never)).finally(() => {
      waitingRows -= length;
    });
    durable.catch(() => undefined);
    return { file, commit, durable };
  }

  /** False when the part was not on disk in time; its rows are sent from memory then. */
  async function settle({ file, commit, durable }: Part, inTime: ReturnType<typeof withinTime>): Promise<boolean> {
    const result = await inTime;
    if (result === 'stopped') throw new SitewardError('stopped', 'siteward stopped before the commit was on disk');
    if (result === 'durable') return true;
    notDurable.inc();
    overdue[file] += 1;
    void durable
      .catch(() => undefined)
      .then(() => {
        overdue[file] -= 1;
      });
    options.direct(commit.rows);
    return false;
  }

  return {
    add(waiting) {
      const parts = split(admit(waiting.commit)).map(({ file, commit }) => write(file, commit));
      // Nothing else waits for a bulk.db that is known to fail.
      const times = parts.map(({ file, durable }) =>
        withinTime(durable, abort.signal, file === 'bulk' && failing.bulk ? 0 : publishAfterMs),
      );
      const published = tail.then(async () => {
        const done = new Map<FileName, boolean>();
        for (const [index, part] of parts.entries()) {
          const time = times[index];
          if (time !== undefined) done.set(part.file, await settle(part, time));
        }
        waiting.publish((lane) => done.get(fileOf(lane)) ?? true);
      });
      tail = published.catch(() => undefined);
      const durable = Promise.all(parts.map((part) => part.durable)).then(() => undefined);
      durable.catch(() => undefined);
      return {
        durable,
        durableIn: (lane) => parts.find(({ file }) => file === fileOf(lane))?.durable ?? durable,
        published,
      };
    },
    get waitingRows() {
      return waitingRows;
    },
    get failing() {
      return failing.site || overdue.site > 0;
    },
    get bulkFailing() {
      return failing.bulk || overdue.bulk > 0;
    },
    stop() {
      abort.abort(new SitewardError('stopped', 'siteward is stopping'));
    },
  };
}

/** Rows given up in memory, one record per lane until the store takes it. */
function lossLedger({ store, signal }: { store: Pick<Store, 'addGap'>; signal: AbortSignal }): {
  add(row: OutboxRow): void;
} {
  const open = new Map<Lane, Omit<Gap, 'id' | 'reported'>>();
  let writing = false;

  async function write(): Promise<void> {
    writing = true;
    for (let gap = take(); gap !== undefined; gap = take()) {
      const pause = backoff({ baseMs: 500, capMs: 5000 });
      // Repeated as it is until the store has it: an unknown outcome must not count twice.
      while (!(await store.addGap(gap).then(isTrue, isFalse))) await sleep(pause.next(), signal);
    }
    writing = false;
  }

  function take(): Omit<Gap, 'id' | 'reported'> | undefined {
    const [gap] = open.values();
    if (gap !== undefined) open.delete(gap.lane);
    return gap;
  }

  return {
    add({ lane, seq, wall }) {
      const { seqFrom = seq, seqTo = seq, count = 0 } = open.get(lane) ?? {};
      const range = { seqFrom: Math.min(seqFrom, seq), seqTo: Math.max(seqTo, seq), count: count + 1 };
      open.set(lane, { lane, ...range, why: 'memory_full', at: wall });
      if (!writing) void write().catch(() => undefined);
    },
  };
}

/** A commit to `bulk.db` never gives way as a whole: its rows have a cap of their own. */
const never = new AbortController().signal;

const isTrue = (): boolean => true;
const isFalse = (): boolean => false;

async function withinTime(
  durable: Promise<void>,
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
  done.abort();
  return result;
}
