import type { Interpreted } from './interpret.ts';
import type { Note, Reading } from './reading.ts';
import { showable } from './values.ts';

/** What became of one message under one profile. `silent`: its topic is known, and it says nothing about the panel. */
export type Verdict = 'understood' | 'silent' | 'unknown' | 'dropped' | 'unmatched';

export function verdictOf({ readings, notes }: Pick<Interpreted, 'readings' | 'notes'>): Verdict {
  const has = (kind: Note['kind']) => notes.some((note) => note.kind === kind);
  if (has('unmatched')) return 'unmatched';
  if (has('dropped')) return 'dropped';
  if (has('unmapped')) return 'unknown';
  return readings.length > 0 ? 'understood' : 'silent';
}

/** A reading in the words of the profile language, with the bridge's key under `zone`, `partition` or `output`. */
export function wordsOf(reading: Reading): Readonly<Record<string, unknown>> {
  const { kind, replay: _, context: __, ...facts } = reading;
  const said = Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [
      name === 'key' ? kind : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
  return kind === 'link' ? { ...said, link: said.layer, layer: undefined } : said;
}

const flags: Readonly<Record<string, readonly [yes: string, no: string]>> = {
  active: ['active', 'over'],
  alarm: ['alarm', 'no alarm'],
  bypassed: ['bypassed', 'not bypassed'],
  fire: ['fire', 'no fire'],
  low_battery: ['battery low', 'battery good'],
  memory: ['alarm in memory', 'no alarm in memory'],
  on: ['on', 'off'],
  online: ['reachable', 'not reachable'],
  open: ['open', 'closed'],
  ready: ['ready', 'not ready'],
  tamper: ['tamper', 'no tamper'],
  up: ['up', 'down'],
};

/** One reading as a phrase for people: `zone Front_door: open, battery low`. */
function phraseOf(reading: Reading): string {
  const { [reading.kind]: about, ...facts } = wordsOf(reading);
  const said = Object.entries(facts).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (typeof value === 'boolean') return flags[name]?.[value ? 0 : 1] ?? `${name} ${value}`;
    // The codes of a report are the station's, not people's.
    const text = reading.kind === 'report' ? String(value) : showable(String(value));
    return name === 'state' || name === 'status' || name === 'action' ? text : `${name} ${text}`;
  });
  const past = reading.context ? ' (a record of the past)' : '';
  const head = about === undefined ? reading.kind : `${reading.kind} ${showable(String(about))}`;
  return `${head}: ${[...new Set(said)].join(', ')}${past}`;
}

const dropped = {
  too_large: 'dropped: larger than 64 KiB',
  not_utf8: 'dropped: not UTF-8 text',
  bad_json: 'dropped: not the JSON the profile expects',
} as const;

/** The meaning of one message for people. */
export function meaningOf({ readings, notes }: Pick<Interpreted, 'readings' | 'notes'>): string {
  const parts = readings.map(phraseOf);
  for (const note of notes) {
    if (note.kind === 'dropped') parts.push(dropped[note.reason]);
    else if (note.kind === 'unmapped') parts.push(`unknown value of ${note.field}: ${note.value}`);
    else if (note.kind === 'ignored') parts.push('not read: retained or empty');
    else if (note.kind === 'unmatched') parts.push('no topic of the profile');
  }
  return parts.length === 0 ? 'nothing about the panel' : [...new Set(parts)].join('; ');
}
