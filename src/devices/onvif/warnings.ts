import type { CameraWarning } from './camera.ts';

/** Those that are noted at a sign; the others are looked up when they are asked for. */
type Noted = 'taken_over' | 'event_flood';

/** What a technician should know though events arrive. A warning ends when its sign was not seen for `holdMs`. */
export interface Warnings {
  /** True when this is news. */
  note(code: Noted, text: string, now: number): boolean;
  active(now: number): readonly CameraWarning[];
}

const holdMs: Readonly<Record<Noted, number>> = {
  event_flood: 60_000,
  taken_over: 30 * 60_000,
};

export function createWarnings(): Warnings {
  const seen = new Map<Noted, { text: string; at: number }>();
  const holds = (code: Noted, now: number) => {
    const last = seen.get(code);
    return last !== undefined && now - last.at < holdMs[code];
  };
  return {
    note(code, text, now) {
      const news = !holds(code, now);
      seen.set(code, { text, at: now });
      return news;
    },
    active: (now) => [...seen].filter(([code]) => holds(code, now)).map(([code, { text }]) => ({ code, text })),
  };
}

/** True at each call that is the `times`th or a later one within the window. */
export function repeats(times: number, windowMs: number): (now: number) => boolean {
  const at: number[] = [];
  return (now) => {
    at.push(now);
    if (at.length > times) at.shift();
    return at.length === times && now - (at[0] ?? now) <= windowMs;
  };
}
