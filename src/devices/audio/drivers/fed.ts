import { unlessAborted } from '#lib/wait.ts';
import { type PlayContext, type Sound, SpeakerError } from '../driver.ts';
import { type Fed, type Feed, feed, mostAheadMs, type PaceClock } from '../pace.ts';

/** A device that takes nothing for so long, or is silent so much later than it should be, is given up. */
export const stallMs = 2000;
/**
 * What is over sooner did not play in real time. Half of what is sent ahead: a device that swallows all it is sent is done so much
 * before its time. Device clocks differ by less than `clockError`.
 */
const earlyMs = mostAheadMs / 2;
const clockError = 0.001;

export interface Sending {
  readonly sound: Sound;
  readonly context: PlayContext;
  readonly clock: PaceClock;
  readonly write: (bytes: Buffer) => Promise<void>;
  /** Aborts with a SpeakerError when the device says that it does not play. */
  readonly trouble?: AbortSignal;
  readonly pace?: Pick<Feed, 'packetMs' | 'aheadMs'>;
}

/** Sends the sound in real time; gives up a device that stands still. */
export async function send({ sound, context, clock, write, trouble, pace }: Sending): Promise<Fed> {
  const over = new AbortController();
  const { signal: caller, onFirstSample } = context;
  const signal = AbortSignal.any([caller, over.signal, ...(trouble === undefined ? [] : [trouble])]);
  let writes = 0;
  let waits = false;
  const counted = async (bytes: Buffer) => {
    writes += 1;
    waits = true;
    await write(bytes);
    waits = false;
  };
  const watch = async (): Promise<never> => {
    for (;;) {
      const before = writes;
      await clock.sleep(stallMs, signal);
      if (waits && writes === before) throw new SpeakerError('timeout', 'the device stands still');
    }
  };
  try {
    return await Promise.race([feed({ ...pace, sound, clock, write: counted, signal, onFirstSample }), watch()]);
  } finally {
    over.abort();
  }
}

/** As `work`; rejects with `timeout` after `ms`, or with the reason of the signal. */
export async function within<T>(
  ms: number,
  { clock, signal, what }: { clock: PaceClock; signal: AbortSignal; what: string },
  work: Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const late = async (): Promise<never> => {
    await clock.sleep(ms, AbortSignal.any([signal, over.signal]));
    throw new SpeakerError('timeout', what);
  };
  try {
    return await Promise.race([unlessAborted(work, signal), late()]);
  } finally {
    over.abort();
  }
}

/** Throws where a device was done with the sound sooner than it lasts: nobody has heard it. */
export function checkPace(sound: Sound, { endsAt, nowMs }: { endsAt: number; nowMs: number }): void {
  const lengthMs = (sound.samples * 1000) / sound.format.rate;
  const allowedMs = Math.min(earlyMs, lengthMs / 2) + lengthMs * clockError;
  const early = endsAt - nowMs;
  if (early > allowedMs)
    throw new SpeakerError('device_error', `the device was done ${Math.round(early)} ms before the end of the sound`);
}

export function expectFormat({ format }: Sound, encoding: 's16le'): void {
  if (format.encoding !== encoding) throw new SpeakerError('format', `the device takes no ${format.encoding}`);
}
