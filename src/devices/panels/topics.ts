/**
 * Topic templates: `dsc/Get/Partition{partition}`, or `{zone:number}` for digits only. Each level holds at most one placeholder, so that a template has
 * one reading, one narrowest filter, and a decidable overlap with any other.
 */
export interface Template {
  readonly text: string;
  readonly regex: RegExp;
  /** The narrowest MQTT filter that holds every topic of the template. */
  readonly filter: string;
  readonly names: readonly string[];
  readonly levels: readonly Level[];
}

interface Level {
  readonly prefix: string;
  readonly suffix: string;
  readonly name: string | null;
  /** Catches digits only. */
  readonly counts: boolean;
}

const placeholder = /^([^{}]*)\{([a-z_]+)(:number)?\}([^{}]*)$/;

/** Reads a template whose variables are already filled in. Throws an `Error` that says what is wrong with it. */
export function compileTemplate(text: string, allowed: readonly string[]): Template {
  if (/[+#\0]/.test(text))
    throw new Error('wildcards are made from placeholders; + and # must not stand in a template');
  if (text.startsWith('/') || text.endsWith('/')) throw new Error('must not begin or end with /');
  const levels = text.split('/').map((level) => readLevel(level, allowed));
  if (levels[0]?.name !== null)
    throw new Error('the first level must be fixed, or every message of the site would match');
  const names = levels.flatMap((level) => (level.name === null ? [] : [level.name]));
  if (new Set(names).size !== names.length) throw new Error('a placeholder stands twice');
  return {
    text,
    regex: new RegExp(`^${levels.map(levelPattern).join('/')}$`, 'u'),
    filter: levels.map((level) => (level.name === null ? level.prefix : '+')).join('/'),
    names,
    levels,
  };
}

function readLevel(level: string, allowed: readonly string[]): Level {
  if (!/[{}]/.test(level)) return { prefix: level, suffix: '', name: null, counts: false };
  const match = placeholder.exec(level);
  const name = match?.[2];
  if (match === null || name === undefined) throw new Error(`the level "${level}" may hold one {placeholder}`);
  if (!allowed.includes(name))
    throw new Error(`{${name}} is not known; use ${allowed.map((n) => `{${n}}`).join(', ')}`);
  return { prefix: match[1] ?? '', suffix: match[4] ?? '', name, counts: match[3] !== undefined };
}

/** The text as a part of a regular expression that matches it alone. */
export const escapeRegex = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

const levelPattern = (level: Level) =>
  level.name === null
    ? escapeRegex(level.prefix)
    : `${escapeRegex(level.prefix)}(?<${level.name}>${level.counts ? '\\d{1,16}' : '[^/]{1,64}'})${escapeRegex(level.suffix)}`;

/** Whether some topic could match both. Never says no to two that meet. */
export function overlap(a: Template, b: Template): boolean {
  if (a.levels.length !== b.levels.length) return false;
  return a.levels.every((level, i) => {
    const other = b.levels[i];
    return other !== undefined && levelsMeet(level, other);
  });
}

function levelsMeet(a: Level, b: Level): boolean {
  if (a.name === null && b.name === null) return a.prefix === b.prefix;
  if (a.name === null) return new RegExp(`^${levelPattern(b)}$`, 'u').test(a.prefix);
  if (b.name === null) return new RegExp(`^${levelPattern(a)}$`, 'u').test(b.prefix);
  if (onlyDigits(a, b) || onlyDigits(b, a)) return false;
  return (
    (a.prefix.startsWith(b.prefix) || b.prefix.startsWith(a.prefix)) &&
    (a.suffix.endsWith(b.suffix) || b.suffix.endsWith(a.suffix))
  );
}

/** A level that is a number as a whole cannot be one that holds other characters. */
const onlyDigits = (a: Level, b: Level) =>
  a.counts && a.prefix === '' && a.suffix === '' && /\D/.test(b.prefix + b.suffix);

/** Whether `a` is one case of `b`: the same, but for fixed levels where `b` has placeholders. */
export const isNarrower = (a: Template, b: Template): boolean =>
  a.levels.length === b.levels.length &&
  a.levels.some((level, i) => level.name === null && b.levels[i]?.name !== null) &&
  a.levels.every((level, i) => {
    const other = b.levels[i];
    return other !== undefined && (levelPattern(level) === levelPattern(other) || isCaseOf(level, other));
  });

const isCaseOf = (a: Level, b: Level): boolean => a.name === null && b.name !== null && levelsMeet(a, b);

/** The filters to subscribe to: each once, and none that another one already covers. */
export function narrowest(templates: readonly Template[]): string[] {
  const filters = [...new Set(templates.map((template) => template.filter))];
  return filters.filter((filter) => !filters.some((other) => other !== filter && covers(other, filter))).sort();
}

function covers(wide: string, narrow: string): boolean {
  const a = wide.split('/');
  const b = narrow.split('/');
  return a.length === b.length && a.every((level, i) => level === '+' || level === b[i]);
}
