import { type Reading, wordsOf } from '#devices/panels/index.ts';

/** Words of a row's `means` that profiles have; others, such as `delay`, are about what siteward does not read. */
const known: ReadonlySet<string> = new Set([
  ...['partition', 'state', 'target', 'ready', 'memory', 'fire', 'fault', 'user', 'zone', 'open', 'alarm', 'tamper'],
  ...['bypassed', 'low_battery', 'online', 'zone_type', 'trouble', 'bridge', 'keypad', 'contact_id', 'sia'],
  ...['output', 'on', 'panel_link', 'ac', 'changed_by', 'event'],
]);
const faults: ReadonlySet<unknown> = new Set([
  ...['arm_failed', 'wrong_code', 'code_missing', 'lockout', 'not_allowed', 'other'],
]);

type Words = Readonly<Record<string, unknown>>;

export interface Comparison {
  /** The words that could be compared; none where the row is about what siteward does not read. */
  readonly compared: readonly string[];
  /** What is not among the readings, one sentence each. */
  readonly differs: readonly string[];
}

/** Compares what a row says it means with what was read. */
export function compare(means: Words, readings: readonly Reading[], { retain }: { retain: boolean }): Comparison {
  const said = readings.map(comparable);
  const compared = Object.keys(means).filter((name) => isCompared(name, means, retain));
  // A key alone says nothing that could be read.
  if (!compared.some((name) => name !== 'zone' && name !== 'partition')) return { compared: [], differs: [] };
  const differs = compared.flatMap((name) => {
    const wanted = means[name];
    const values = said.filter((words) => concerns(words, means, name)).flatMap((words) => words[name] ?? []);
    if (values.some((value) => same(name, value, wanted))) return [];
    const got = values.length === 0 ? 'nothing' : values.map(String).join(', ');
    return [`${name} should be ${String(wanted)} and is ${got}`];
  });
  return { compared, differs };
}

function isCompared(name: string, means: Words, retain: boolean): boolean {
  if (!known.has(name)) return false;
  // "Unknown" is the state of a partition about which nothing is said; "disarming" is said of none.
  if (name === 'state') return means.state !== 'unknown' && means.state !== 'disarming';
  // The zone of a refusal is for people; that of an alarm is told by a live message only.
  if (name === 'zone') return means.fault === undefined && !(retain && means.state === 'triggered');
  if (name === 'event') return means.event === 'panic';
  // Of a partition it is a lamp of its keypads.
  return name !== 'bypassed' || means.zone !== undefined;
}

/** A zone's words count for the zone that is meant only. */
function concerns(words: Words, means: Words, name: string): boolean {
  return ['zone', 'partition'].every(
    (key) => name === key || !(key in words) || !(key in means) || same(key, words[key], means[key]),
  );
}

/** The words of a reading, and those recordings have for the same; a list holds what is as good. */
function comparable(reading: Reading): Words {
  const words = wordsOf(reading);
  switch (reading.kind) {
    case 'link':
      return { bridge: words.status, ...(reading.layer === 'device' && { panel_link: reading.up ? 'up' : 'down' }) };
    case 'keypad':
      return { keypad: words.action };
    case 'output':
      return { output: [reading.key, reading.on], on: reading.on };
    case 'partition':
      return { ...words, changed_by: words.user };
    case 'trouble': {
      const { trouble, active } = reading;
      return { ...(active && { trouble }), ...(trouble === 'ac_loss' && { ac: !active }) };
    }
    case 'zone': {
      const panic = reading.key === 'panic' && reading.alarm === true ? { event: 'panic' } : {};
      if (reading.online === undefined) return { ...words, ...panic };
      // A device that tells of its own liveness is a bridge to its recording; one that is lost is in trouble.
      return { ...words, ...panic, bridge: reading.online ? 'online' : 'offline', trouble: !reading.online };
    }
    default:
      return words;
  }
}

function same(name: string, value: unknown, wanted: unknown): boolean {
  if (name === 'fault' && !faults.has(wanted)) return true;
  // `entry_exit` of whichever number, and the switch of whichever device.
  if (name === 'zone_type') return String(value).startsWith(String(wanted));
  if (name === 'zone') return value === wanted || String(value).endsWith(`_${String(wanted)}`);
  if (name === 'trouble') return value === (troubleWords[String(wanted)] ?? wanted);
  return value === wanted;
}

/** Short words for troubles that recordings use. */
const troubleWords: Readonly<Record<string, string>> = { panel: 'system', low_battery: 'battery_low' };
