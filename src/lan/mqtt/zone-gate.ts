import type { Clock } from '#lib/clock.ts';

/**
 * Keeps a chattering zone to five messages a second without losing that it opened: what happened while the zone was
 * held back is sent as the shortest story with the same meaning (ON again means OFF, ON; a short opening means ON, OFF).
 */
export interface ZoneGate {
  /** The zone has changed in some way; `word` is its state now. Returns what to send at once. A word that is the same is free. */
  offer(zone: string, word: string): Step | undefined;
  /** What was held back and may leave now. */
  due(): Step[];
  /** Milliseconds until `due` has something; undefined when nothing is held. */
  nextMs(): number | undefined;
  /** Everything was sent anew: what is held back is void. */
  reset(words: Iterable<readonly [zone: string, word: string]>): void;
}

export interface Step {
  readonly zone: string;
  /** State words in order; empty when only the detail changed. */
  readonly words: readonly string[];
}

interface Entry {
  last: string | undefined;
  tokens: number;
  at: number;
  held: { word: string; opened: boolean } | undefined;
}

/** Three at once and two more each second: at most five in any second. */
const burst = 3;
const perSecond = 2;

export function zoneGate({ clock }: { readonly clock: Clock }): ZoneGate {
  // Bounded by the plan: `reset` drops what it does not name, `offer` is called for planned zones only.
  const zones = new Map<string, Entry>();

  function entryOf(zone: string): Entry {
    const now = clock.monotonic();
    const entry = zones.get(zone) ?? { last: undefined, tokens: burst, at: now, held: undefined };
    entry.tokens = Math.min(burst, entry.tokens + ((now - entry.at) / 1000) * perSecond);
    entry.at = now;
    zones.set(zone, entry);
    return entry;
  }

  return {
    offer(zone, word) {
      const entry = entryOf(zone);
      if (entry.held === undefined && word === entry.last) return { zone, words: [] };
      if (entry.held === undefined && entry.tokens >= 1) return spend(zone, entry, [word]);
      const opened = entry.held?.opened === true || (word === 'ON' && (entry.held?.word ?? entry.last) !== 'ON');
      entry.held = { word, opened };
      return undefined;
    },
    due() {
      const steps: Step[] = [];
      for (const zone of zones.keys()) {
        const entry = entryOf(zone);
        if (entry.held === undefined || entry.tokens < costOf(entry)) continue;
        const words = storyOf(entry);
        entry.held = undefined;
        steps.push(spend(zone, entry, words));
      }
      return steps;
    },
    nextMs() {
      let next: number | undefined;
      for (const zone of zones.keys()) {
        const entry = entryOf(zone);
        if (entry.held === undefined) continue;
        const waitMs = Math.max(0, Math.ceil(((costOf(entry) - entry.tokens) / perSecond) * 1000));
        next = Math.min(next ?? waitMs, waitMs);
      }
      return next;
    },
    reset(words) {
      const kept = new Map<string, Entry>();
      for (const [zone, word] of words) kept.set(zone, { ...entryOf(zone), last: word, held: undefined });
      zones.clear();
      for (const [zone, entry] of kept) zones.set(zone, entry);
    },
  };
}

function spend(zone: string, entry: Entry, words: readonly string[]): Step {
  entry.tokens -= Math.max(1, words.length);
  entry.last = words.at(-1) ?? entry.last;
  return { zone, words };
}

const costOf = (entry: Entry) => Math.max(1, storyOf(entry).length);

function storyOf({ last, held }: Entry): string[] {
  if (held === undefined) return [];
  const words = held.opened ? (last === 'ON' ? ['OFF', 'ON'] : ['ON']) : [];
  if ((words.at(-1) ?? last) !== held.word) words.push(held.word);
  return words;
}
