import type { Clock } from './clock.ts';

export interface ManualClock extends Clock {
  bootId: string;
  /** Moves both clocks forward. */
  advance(ms: number): void;
  /** Moves only the wall clock, as a time step does. */
  step(ms: number): void;
}

export function manualClock(wallMs = Date.UTC(2026, 10, 27, 20, 0, 0)): ManualClock {
  let mono = 1_000_000;
  let wall = wallMs;
  return {
    bootId: '00000000-0000-4000-8000-000000000001',
    monotonic: () => mono,
    wall: () => wall,
    advance(ms) {
      mono += ms;
      wall += ms;
    },
    step(ms) {
      wall += ms;
    },
  };
}
