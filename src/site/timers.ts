import type { Clock } from '#lib/clock.ts';
import type { TimerState } from './core/index.ts';

/** Fires the core's timers on the monotonic clock. Bounded by the core: one of each kind per owner. */
export interface TimerWheel {
  set(timer: TimerState): void;
  clear(id: string): void;
  stop(): void;
}

const longestMs = 2 ** 31 - 1;

export function timerWheel(options: { clock: Clock; fire: (id: string) => void }): TimerWheel {
  const { clock, fire } = options;
  const running = new Map<string, NodeJS.Timeout>();

  function arm(timer: TimerState): void {
    // After a start of the machine the monotonic clock begins anew: what is left is then told by the wall clock,
    // and the core has the last word when the timer fires.
    const sameBoot = timer.due.boot === clock.bootId;
    const leftMs = sameBoot ? timer.due.mono - clock.monotonic() : timer.due.wall - clock.wall();
    const handle = setTimeout(
      () => {
        // setTimeout may be early by a millisecond, and long waits come in pieces.
        if (sameBoot && clock.monotonic() < timer.due.mono) return arm(timer);
        running.delete(timer.id);
        fire(timer.id);
      },
      Math.min(longestMs, Math.max(0, Math.ceil(leftMs))),
    );
    clearTimeout(running.get(timer.id));
    running.set(timer.id, handle);
  }

  return {
    set: arm,
    clear(id) {
      clearTimeout(running.get(id));
      running.delete(id);
    },
    stop() {
      for (const handle of running.values()) clearTimeout(handle);
      running.clear();
    },
  };
}
