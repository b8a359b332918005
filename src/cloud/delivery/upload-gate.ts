import { Transform } from 'node:stream';
import type { Clock } from '#lib/clock.ts';
import { sleep } from '#lib/wait.ts';

/**
 * The share of the line that uploads get. The rule: while an event request is under way, and a moment longer, each
 * upload goes at 16 KiB/s, which no line of today feels and which still brings a picture through in seconds; at any
 * other time it goes as fast as the line and the cap allow. Requests are short, so on a quiet site uploads have the
 * line; during the drain of a long outage events have it, and no upload starves.
 */
export interface UploadGate {
  /** Passes what is written to it at the pace of the rule. Ends with the signal. */
  through(signal: AbortSignal): Transform;
}

export interface UploadGateOptions {
  readonly clock: Clock;
  readonly eventsUnderWay: () => boolean;
  /** Most bytes per second over all uploads together. */
  readonly bytesPerS?: number;
}

/** What one upload gets at least, bytes per second. */
const guaranteedBytesPerS = 16 * 1024;
/** The next event of a drain follows the last within this time. */
const afterEventMs = 250;
const sliceMs = 50;

export function createUploadGate(options: UploadGateOptions): UploadGate {
  const { clock } = options;
  const cap = options.bytesPerS ?? Number.POSITIVE_INFINITY;
  let running = 0;
  let lastEventMono = Number.NEGATIVE_INFINITY;

  /** Of one upload, now, bytes per second. */
  function pace(): number {
    if (options.eventsUnderWay()) lastEventMono = clock.monotonic();
    const share = cap / Math.max(1, running);
    const isQuiet = clock.monotonic() - lastEventMono >= afterEventMs;
    return isQuiet ? share : Math.min(share, guaranteedBytesPerS);
  }

  /** The pace is looked at in every slice: an event that comes in the middle of a chunk slows the rest of it. */
  async function pass(bytes: number, signal: AbortSignal): Promise<void> {
    for (let left = bytes; left > 0; ) {
      const now = pace();
      if (now === Number.POSITIVE_INFINITY) return;
      const waitMs = Math.min(sliceMs, (left / now) * 1000);
      await sleep(waitMs, signal);
      left -= (now * waitMs) / 1000;
    }
  }

  return {
    through(signal) {
      running += 1;
      let isOpen = true;
      return new Transform({
        highWaterMark: guaranteedBytesPerS / 4,
        transform(chunk: Buffer, _encoding, done) {
          pass(chunk.length, signal).then(
            () => done(null, chunk),
            (error: Error) => done(error),
          );
        },
        destroy(error, done) {
          if (isOpen) running -= 1;
          isOpen = false;
          done(error);
        },
      });
    },
  };
}
