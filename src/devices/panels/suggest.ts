import type { ZoneType } from '#site/model/index.ts';
import type { Vars } from './guess.ts';
import type { Reading } from './reading.ts';

/** The entry of `panels:` that reads what was heard; a technician sets types and names of the zones. */
export interface SuggestedPanel {
  readonly id: string;
  readonly profile: string;
  readonly vars?: Vars;
  /** By siteward's id; a list where the bridge has several words for it, the one for commands first. */
  readonly partitions?: Readonly<Record<string, string | readonly string[]>>;
  readonly zones?: Readonly<Record<string, SuggestedZone>>;
}

export interface SuggestedZone {
  readonly type: ZoneType;
  readonly name: string;
  readonly key?: string;
  readonly partition?: string;
}

const partitionCap = 32;
const zoneCap = 256;
/** Words the configuration takes for one partition. */
const wordCap = 8;

/**
 * What to put into the configuration, from the readings of a minute. Zones whose kind the bridge does not tell become
 * `perimeter`, which alarms at once while armed and never while disarmed.
 */
export function suggestPanel(options: {
  readonly id: string;
  readonly profile: string;
  readonly changed: Vars;
  readonly readings: readonly Reading[];
  /** Panels suggested before: numbers of zones and partitions are unique on a site. */
  readonly before?: readonly SuggestedPanel[];
  /** Numbers of zones that the site has already. */
  readonly taken?: Iterable<string>;
  /** The next partition of the site that nothing belongs to; without it p1, p2, ... in order. */
  readonly nextPartition?: () => string;
}): SuggestedPanel {
  const { id, profile, changed, readings, before = [], taken = [] } = options;
  const first = before.reduce((sum, { partitions }) => sum + Object.keys(partitions ?? {}).length, 1);
  const partitions = areasOf(readings)
    .slice(0, partitionCap)
    .map((key, i): [string, string | readonly string[]] => [options.nextPartition?.() ?? `p${first + i}`, key]);
  const numbers = new Set([...taken, ...before.flatMap(({ zones }) => Object.keys(zones ?? {}))]);
  const zones = numbered(keysOf(readings, 'zone').slice(0, zoneCap), numbers).map(
    ([number, key]): [string, SuggestedZone] => {
      const type = typeOf(key, readings);
      return [number, { type, name: nameOf(key), ...(number !== key && { key }) }];
    },
  );
  return {
    id,
    profile,
    ...(Object.keys(changed).length > 0 && { vars: changed }),
    ...(partitions.length > 0 && { partitions: Object.fromEntries(partitions) }),
    ...(zones.length > 0 && { zones: Object.fromEntries(zones) }),
  };
}

function keysOf(readings: readonly Reading[], kind: 'partition' | 'zone'): string[] {
  const keys = readings.flatMap((reading) => (reading.kind === kind && isKey(reading.key) ? [reading.key] : []));
  return [...new Set(keys)].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

const isKey = (key: string): boolean => /^[^/+#\0]{1,64}$/.test(key);

/**
 * The words of partitions. One that never tells a state is another word for an area that does, such as the letter in a
 * log line: beside a single area it is its second word; beside several nobody knows whose it is.
 */
function areasOf(readings: readonly Reading[]): readonly (string | readonly string[])[] {
  const all = keysOf(readings, 'partition');
  const telling = new Set(
    readings.flatMap((one) => (one.kind === 'partition' && one.state !== undefined ? [one.key] : [])),
  );
  const areas = all.filter((key) => telling.has(key));
  if (areas.length === 0 || areas.length === all.length) return all;
  if (areas.length > 1) return areas;
  return [[...areas, ...all.filter((key) => !telling.has(key))].slice(0, wordCap)];
}

/** The bridge's number where it has one that is free, for the others the next that is left. */
function numbered(keys: readonly string[], taken: ReadonlySet<string>): readonly (readonly [string, string])[] {
  const used = new Set(taken);
  const numbers = new Map<string, string>();
  for (const key of keys) {
    const own = /(?:^|\D)(\d{1,4})$/.exec(key)?.[1]?.replace(/^0+(?=\d)/, '');
    if (own === undefined || used.has(own) || /^(fire|medical|panic)/i.test(key)) continue;
    used.add(own);
    numbers.set(key, own);
  }
  let next = 1;
  return keys.map((key) => {
    while (!numbers.has(key) && used.has(String(next))) next += 1;
    const number = numbers.get(key) ?? String(next);
    used.add(number);
    return [number, key] as const;
  });
}

export const nameOf = (key: string): string =>
  /^\d+$/.test(key) ? `Zone ${key}` : key.replaceAll(/[_-]+/g, ' ').trim() || key;

const words: readonly (readonly [RegExp, ZoneType])[] = [
  [/fire|smoke/i, 'fire'],
  [/medical/i, 'medical'],
  [/panic/i, 'panic_audible'],
];

function typeOf(key: string, readings: readonly Reading[]): ZoneType {
  for (const reading of readings)
    if (reading.kind === 'zone' && reading.key === key && reading.zoneType !== undefined) return reading.zoneType;
  return words.find(([word]) => word.test(key))?.[1] ?? 'perimeter';
}
