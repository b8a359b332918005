import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { describe, isCode, SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { createStreamCutter, type StreamTables } from '#lib/transport-stream.ts';
import { sleep } from '#lib/wait.ts';
import type { DeviceId } from '#site/model/index.ts';
import type { Ffmpeg } from './ffmpeg.ts';
import { rtspInput } from './frame.ts';
import type { StreamSource } from './ports.ts';
import { createRing, type Footage, type PastPicture, type Ring } from './ring.ts';

/** Records streams in memory: all the time where a camera has a pre-roll and its pictures may go out, else for a clip alone. */
export interface Rings extends Part {
  /**
   * Keeps what came since that moment, and what comes, until it is released. Throws `queue_full` where too many cameras
   * are recorded already.
   */
  hold(camera: DeviceId, sinceMono: number): Hold;
  /** See `Ring.between`. */
  footage(camera: DeviceId, startMono: number, endMono: number): Footage | undefined;
  /** See `Ring.pictureAt`. */
  pictureAt(camera: DeviceId, mono: number): PastPicture | undefined;
  /** Looks anew which cameras may keep a ring. */
  review(): void;
  /** The cameras have other settings: what was refused is asked for again. */
  retry(): void;
}

export interface Hold {
  /** See `Ring.between`; also once recording has been stopped. */
  footage(startMono: number, endMono: number): Footage | undefined;
  /** Why nothing comes. */
  readonly failure: unknown;
  release(): void;
}

interface Recorder {
  readonly ring: Ring;
  readonly abort: AbortController;
  /** The moments since which clips need it. */
  readonly holds: Set<{ readonly sinceMono: number }>;
  /** Why nothing comes. */
  failure: unknown;
  /** What was logged last; forgotten once the stream is steady. */
  told: string | undefined;
  /** While it waits for the next try: ends the wait. */
  again: AbortController | undefined;
}

/** Cameras that are recorded for a clip alone. */
const liveCap = 8;
const noKeyFrameMs = 60_000;
/** A wrong password does not get better by trying; it only locks the account. */
const refusedMs = 15 * 60_000;
/** A stream that breaks off sooner is taken up again ever later: some cameras show one key frame and hang up. */
const steadyMs = 30_000;

export interface RingsOptions {
  /** Cameras that have a pre-roll. */
  readonly preRollMs: ReadonlyMap<DeviceId, number>;
  /** For all cameras together. */
  readonly budgetBytes: number;
  /** Cameras of which a picture of now could go out (safety 11). */
  readonly mayKeep: () => readonly DeviceId[];
  readonly streams: StreamSource;
  readonly ffmpeg: Ffmpeg;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
}

export function createRings(options: RingsOptions): Rings {
  const { preRollMs, budgetBytes, mayKeep, clock, log } = options;
  const recorders = new Map<DeviceId, Recorder>();
  const runs = new Set<Promise<void>>();
  /** Cameras that may keep a ring now. */
  let keeping: ReadonlySet<DeviceId> = new Set();
  let isStopped = false;

  const breaks = new Counter({
    name: 'siteward_ring_breaks_total',
    help: 'Times the stream of a ring broke off or could not be had, by error code',
    labelNames: ['camera', 'code'],
    registers: [options.metrics],
  });
  gauge('siteward_ring_bytes', 'Memory of a ring', (camera, { ring }) => ring.bytesSince(windowStart(camera, ring)));
  gauge('siteward_ring_seconds', 'How far back a ring reaches', (camera, { ring }) => {
    const now = clock.monotonic();
    return (now - Math.max(ring.oldestMono ?? now, windowStart(camera, ring))) / 1000;
  });
  gauge('siteward_ring_key_frame_seconds', 'Longest time of late from one key frame to the next', (_, { ring }) =>
    ring.keyFrameMs === undefined ? undefined : ring.keyFrameMs / 1000,
  );

  /** Of rings; what is recorded for a clip alone may be of a silent event (safety 4). */
  function gauge(name: string, help: string, ofOne: (camera: DeviceId, of: Recorder) => number | undefined): void {
    new Gauge({
      name,
      help,
      labelNames: ['camera'],
      registers: [options.metrics],
      collect() {
        this.reset();
        for (const [camera, recorder] of kept()) {
          const value = ofOne(camera, recorder);
          if (value !== undefined) this.set({ camera }, value);
        }
      },
    });
  }

  const kept = () => [...recorders].filter(([camera]) => keeping.has(camera));
  /** For clips alone. A camera that gives no stream takes no place from one that does. */
  const live = () =>
    [...recorders].filter(
      ([camera, { ring, failure }]) => !keeping.has(camera) && (failure === undefined || ring.oldestMono !== undefined),
    );

  /** With room for the key frame before it, and for a decision that took its time. */
  const windowStart = (camera: DeviceId, ring: Ring): number =>
    clock.monotonic() - (preRollMs.get(camera) ?? 0) - 2 * Math.max(1000, ring.keyFrameMs ?? 0);

  /** What clips need; all of now where there are none. */
  const heldSince = ({ holds }: Recorder): number =>
    Math.min(Number.POSITIVE_INFINITY, ...[...holds].map(({ sinceMono }) => sinceMono));

  function forget(camera: DeviceId, recorder: Recorder): void {
    const { ring } = recorder;
    const wanted = keeping.has(camera) ? windowStart(camera, ring) : clock.monotonic();
    ring.forget(Math.min(wanted, heldSince(recorder)));
  }

  function makeRoom(): void {
    const used = () => [...recorders.values()].reduce((sum, { ring }) => sum + ring.bytes, 0);
    while (used() > budgetBytes) {
      const filled = [...recorders.values()].filter(({ ring }) => ring.oldestMono !== undefined);
      filled.sort(
        (a, b) =>
          Number(a.holds.size > 0) - Number(b.holds.size > 0) || Number(a.ring.oldestMono) - Number(b.ring.oldestMono),
      );
      filled[0]?.ring.dropOldest();
    }
  }

  function review(): void {
    // Called with each change of the site; most sites have no camera with a pre-roll.
    keeping = new Set(isStopped || preRollMs.size === 0 ? [] : mayKeep().filter((id) => preRollMs.has(id)));
    for (const camera of new Set([...preRollMs.keys(), ...recorders.keys()])) settle(camera);
  }

  function settle(camera: DeviceId): void {
    const found = recorders.get(camera);
    const isWanted = !isStopped && (keeping.has(camera) || (found !== undefined && found.holds.size > 0));
    if (found === undefined && isWanted) begin(camera);
    else if (found !== undefined && !isWanted) {
      recorders.delete(camera);
      found.abort.abort(new SitewardError('stopped', 'the stream is no longer recorded'));
    } else if (found !== undefined) forget(camera, found);
  }

  function begin(camera: DeviceId): Recorder {
    const recorder = {
      ...{ ring: createRing(), abort: new AbortController(), holds: new Set<never>() },
      ...{ failure: undefined, told: undefined, again: undefined },
    };
    recorders.set(camera, recorder);
    const run = record(camera, recorder).finally(() => runs.delete(run));
    runs.add(run);
    return recorder;
  }

  /** Until it is aborted. Never rejects. */
  async function record(camera: DeviceId, recorder: Recorder): Promise<void> {
    const { ring, abort } = recorder;
    const wait = backoff({ baseMs: 1000, capMs: 60_000 });
    while (!abort.signal.aborted) {
      try {
        const work = async (url: string): Promise<never> => {
          await follow(camera, recorder, url, wait.reset);
          throw new SitewardError('stream_failed', 'the stream ended');
        };
        // What is read for a clip alone may be for a silent event (safety 4).
        await options.streams.read(camera, abort.signal, work, { silent: !keeping.has(camera) });
      } catch (error) {
        if (abort.signal.aborted) return;
        ring.cut();
        if (isCode(error, 'stopped')) {
          // With other settings it may be another camera: what it shows must not be taken for the past of this one.
          ring.forget(heldSince(recorder));
          wait.reset();
        } else if (keeping.has(camera)) tellBreak(camera, recorder, error);
        recorder.failure = error;
        const ms = isCode(error, 'camera_auth') ? refusedMs : wait.next();
        recorder.again = new AbortController();
        await sleep(ms, AbortSignal.any([abort.signal, recorder.again.signal])).catch(() => undefined);
        recorder.again = undefined;
      }
    }
  }

  function tellBreak(camera: DeviceId, recorder: Recorder, error: unknown): void {
    breaks.inc({ camera, code: error instanceof SitewardError ? error.code : 'internal' });
    if (recorder.told !== describe(error)) log.warn({ camera, err: error }, 'the ring has no stream');
    recorder.told = describe(error);
  }

  async function follow(camera: DeviceId, recorder: Recorder, url: string, onSteady: () => void): Promise<void> {
    let firstMono: number | undefined;
    const broken = new AbortController();
    const fail = (why: string) => broken.abort(new SitewardError('stream_failed', why));
    const noKeyFrame = setTimeout(() => fail(`no key frame came for ${noKeyFrameMs / 1000} s`), noKeyFrameMs);
    let tables: StreamTables = { bytes: Buffer.alloc(0), codec: 'other' };
    const cutter = createStreamCutter({
      onTables: (found) => {
        tables = found;
      },
      onPicture(picture) {
        recorder.ring.add(picture, tables);
        makeRoom();
        if (!picture.isKey) return;
        recorder.failure = undefined;
        noKeyFrame.refresh();
        firstMono ??= picture.mono;
        if (picture.mono - firstMono >= steadyMs) {
          recorder.told = undefined;
          onSteady();
        }
        forget(camera, recorder);
      },
    });
    try {
      await options.ffmpeg.follow(
        copyOf(url),
        (chunk) => {
          try {
            cutter.push(chunk, clock.monotonic());
          } catch (error) {
            fail(describe(error));
          }
        },
        AbortSignal.any([recorder.abort.signal, broken.signal]),
      );
    } finally {
      clearTimeout(noKeyFrame);
    }
  }

  return {
    name: 'rings',

    async start() {
      review();
    },

    async stop() {
      isStopped = true;
      review();
      await Promise.all(runs);
    },

    hold(camera, sinceMono) {
      if (isStopped) throw new SitewardError('stopped', 'streams are no longer recorded');
      if (!recorders.has(camera) && live().length >= liveCap)
        throw new SitewardError('queue_full', `clips of ${liveCap} cameras are being made already`);
      const recorder = recorders.get(camera) ?? begin(camera);
      const hold = { sinceMono };
      recorder.holds.add(hold);
      // An alarm does not wait until a camera that was away is asked again; whose password is wrong still is.
      if (!isCode(recorder.failure, 'camera_auth')) recorder.again?.abort();
      return {
        footage: recorder.ring.between,
        get failure() {
          return recorder.failure;
        },
        release() {
          recorder.holds.delete(hold);
          if (recorders.get(camera) === recorder) settle(camera);
        },
      };
    },

    footage: (camera, startMono, endMono) => recorders.get(camera)?.ring.between(startMono, endMono),
    pictureAt: (camera, mono) => recorders.get(camera)?.ring.pictureAt(mono),

    review,

    retry() {
      for (const { again } of recorders.values()) again?.abort();
    },

    health(): Health {
      const all = kept();
      const distances = all.flatMap(([camera, { ring }]) =>
        ring.keyFrameMs === undefined ? [] : [`${camera} ${(ring.keyFrameMs / 1000).toFixed(1)}s`],
      );
      const facts = { rings: all.length, keyFrames: distances.join(', ') };
      const broken = all.filter(([, { failure }]) => failure !== undefined);
      if (broken.length === 0) return ok(facts);
      const reason = broken.map(([camera, { failure }]) => `${camera}: ${describe(failure)}`).join('; ');
      return { state: 'degraded', reason, facts };
    },
  };
}

/** Video alone, as it is. Parameters that a camera tells once only go with every key frame, so that any can be the first. */
const copyOf = (url: string): readonly string[] => [
  ...rtspInput(url),
  ...['-c', 'copy', '-bsf:v', 'dump_extra', '-flush_packets', '1', '-f', 'mpegts', 'pipe:1'],
];
