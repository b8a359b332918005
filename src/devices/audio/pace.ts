import { sleep, unlessAborted } from '#lib/wait.ts';
import type { Sound } from './driver.ts';

/** Time as pacing needs it: one that only grows, in milliseconds, and a wait in it. */
export interface PaceClock {
  now(): number;
  /** Rejects with the reason of the signal as soon as it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface Feed {
  readonly sound: Sound;
  /** Takes one packet; resolves when it may be followed by the next. Its rejection ends the feeding. */
  readonly write: (bytes: Buffer) => Promise<void>;
  /** It ends the feeding at once, also where `write` hangs. */
  readonly signal: AbortSignal;
  /** Called once, when the first packet was taken. */
  readonly onFirstSample: () => void;
  /** A packet lasts so long; the last one may be shorter. */
  readonly packetMs?: number;
  /** So much may be handed over and not yet be heard: one packet at least, `mostAheadMs` at most. */
  readonly aheadMs?: number;
  readonly clock?: PaceClock;
}

export interface Fed {
  /** Samples per channel that were taken: all of the sound. */
  readonly samples: number;
  /** So often the speaker ran dry, because this process or the device stood still: that much longer it sounds. */
  readonly underruns: number;
  /** When a speaker that plays in real time has played the last sample, by the clock. */
  readonly endsAt: number;
}

/** Whatever was handed over is heard even if the daemon dies or the sound is cancelled, so it is little. */
export const mostAheadMs = 150;

/**
 * Hands a sound over in real time: each packet has its time on one schedule from the first sample on, so that late timers do
 * not add up, and what is late is made good at once. But only so much of it that a speaker which ran dry meanwhile holds no more
 * than `mostAheadMs`, as no cancel reaches what it holds; by the rest the schedule moves. Resolves when the last packet was taken.
 */
export async function feed(work: Feed): Promise<Fed> {
  const { sound, write, signal, onFirstSample, packetMs = 20, clock = realTime() } = work;
  const { rate } = sound.format;
  const packet = Math.max(1, Math.round((rate * packetMs) / 1000));
  const lasts = (samples: number) => (samples * 1000) / rate;
  const aheadMs = Math.max(lasts(packet), Math.min(work.aheadMs ?? mostAheadMs, mostAheadMs));
  signal.throwIfAborted();
  let start = clock.now();
  let taken = 0;
  let underruns = 0;
  /** So much later than scheduled the speaker plays, as it ran dry before; as for one that buffers nothing else. */
  let behindMs = 0;
  while (taken < sound.samples) {
    const to = Math.min(taken + packet, sound.samples);
    const due = () => start + lasts(to) - aheadMs;
    for (let wait = due() - clock.now(); wait > 0; wait = due() - clock.now()) await clock.sleep(wait, signal);
    const lateMs = taken === 0 ? 0 : clock.now() - start - lasts(taken);
    behindMs = Math.max(behindMs, Math.min(lateMs, mostAheadMs - aheadMs));
    if (lateMs > behindMs) {
      underruns += 1;
      start += lateMs - behindMs;
    }
    await unlessAborted(write(sound.read(taken, to)), signal);
    if (taken === 0) {
      // Nothing is heard while the first packet waits to be taken.
      start = clock.now();
      onFirstSample();
    }
    taken = to;
  }
  return { samples: taken, underruns, endsAt: start + behindMs + lasts(taken) };
}

export function realTime(): PaceClock {
  // Timers count whole milliseconds and may be early by one.
  return { now: () => performance.now(), sleep: (ms, signal) => sleep(Math.ceil(ms), signal) };
}
