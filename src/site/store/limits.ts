import type { AlarmCopy } from './alarm-log.ts';

/** Bounds of the store. Every one has a rule at the cap, told where it is applied. */
export interface StoreLimits {
  /** Requests that wait for an answer; above it calls reject with `queue_full`. */
  readonly queueCount: number;
  /** Bytes of the same (characters of their texts). */
  readonly queueBytes: number;
  /** The share of both that only commits with alarm rows may use, 0 to 1. */
  readonly queueReserve: number;
  /** Input log entries; the oldest give way. */
  readonly inputs: number;
  /** Finished events kept for people, per file; the oldest give way. */
  readonly siteHistory: number;
  readonly bulkHistory: number;
  /** Arming records; the oldest give way. */
  readonly arming: number;
  /** Largest size of each file, bytes; what gives way then is told in `pressure.ts`. */
  readonly siteBytes: number;
  readonly bulkBytes: number;
  /** Memory port: keys per room and bytes per value; above it `set` rejects with `queue_full`. */
  readonly memoryKeys: number;
  readonly memoryBytes: number;
  /** Longest wait of an input log entry for a transaction it can ride along with, milliseconds. */
  readonly inputDelayMs: number;
  /** Size of the reserve file, bytes; on a small disk a sixteenth of it. See `reserve.ts`. */
  readonly reserveBytes: number;
  /** How often free space is looked at, and how soon after the start for the first time, milliseconds. */
  readonly lookEveryMs: number;
  readonly firstLookMs: number;
  /** After a third start within two minutes: how long nothing optional is done, salvage included, milliseconds. */
  readonly carefulMs: number;
  /** After so long without a write a large log is emptied into its file, milliseconds. */
  readonly restAfterMs: number;
  /** Waiting alarms at either end of the line that are never given up. */
  readonly keepAlarms: number;
  /** The second copy of waiting alarms, see `AlarmCopy`. */
  readonly alarmCopy: AlarmCopy;
}

export const defaultLimits: StoreLimits = {
  queueCount: 4096,
  queueBytes: 16 * 1024 ** 2,
  queueReserve: 0.125,
  inputs: 10_000,
  siteHistory: 100_000,
  bulkHistory: 100_000,
  arming: 10_000,
  siteBytes: 1024 ** 3,
  bulkBytes: 1024 ** 3,
  memoryKeys: 2000,
  memoryBytes: 4096,
  inputDelayMs: 250,
  reserveBytes: 4 * 1024 ** 2,
  lookEveryMs: 30_000,
  firstLookMs: 1000,
  carefulMs: 600_000,
  restAfterMs: 30_000,
  keepAlarms: 1000,
  alarmCopy: 'written',
};
