import { type Reading, wordsOf } from '#devices/panels/index.ts';

/** Words of a row's `means` that profiles have; others, such as `ac` or `delay`, are about what siteward does not read. */
const known: ReadonlySet<string> = new Set([
  ...['partition', 'state', 'target', 'ready', 'memory', 'fire', 'fault', 'user', 'zone', 'open', 'alarm', 'tamper'],
  ...['bypassed', 'low_battery', 'online', 'zone_type', 'trouble', 'bridge', 'keypad', 'contact_id', 'sia'],
]);
const faults: ReadonlySet<unknown> = new Set([
  ...['arm_failed', 'wrong_code', 'code_missing', 'lockout', 'not_allowed', 'other'],
]);

/** What of `means` is not among the readings, one sentence each. */
export function differences(means: Readonly<Record<string, unknown>>, readings: readonly Reading[]): string[] {
  const said = readings.map(comparable);
  const isAbout = (name: string) => name === 'zone' || name === 'partition';
  // A key alone says nothing that could be read.
  if (!Object.entries(means).some(([name, wanted]) => isCompared(name, wanted) && !isAbout(name))) return [];
  return Object.entries(means).flatMap(([name, wanted]) => {
    if (!isCompared(name, wanted)) return [];
    const values = said.filter((words) => concerns(words, means, name)).flatMap((words) => words[name] ?? []);
    if (values.some((value) => same(name, value, wanted))) return [];
    const got = values.length === 0 ? 'nothing' : values.map(String).join(', ');
    return [`${name} should be ${String(wanted)} and is ${got}`];
  });
}

/** "Unknown" is the state of a partition about which nothing is said. */
const isCompared = (name: string, wanted: unknown): boolean =>
  known.has(name) && !(name === 'state' && wanted === 'unknown');

/** A zone's words count for the zone that is meant only. */
function concerns(words: Readonly<Record<string, unknown>>, means: Readonly<Record<string, unknown>>, name: string) {
  for (const key of ['zone', 'partition'])
    if (name !== key && key in words && key in means && words[key] !== means[key]) return false;
  return true;
}

function comparable(reading: Reading): Readonly<Record<string, unknown>> {
  const words = wordsOf(reading);
  if (reading.kind === 'link') return { bridge: words.status };
  if (reading.kind === 'keypad') return { keypad: words.action };
  if (reading.kind === 'trouble') return reading.active ? { trouble: words.trouble } : {};
  return words;
}

function same(name: string, value: unknown, wanted: unknown): boolean {
  if (name === 'fault' && !faults.has(wanted)) return true;
  if (name === 'trouble') return value === (troubleWords[String(wanted)] ?? wanted);
  return value === wanted;
}

/** Short words for troubles that recordings use. */
const troubleWords: Readonly<Record<string, string>> = { panel: 'system', low_battery: 'battery_low' };
