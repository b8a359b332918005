import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { describe, SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { sleep, unlessAborted } from '#lib/wait.ts';
import type { CaptureJob, MediaItem, MediaOutcome } from '#site/model/index.ts';
import type { Shelved } from './budget.ts';
import { createMake, type MakeOptions } from './make.ts';
import { mediaMetrics } from './metrics.ts';
import type { MediaTable, PlannedMedia } from './ports.ts';
import { createSpool } from './spool.ts';
import { settleOrphans, sweep } from './sweep.ts';

export interface Media extends Part {
  /** Makes the pictures and clips of one event, beginning at once. Never throws, never waits. */
  capture(job: CaptureJob): void;
  /** It leaves the disk: the cloud will never take it. */
  discard(file: string): Promise<void>;
  /** The file's bytes are safe in the cloud: it stays as long as `keepMs` says. */
  keep(file: string): Promise<void>;
  /** They, or their events, were given up: they leave the disk in the background. Never throws. */
  forget(files: readonly string[]): void;
  path(file: string): string;
  /** See `Spool.places`. */
  places(file: string): readonly string[];
}

/** A picture taken later than this after its event shows something else. */
const lateMs = 30_000;
const pictureCap = 128;
/** What they show is in memory until they are done. */
const clipCap = 16;
const expireEveryMs = 60_000;

/**
 * Makes the pictures and clips that events announced and keeps them on disk until the cloud has them. Cameras are asked side
 * by side, one camera's pictures one after the other; what comes from streams waits for nobody. What cannot be made is
 * recorded with its reason.
 */
export function createMedia(
  options: Omit<MakeOptions, 'spool'> & {
    dir: string;
    budgetBytes: number;
    /** How long they stay after the cloud has them. */
    keepMs: number;
    table: MediaTable;
    /** A picture or clip is ready to be uploaded. */
    onReady: () => void;
    log: Logger;
    metrics: Registry;
  },
): Media {
  const { table, clock, log, onReady, clips } = options;
  const spool = createSpool({ ...options, wall: clock.wall });
  const make = createMake({ ...options, spool });
  const metrics = mediaMetrics(options.metrics, () => spool.shownBytes);
  const abort = new AbortController();
  /** Work under way, and whether it may be known of. */
  const jobs = new Map<Promise<void>, boolean>();
  let clipsUnderWay = 0;
  /** Of the last picture, and of the last clip. */
  const problems = new Map<'picture' | 'clip', string>();
  /** What lay in the folder at the start has been counted. */
  let measured: Promise<void> = Promise.resolve();
  /** Events of this run until the tidying is over: their planned pictures are not left over from a former run. */
  let fresh: Set<number> | undefined;

  function run(work: Promise<void>, silent = false): void {
    const tracked = work.catch((error: unknown) => {
      if (!abort.signal.aborted && !silent) log.error({ err: error }, 'a picture could not be recorded');
    });
    jobs.set(tracked, !silent);
    void tracked.finally(() => jobs.delete(tracked));
  }

  async function enqueue(job: CaptureJob, item: MediaItem, eventMono: number): Promise<void> {
    if (!isClip(item)) return take(job, item, eventMono);
    clipsUnderWay += 1;
    return take(job, item, eventMono).finally(() => {
      clipsUnderWay -= 1;
    });
  }

  async function take(job: CaptureJob, item: MediaItem, eventMono: number): Promise<void> {
    const dueMono = eventMono + item.offsetMs;
    // A clip at once: what it begins with may be forgotten the next moment, as with a duress code that disarms.
    if (!isClip(item)) await sleep(Math.max(0, dueMono - clock.monotonic()), abort.signal);
    const outcome = await made(job, item, eventMono);
    if (job.silent !== true) {
      if (!isClip(item)) metrics.took(Math.max(0, clock.monotonic() - Math.max(dueMono, eventMono)));
      metrics.captured(item.kind, outcome.state);
      if (outcome.state === 'failed') problems.set(what(item), `${item.camera}: ${outcome.reason}`);
      else problems.delete(what(item));
    }
    await onDisk(job.committed);
    await record(outcome);
    crashPoint('media.row');
    if (outcome.state === 'ready') onReady();
  }

  async function made(job: CaptureJob, item: MediaItem, eventMono: number): Promise<MediaOutcome> {
    const place = placeOf(job, item);
    try {
      const { gone, ...stored } = await make({ ...item, ...place }, eventMono, abort.signal);
      for (const one of gone) run(giveUp(one));
      return { ...place, at: clock.wall(), state: 'ready', ...stored };
    } catch (error) {
      abort.signal.throwIfAborted();
      if (job.silent !== true) {
        metrics.failed(error instanceof SitewardError ? error.code : 'other');
        log.warn({ camera: item.camera, err: error }, `no ${what(item)}`);
      }
      return { ...place, at: clock.wall(), state: 'failed', reason: describe(error).slice(0, 300) };
    }
  }

  /** It gave way to another on a full budget. */
  async function giveUp({ seq, index, lane, file }: Shelved): Promise<void> {
    // Nobody is known to want it, nor whether its event may be known of (safety 4).
    if (lane === undefined) return;
    metrics.gaveWay();
    const reason = 'given up: the media budget was used up';
    log.warn({ file, lane }, `a picture or clip that waited for the cloud was ${reason}`);
    await record({ seq, index, lane, at: clock.wall(), state: 'failed', reason });
  }

  /** As `committed`, but no longer than media runs: an event may wait for a full disk for days. */
  const onDisk = (committed: Promise<void>): Promise<void> => unlessAborted(committed, abort.signal);

  /** The store may be away for a while; the row is repeated until it is there. */
  async function record(outcome: MediaOutcome): Promise<void> {
    const wait = backoff({ baseMs: 100, capMs: 5000 });
    for (let tries = 0; ; tries += 1) {
      try {
        return await table.update([outcome]);
      } catch (error) {
        if (tries >= 100) throw error;
        await sleep(wait.next(), abort.signal);
      }
    }
  }

  /** After a restart. What is still worth it is made, the rest is given up with the reason. */
  async function tidy(names: readonly string[]): Promise<void> {
    const options = { spool, table, signal: abort.signal, names, wall: clock.wall, record, retake, onReady };
    const orphans = await sweep(options).finally(() => {
      fresh = undefined;
    });
    void settleOrphans(orphans, options).catch((error: unknown) => {
      if (!abort.signal.aborted) log.warn({ err: error }, 'pictures without an event could not be removed');
    });
  }

  function retake(row: PlannedMedia): boolean {
    // A second picture would take the place of the first, whose size and hash are on record.
    if (fresh?.has(row.seq) === true) return true;
    const age = clock.wall() - row.eventWall;
    const late = age - Math.max(0, row.offsetMs);
    if (age < 0 || late >= (row.kind === 'snapshot' ? lateMs : clips[row.kind] / 2)) return false;
    const job = { ...row, items: [row], committed: Promise.resolve() };
    // A picture whose moment is over is of now; a clip of what is still to come of it, the greater part.
    const work = enqueue(job, row, clock.monotonic() - age);
    run(work, row.silent);
    return true;
  }

  /** What the cloud has and was kept long enough. */
  async function expire(): Promise<void> {
    for (;;) {
      await spool.expire().catch((error: unknown) => log.warn({ err: error }, 'old pictures could not be removed'));
      await sleep(expireEveryMs, abort.signal);
    }
  }

  return {
    name: 'media',

    async start() {
      fresh = new Set();
      const names = await spool.open();
      measured = spool.measure(names);
      run(measured.then(() => tidy(names)));
      void measured
        .catch(() => undefined)
        .then(expire)
        .catch(() => undefined);
    },

    async stop() {
      abort.abort(new SitewardError('stopped', 'media is stopping'));
      await Promise.allSettled(jobs.keys());
    },

    capture(job) {
      const started = clock.monotonic();
      if (job.items.length > 0) fresh?.add(job.seq);
      for (const item of job.items) {
        const isFull = isClip(item) ? clipsUnderWay >= clipCap : jobs.size - clipsUnderWay >= pictureCap;
        if (!isFull) run(enqueue(job, item, started), job.silent);
        else run(refuse(job, item), job.silent);
      }
    },

    discard: (file) => spool.remove(file),
    keep: (file) => spool.keep(file),
    forget: (files) =>
      run(
        // A file that goes while it is counted would be counted for ever.
        measured
          .catch(() => undefined)
          .then(() => Promise.all(files.map((file) => spool.remove(file))))
          .then(() => undefined),
        true,
      ),
    path: (file) => spool.path(file),
    places: (file) => spool.places(file),

    health(): Health {
      const waiting = [...jobs.values()].filter((isShown) => isShown).length;
      const facts = { spoolBytes: spool.shownBytes, waiting };
      const [problem] = problems;
      if (problem === undefined) return ok(facts);
      return { state: 'degraded', reason: `last ${problem[0]} failed: ${problem[1]}`, facts };
    },
  };

  async function refuse(job: CaptureJob, item: MediaItem): Promise<void> {
    if (job.silent !== true) metrics.captured(item.kind, 'refused');
    await onDisk(job.committed);
    const reason = `too many ${what(item)}s were asked for at once`;
    await record({ ...placeOf(job, item), at: clock.wall(), state: 'failed', reason });
  }
}

const what = ({ kind }: MediaItem) => (kind === 'snapshot' ? 'picture' : 'clip');
const isClip = (item: MediaItem): boolean => what(item) === 'clip';

const placeOf = ({ seq, lane, silent }: CaptureJob, { index }: MediaItem) => ({
  ...{ seq, lane, index },
  ...(silent === true && { silent }),
});
