import type { PaceClock } from '#devices/audio/pace.ts';

/** Time goes on to the next sleeper as soon as nobody has anything else to do. */
export function virtualClock(): PaceClock {
  let now = 1000;
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();
  let ticks = false;

  function tick(): void {
    ticks = false;
    const [next] = [...sleepers].sort((one, other) => one.at - other.at);
    if (next === undefined) return;
    now = Math.max(now, next.at);
    sleepers.delete(next);
    next.wake();
    run();
  }
  /** Files are written meanwhile, so it does not go on at once. */
  function run(): void {
    if (ticks || sleepers.size === 0) return;
    ticks = true;
    setImmediate(() => setImmediate(tick));
  }

  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const leave = () => {
          sleepers.delete(sleeper);
          reject(signal.reason);
        };
        const sleeper = {
          at: now + ms,
          wake: () => {
            signal.removeEventListener('abort', leave);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal.addEventListener('abort', leave, { once: true });
        run();
      }),
  };
}
