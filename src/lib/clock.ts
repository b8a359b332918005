import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * Time, injected everywhere. `monotonic` serves every interval and deadline; `wall` only stamps and schedules.
 * The monotonic clock counts from the start of the machine, so values of one boot id stay comparable over a
 * restart of the daemon.
 */
export interface Clock {
  /** Milliseconds since the machine started (CLOCK_MONOTONIC). */
  monotonic(): number;
  /** Milliseconds since 1970 UTC; may step in either direction. */
  wall(): number;
  /** Changes with each start of the machine. */
  readonly bootId: string;
}

export function systemClock(): Clock {
  return {
    monotonic: () => Number(process.hrtime.bigint() / 1000n) / 1000,
    wall: () => Date.now(),
    bootId: readBootId(),
  };
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Not Linux: a fresh id means "never the same boot", which is the safe reading.
    return randomUUID();
  }
}
