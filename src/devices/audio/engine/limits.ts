import type { EngineLimits } from './types.ts';

/** A site may set some of them; the others are what was measured, or what the rules say. */
export const engineLimits: EngineLimits = {
  queue: 16,
  kept: 200,
  prepareMs: 5_000,
  journalMs: 500,
  togetherMs: 50,
  busyMs: 500,
  slackMs: 3_000,
  silenceMs: 300,
  longestAlarmMs: 180_000,
  longestLifeSafetyMs: 1_800_000,
  restMs: 60_000,
  closeMs: 5_000,
  closeAlarmMs: 30_000,
  failures: 3,
  alarmFloor: 0,
};
