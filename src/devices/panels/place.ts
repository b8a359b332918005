import type { Watched } from './observe.ts';
import { escapeRegex } from './topics.ts';

/** Where a value stands: a topic template, and for one object with many members which of them. */
export interface Place {
  readonly topic: string;
  /** JSON pointer to the value; undefined where the payload is text. */
  readonly at?: string;
  readonly each?: { readonly at?: string; readonly key: string };
  /** The fixed key, where topic and members name none. */
  readonly key?: string;
  /** Whether what is caught counts. */
  readonly counts: boolean;
}

/** Levels that name a property, never a door or an area. */
const properties =
  /^(state|status|open|opened|contact|value|tamper|battery|alarm|alarms|current_state|mode|get|stat|sensor|sensors|binary_sensor|zone|zones|door|doors|area|areas|partition|partitions)$/i;
const numbered = /^([^0-9{}]*)(\d{1,4})$/;
const pointer = (path: readonly string[]) => (path.length === 0 ? undefined : `/${path.join('/')}`);

/**
 * The template for a value: its number or its name becomes `{zone}` or `{partition}`, judged by a number in a level, or by
 * other topics that differ in one level only. `topics` are all that were heard, `all` what was followed.
 */
export function placeOf(
  name: 'zone' | 'partition',
  { topic, path }: Watched,
  all: readonly Watched[],
  other?: Watched,
): Place {
  const member = memberPlace(topic, path, all);
  if (member !== undefined) return member;
  const at = pointer(path);
  const rest = at === undefined ? {} : { at };
  const levels = topic.split('/');
  for (let i = levels.length - 1; i > 0; i -= 1) {
    const [, prefix = '', digits] = numbered.exec(levels[i] ?? '') ?? [];
    if (digits !== undefined && !isOwnName(levels[i], prefix, other?.topic.split('/')[i]))
      return { topic: levels.with(i, `${prefix}{${name}}`).join('/'), counts: true, ...rest };
  }
  const named = siblingLevel(levels, [...new Set(all.map((one) => one.topic))]);
  if (named !== undefined) return { topic: levels.with(named, `{${name}}`).join('/'), counts: false, ...rest };
  return fixedPlace(name, { topic, path });
}

/** What doors and partitions both stand under is the bridge's own name, or the partition of the doors. */
const isOwnName = (level: string | undefined, prefix: string, others: string | undefined): boolean =>
  level === others && !areas.test(prefix);
const areas =
  /^(p|part|partition|area|areas|group|zone|bereich|gruppe|secteur|sector|area_|partition_|group_)?[_ -]?$/i;

/** Members of the same message that have the same form, and that one place does not read. */
export function alikeOf({ topic, path }: Watched, all: readonly Watched[]): readonly Watched[] {
  return all.filter(
    (one) =>
      one.topic === topic &&
      one.path.length === path.length &&
      one.path.filter((part, i) => part !== path[i]).length === 1 &&
      one.path.at(-1) === path.at(-1),
  );
}

/** The value at its own topic only, under a key of its own. */
export function fixedPlace(name: 'zone' | 'partition', { topic, path }: Pick<Watched, 'topic' | 'path'>): Place {
  const at = pointer(path);
  const words = [...topic.split('/').slice(1), ...path].filter((level) => !properties.test(level));
  const key = name === 'partition' ? '1' : (words.at(-1) ?? '1');
  return { topic, key: key.slice(0, 64), counts: /^\d+$/.test(key), ...(at !== undefined && { at }) };
}

/** `{"z1":"open","z2":"closed"}`: one member per zone. */
function memberPlace(topic: string, path: readonly string[], all: readonly Watched[]): Place | undefined {
  for (const [i, segment] of path.entries()) {
    const [, prefix = '', digits] = numbered.exec(segment) ?? [];
    if (digits === undefined) continue;
    const alike = all.some(
      (one) =>
        one.topic === topic &&
        one.path.length === path.length &&
        one.path.every((part, j) =>
          i === j ? part !== segment && numbered.exec(part)?.[1] === prefix : part === path[j],
        ),
    );
    if (!alike) continue;
    const parent = pointer(path.slice(0, i));
    const below = pointer(path.slice(i + 1));
    const each = { ...(parent !== undefined && { at: parent }), key: `${escapeRegex(prefix)}(\\d{1,4})` };
    return { topic, each, counts: true, ...(below !== undefined && { at: below }) };
  }
  return undefined;
}

/** The level in which most other topics differ from this one, and in no other. */
function siblingLevel(levels: readonly string[], topics: readonly string[]): number | undefined {
  let best: { level: number; count: number } | undefined;
  for (let level = 1; level < levels.length; level += 1) {
    if (properties.test(levels[level] ?? '')) continue;
    const count = topics.filter((topic) => {
      const other = topic.split('/');
      return (
        other.length === levels.length &&
        other.every((part, i) => (i === level ? part !== levels[i] && !properties.test(part) : part === levels[i]))
      );
    }).length;
    if (count > 0 && (best === undefined || count > best.count)) best = { level, count };
  }
  return best?.level;
}
