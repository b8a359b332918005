import { stat } from 'node:fs/promises';
import { isCode, SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { isWholeMp4 } from '#lib/mp4.ts';
import { createTurns } from '#lib/turns.ts';
import { sleep, withDeadline } from '#lib/wait.ts';
import type { MediaItem } from '#site/model/index.ts';
import type { ClipSource, FrameSource, PictureSource } from './ports.ts';
import type { Place, Spool, Stored } from './spool.ts';

/** `note`: what is to be known of it. */
export type Made = Stored & { readonly note?: string };

/** How long clips go on after their event, milliseconds. */
export type ClipLengths = Readonly<Record<'short_mp4' | 'event_mp4', number>>;

export interface MakeOptions {
  readonly pictures: PictureSource;
  /** Of streams; without it clips and pictures of the past cannot be made. */
  readonly streams?: ClipSource & FrameSource;
  readonly clips: ClipLengths;
  readonly spool: Spool;
  /** A camera gave a usable picture; never told of a silent event's (safety 4). */
  readonly onTaken?: ((camera: string, wall: number) => void) | undefined;
  readonly clock: Clock;
}

const snapshotDeadlineMs = 10_000;
const retryAfterMs = 1000;
const lookAgainMs = 250;
/** For 20 s, longer than siteward takes to stop: then the picture or clip stays planned, and the next start makes it. */
const looks = 80;
/** After its last moment a clip is waited for as long as others may be before it. */
const clipDeadlineMs = 120_000;
/** A minute of a main stream; the sub stream of a clip needs a tenth. */
const clipBytes = 64_000_000;

/** Makes one picture or clip and puts it on disk; rejects with why it could not be made. `eventMono`: of its event. */
export type Make = (of: MediaItem & Place, eventMono: number, signal: AbortSignal) => Promise<Made>;

export function createMake({ pictures, streams, clips, spool, onTaken, clock }: MakeOptions): Make {
  /** One camera is asked for one picture at a time. */
  const inTurn = createTurns();

  /** With a second try after a passing failure. */
  async function snapshot({ camera, silent }: MediaItem & Place, signal: AbortSignal): Promise<Uint8Array> {
    const work = (timely: AbortSignal) => pictures.snapshot(camera, timely, { silent });
    const once = () => whoeverRuns(signal, () => withDeadline(snapshotDeadlineMs, signal, work, 'the picture'));
    try {
      return (await once()).bytes;
    } catch (error) {
      // A wrong password does not get better by trying; it only locks the account.
      if (isCode(error, 'camera_auth')) throw error;
      await sleep(retryAfterMs, signal);
      return (await once()).bytes;
    }
  }

  /** Of the moment before the event; where nothing has recorded that, of now. */
  async function picture(of: MediaItem & Place, eventMono: number, signal: AbortSignal): Promise<Made> {
    const { camera, offsetMs } = of;
    const past =
      offsetMs < 0
        ? await withDeadline(
            snapshotDeadlineMs,
            signal,
            (timely) => streamsOf().frame(camera, eventMono + offsetMs, timely),
            'the picture',
          ).catch(() => undefined)
        : undefined;
    signal.throwIfAborted();
    const bytes = past?.bytes ?? (await inTurn(camera, () => snapshot(of, signal)));
    if (past === undefined && of.silent !== true) onTaken?.(camera, clock.wall());
    const stored = await spool.write(of, bytes);
    return offsetMs < 0 && past === undefined
      ? { ...stored, note: 'taken after the event: nothing was recorded before it' }
      : stored;
  }

  async function clip(of: MediaItem & Place, lengthMs: number, eventMono: number, signal: AbortSignal): Promise<Made> {
    const [startMono, endMono] = [eventMono + of.offsetMs, eventMono + lengthMs];
    const deadlineMs = endMono - clock.monotonic() + clipDeadlineMs;
    let startedMono = 0;
    const stored = await spool.take(of, async (to) => {
      const order = { camera: of.camera, startMono, endMono, to, maxBytes: clipBytes };
      const work = (timely: AbortSignal) => streamsOf().clip(order, timely);
      ({ startedMono } = await whoeverRuns(signal, () => withDeadline(deadlineMs, signal, work, 'the clip')));
      await checkWhole(to);
    });
    return { ...stored, note: beginning(startedMono - eventMono) };
  }

  function streamsOf(): ClipSource & FrameSource {
    if (streams === undefined) throw new SitewardError('stream_failed', 'nothing reads streams here');
    return streams;
  }

  return (of, eventMono, signal) =>
    of.kind === 'snapshot' ? picture(of, eventMono, signal) : clip(of, clips[of.kind], eventMono, signal);
}

/** Cameras and streams are stopped for some moments at a start and a reload: asked until others run. */
async function whoeverRuns<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (let look = 1; ; look += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!isCode(error, 'stopped') || look >= looks) throw error;
    }
    await sleep(lookAgainMs, signal);
  }
}

/** Of what ffmpeg has written without a complaint. An empty or missing file has its own reason. */
async function checkWhole(clip: string): Promise<void> {
  if ((await stat(clip).catch(() => undefined))?.size && !(await isWholeMp4(clip)))
    throw new SitewardError('stream_failed', 'the clip was not written to its end; the disk may be full');
}

const beginning = (ms: number): string =>
  `begins ${(Math.abs(ms) / 1000).toFixed(1)} s ${ms < 0 ? 'before' : 'after'} the event`;
