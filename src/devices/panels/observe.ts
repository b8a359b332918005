import { jsonOf } from '#lib/json-text.ts';
import type { Message } from './reading.ts';
import { decode, isRecord, unquote } from './values.ts';

/** What the technician was asked to do while messages came, in this order. */
const phases = ['before', 'opened', 'closed', 'armed', 'disarmed'] as const;
export type Phase = (typeof phases)[number];

/** One value of one topic over time: the whole payload, or a member of it. */
export interface Watched {
  readonly topic: string;
  /** Names from the root to the member; none where the payload is text. */
  readonly path: readonly string[];
  /** Values in order, without repeats, by phase. */
  readonly values: Readonly<Record<Phase, readonly string[]>>;
  /** Changes too often, or to too many values, to be a state. */
  readonly restless: boolean;
}

export interface Observations {
  /** Messages from now on belong to this phase. */
  begin(phase: Phase): void;
  take(message: Message): void;
  list(): readonly Watched[];
  /** Whether anything changed, or came for the first time, in the phase. */
  changed(phase: Phase): boolean;
}

/** Bounds: members that are followed, members of one message, depth, values of one member and phase. */
const watchedCap = 6000;
const membersPerMessage = 64;
const depthCap = 4;
const valuesPerPhase = 6;

/** Follows every value within bounds. What could be a code or is longer than a word is not even kept. */
export function createObservations(): Observations {
  const kept = new Map<
    string,
    { topic: string; path: readonly string[]; values: Record<Phase, string[]>; restless: boolean }
  >();
  let phase: Phase = 'before';
  const changes = new Set<Phase>();

  function note(topic: string, path: readonly string[], text: string): void {
    if (!isWord(text)) return;
    const key = JSON.stringify([topic, ...path]);
    let entry = kept.get(key);
    if (entry === undefined) {
      if (kept.size >= watchedCap) return;
      entry = { topic, path, restless: false, values: { before: [], opened: [], closed: [], armed: [], disarmed: [] } };
      kept.set(key, entry);
    }
    const last = lastBy(entry.values, phase);
    if (last === text) return;
    changes.add(phase);
    if (entry.values[phase].length >= valuesPerPhase) entry.restless = true;
    else entry.values[phase].push(text);
  }

  return {
    begin(next) {
      phase = next;
    },
    take({ topic, payload }) {
      const decoded = decode(payload);
      // Such characters are the profile language's own.
      if ('drop' in decoded || decoded.text === '' || /[+#{}$\0]/.test(topic)) return;
      const json = jsonOf(decoded.text);
      if (!isRecord(json) && !Array.isArray(json)) note(topic, [], unquote(decoded.text));
      else for (const [path, text] of membersOf(json)) note(topic, path, text);
    },
    list: () => [...kept.values()],
    changed: (asked) => changes.has(asked),
  };
}

/** The last value at the end of a phase. */
export function lastBy(values: Watched['values'], phase: Phase): string | undefined {
  const until = phases.slice(0, phases.indexOf(phase) + 1);
  return until.flatMap((one) => values[one]).at(-1);
}

/** A state is a word; rows of four digits and more are times, counters or codes. */
const isWord = (text: string): boolean => text !== '' && text.length <= 32 && !/\d{4}|[\p{Cc}"\\]/u.test(text);

/** Members of lists have their places as names, as in a JSON pointer. */
function membersOf(root: object): (readonly [readonly string[], string])[] {
  const found: (readonly [readonly string[], string])[] = [];
  const walk = (value: unknown, path: readonly string[]): void => {
    if (found.length >= membersPerMessage || path.length > depthCap) return;
    if (isRecord(value) || Array.isArray(value)) {
      for (const [name, member] of Object.entries(value)) if (/^[^/~]{1,64}$/.test(name)) walk(member, [...path, name]);
    } else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      found.push([path, String(value).trim()]);
    }
  };
  walk(root, []);
  return found;
}
