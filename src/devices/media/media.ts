import type { Logger } from 'pino';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { describe, SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { sleep, unlessAborted, withDeadline } from '#lib/wait.ts';
import type { Lane, MediaItem } from '#site/model/index.ts';
import type { Shelved } from './budget.ts';
import type { MediaOutcome, MediaTable, PictureSource, PlannedMedia } from './ports.ts';
import { createSpool } from './spool.ts';
import { settleOrphans, sweep } from './sweep.ts';

export interface CaptureJob {
  readonly seq: number;
  readonly lane: Lane;
  readonly items: readonly MediaItem[];
  /** Resolves when the event and its media plan are on disk; rows are touched only then. */
  readonly committed: Promise<void>;
  /** Shows in no metric, log line or health (safety 4). */
  readonly silent?: true;
}

export interface Media extends Part {
  /** Takes the pictures of one event, beginning at once. Never throws, never waits. */
  capture(job: CaptureJob): void;
  /** The file's bytes are safe in the cloud; the picture leaves the disk. */
  discard(file: string): Promise<void>;
  /** They, or their events, were given up: they leave the disk in the background. Never throws. */
  forget(files: readonly string[]): void;
  path(file: string): string;
}

const snapshotDeadlineMs = 10_000;
const retryAfterMs = 1000;
/** Longer than stopping takes: then the picture stays planned, and the next start takes it. */
const camerasStoppedMs = 5000;
/** A picture taken later than this after its event shows something else. */
const lateMs = 30_000;
const jobCap = 128;

/**
 * Takes the pictures that events announced and keeps them on disk until the cloud has them. Cameras are asked side by
 * side, one camera's pictures one after the other. What cannot be made is recorded with its reason.
 */
export function createMedia(options: {
  dir: string;
  budgetBytes: number;
  pictures: PictureSource;
  table: MediaTable;
  /** A picture is ready to be uploaded. */
  onReady: () => void;
  /** A camera gave a usable picture; never told of a silent event's (safety 4). */
  onTaken?: (camera: string, wall: number) => void;
  clock: Clock;
  log: Logger;
  metrics: Registry;
}): Media {
  const { pictures, table, clock, log, onReady } = options;
  const spool = createSpool({ dir: options.dir, budgetBytes: options.budgetBytes });
  const abort = new AbortController();
  /** Work under way, and whether it may be known of. */
  const jobs = new Map<Promise<void>, boolean>();
  /** The end of each camera's line of pictures. */
  const lines = new Map<string, Promise<void>>();
  let problem: string | undefined;
  /** What lay in the folder at the start has been counted. */
  let measured: Promise<void> = Promise.resolve();
  /** Events of this run until the tidying is over: their planned pictures are not left over from a former run. */
  let fresh: Set<number> | undefined;

  const captures = new Counter({
    name: 'siteward_media_captures_total',
    help: 'Pictures taken, by result',
    labelNames: ['result'],
    registers: [options.metrics],
  });
  const givenUp = new Counter({
    name: 'siteward_media_given_up_total',
    help: 'Pictures that gave way to others because the media budget was used up',
    registers: [options.metrics],
  });
  const latency = new Histogram({
    name: 'siteward_media_capture_seconds',
    help: 'Time from the planned moment to the picture on disk',
    buckets: [0.1, 0.25, 0.5, 1, 2, 5, 10],
    registers: [options.metrics],
  });
  new Gauge({
    name: 'siteward_media_spool_bytes',
    help: 'Bytes of pictures on disk; those of silent events stand in no figure',
    registers: [options.metrics],
    collect() {
      this.set(spool.shownBytes);
    },
  });

  function run(work: Promise<void>, silent = false): void {
    const tracked = work.catch((error: unknown) => {
      if (!abort.signal.aborted) log.error({ err: error }, 'a picture could not be recorded');
    });
    jobs.set(tracked, !silent);
    void tracked.finally(() => jobs.delete(tracked));
  }

  /** Queues one picture behind the others of its camera. */
  function enqueue(job: CaptureJob, item: MediaItem, startedMono: number): Promise<void> {
    const before = lines.get(item.camera) ?? Promise.resolve();
    const mine = before.then(() => take(job, item, startedMono));
    const settled = mine.catch(() => undefined);
    lines.set(item.camera, settled);
    void settled.then(() => {
      if (lines.get(item.camera) === settled) lines.delete(item.camera);
    });
    return mine;
  }

  async function take(job: CaptureJob, item: MediaItem, startedMono: number): Promise<void> {
    const dueMono = startedMono + item.offsetMs;
    await sleep(Math.max(0, dueMono - clock.monotonic()), abort.signal);
    const outcome = await picture(job, item);
    if (job.silent !== true) {
      latency.observe(Math.max(0, clock.monotonic() - dueMono) / 1000);
      captures.inc({ result: outcome.state });
      problem = outcome.state === 'failed' ? `${item.camera}: ${outcome.reason}` : undefined;
    }
    await onDisk(job.committed);
    await record(outcome);
    crashPoint('media.row');
    if (outcome.state === 'ready') onReady();
  }

  async function picture(job: CaptureJob, item: MediaItem): Promise<MediaOutcome> {
    const base = placeOf(job, item);
    if (item.kind !== 'snapshot')
      return { ...base, at: clock.wall(), state: 'failed', reason: 'clips are not available' };
    try {
      const bytes = await snapshotWithRetry(item.camera);
      if (job.silent !== true) options.onTaken?.(item.camera, clock.wall());
      const { gone, ...stored } = await spool.write(base, bytes);
      for (const one of gone) run(giveUp(one));
      return { ...base, at: clock.wall(), state: 'ready', ...stored, mime: 'image/jpeg' };
    } catch (error) {
      abort.signal.throwIfAborted();
      if (job.silent !== true) log.warn({ camera: item.camera, err: error }, 'no picture');
      return { ...base, at: clock.wall(), state: 'failed', reason: describe(error).slice(0, 300) };
    }
  }

  /** It gave way to another on a full budget. */
  async function giveUp({ seq, index, lane, file }: Shelved): Promise<void> {
    // Nobody is known to want it, nor whether its event may be known of (safety 4).
    if (lane === undefined) return;
    givenUp.inc();
    const reason = 'given up: the media budget was used up';
    log.warn({ file, lane }, `a picture that waited for the cloud was ${reason}`);
    await record({ seq, index, lane, at: clock.wall(), state: 'failed', reason });
  }

  async function snapshotWithRetry(camera: string): Promise<Uint8Array> {
    const once = () =>
      withDeadline(snapshotDeadlineMs, abort.signal, (signal) => pictures.snapshot(camera, signal), 'the picture');
    try {
      return (await once()).bytes;
    } catch (error) {
      // A wrong password does not get better by trying; it only locks the account.
      if (error instanceof SitewardError && error.code === 'camera_auth') throw error;
      const stopped = error instanceof SitewardError && error.code === 'stopped';
      await sleep(stopped ? camerasStoppedMs : retryAfterMs, abort.signal);
      return (await once()).bytes;
    }
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

  /** After a restart. Pictures that are still worth it are taken, the others are given up with the reason. */
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
    if (age < 0 || age >= lateMs) return false;
    const job = { ...row, items: [row], committed: Promise.resolve() };
    run(enqueue(job, { ...row, offsetMs: 0 }, clock.monotonic()), row.silent);
    return true;
  }

  return {
    name: 'media',

    async start() {
      fresh = new Set();
      const names = await spool.open();
      measured = spool.measure(names);
      run(measured.then(() => tidy(names)));
    },

    async stop() {
      abort.abort(new SitewardError('stopped', 'media is stopping'));
      await Promise.allSettled(jobs.keys());
    },

    capture(job) {
      const started = clock.monotonic();
      if (job.items.length > 0) fresh?.add(job.seq);
      for (const item of job.items) {
        if (jobs.size < jobCap) run(enqueue(job, item, started), job.silent);
        else run(refuse(job, item), job.silent);
      }
    },

    discard: (file) => spool.remove(file),
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

    health(): Health {
      const waiting = [...jobs.values()].filter((isShown) => isShown).length;
      const facts = { spoolBytes: spool.shownBytes, waiting };
      return problem === undefined
        ? ok(facts)
        : { state: 'degraded', reason: `last picture failed: ${problem}`, facts };
    },
  };

  async function refuse(job: CaptureJob, item: MediaItem): Promise<void> {
    if (job.silent !== true) captures.inc({ result: 'refused' });
    await onDisk(job.committed);
    const reason = 'too many pictures were asked for at once';
    await record({ ...placeOf(job, item), at: clock.wall(), state: 'failed', reason });
  }
}

const placeOf = ({ seq, lane, silent }: CaptureJob, { index }: MediaItem) => ({
  ...{ seq, lane, index },
  ...(silent === true && { silent }),
});
