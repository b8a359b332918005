import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';

/** One thing a technician should look at, for `siteward status`. */
export interface PanelHint {
  readonly panel: string;
  readonly kind:
    | 'unknown_value'
    | 'unknown_key'
    | 'type_differs'
    | 'dropped'
    | 'not_heard'
    | 'vanished'
    | 'not_running'
    | 'no_code';
  /** The topic, rule or key it is about. */
  readonly about: string;
  /** One sentence that says what to do. */
  readonly text: string;
  /** Up to eight values seen, shortened, digits that could be a code blanked. */
  readonly values: readonly string[];
  readonly count: number;
  /** Wall clock of the last time, milliseconds. */
  readonly lastAt: number;
}

export type HintDraft = Pick<PanelHint, 'kind' | 'about' | 'text'> & { readonly value?: string };

/** Hints kept per panel, and values kept per hint. At the cap the hint not seen for longest gives way. */
const hintCap = 64;
const valueCap = 8;

export interface Hints {
  add(draft: HintDraft): void;
  list(): readonly PanelHint[];
}

export function createHints(panel: string, clock: Clock): Hints {
  const kept = new BoundedMap<string, PanelHint>(hintCap);
  return {
    add({ kind, about, text, value }) {
      const key = `${kind}|${about}`;
      const before = kept.get(key);
      const values = before?.values ?? [];
      const grown =
        value === undefined || values.includes(value) || values.length >= valueCap ? values : [...values, value];
      kept.set(key, { panel, kind, about, text, values: grown, count: (before?.count ?? 0) + 1, lastAt: clock.wall() });
    },
    list: () => [...kept.entries()].map(([, hint]) => hint),
  };
}

/** Lets one line per subject and hour through, and never more than `cap` lines an hour over all subjects. */
export interface HourlyGate {
  pass(subject: string): boolean;
}

export function hourlyGate(clock: Clock, cap = 100): HourlyGate {
  const hourMs = 3_600_000;
  let since = clock.monotonic();
  const seen = new Set<string>();
  return {
    pass(subject) {
      if (clock.monotonic() - since >= hourMs) {
        since = clock.monotonic();
        seen.clear();
      }
      if (seen.has(subject) || seen.size >= cap) return false;
      seen.add(subject);
      return true;
    },
  };
}
