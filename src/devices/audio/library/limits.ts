import { SitewardError } from '#errors.ts';
import { soundFileBytes } from '#site/model/index.ts';

/** Of messages that are imported. */
export const limits = {
  /** At most so many. */
  messages: 20,
  fileBytes: soundFileBytes,
  minSeconds: 0.2,
  maxSeconds: 120,
  /** Root mean square, of full scale: below it there is nothing to hear. */
  silentDb: -50,
  /** Share of samples that stand at full scale, three or more together. */
  clipped: 0.01,
  /** What is stored has its loudest sample here. */
  peakDb: -1,
} as const;

/** Rate of what is stored: one channel, 16 bits. */
export const storedRate = 48_000;

/** Of a file; `reason` is for programs. */
export const invalidFile = (reason: string, what: string, cause?: unknown): SitewardError =>
  new SitewardError('audio_invalid', `the sound file is not taken: ${what}`, {
    facts: { field: 'file', reason },
    ...(cause === undefined ? {} : { cause }),
  });

/** How long it says it lasts. Throws `audio_invalid`. */
export function checkSeconds(seconds: number): void {
  if (seconds < limits.minSeconds)
    throw invalidFile('too_short', `it lasts ${round(seconds)} s; ${limits.minSeconds} s is the least`);
  if (seconds > limits.maxSeconds)
    throw invalidFile('too_long', `it lasts ${round(seconds)} s; ${limits.maxSeconds} s is the most. Cut it`);
}

const round = (seconds: number): number => Math.round(seconds * 100) / 100;
