import type { Profile } from './profile.ts';
import { escapeRegex } from './topics.ts';

export type Vars = Readonly<Record<string, string>>;

/** Candidates for one variable, and combinations of all, that are looked at; the most supported first. */
const valuesPerVar = 4;
const combinationCap = 8;

/**
 * Values the variables of a profile could have, judged by topics that were heard: its own defaults first, then what stands
 * where the variables are in topics that otherwise match. Topics without any fixed word give no guess, since everything
 * would match them; for a variable that is a whole topic `byWords` names topics that speak the words of its rule.
 */
export function guessVars(
  profile: Profile,
  topics: readonly string[],
  byWords: ReadonlyMap<string, readonly string[]> = new Map(),
): readonly Vars[] {
  const support = new Map<string, Map<string, number>>(Object.keys(profile.vars).map((name) => [name, new Map()]));
  for (const { topic } of profile.in) {
    const pattern = patternOf(topic, profile.vars);
    if (pattern === undefined) continue;
    for (const heard of topics) {
      for (const [name, value] of Object.entries(pattern.exec(heard)?.groups ?? {})) {
        const values = support.get(name);
        if (values !== undefined && isUsable(value) && (values.has(value) || values.size < 1000))
          values.set(value, (values.get(value) ?? 0) + 1);
      }
    }
  }
  for (const [name, values] of byWords)
    for (const [i, value] of values.entries()) if (isUsable(value)) support.get(name)?.set(value, values.length - i);
  let combined: Vars[] = [{}];
  for (const [name, values] of support) {
    const ranked = [...values].sort((a, b) => b[1] - a[1]).map(([value]) => value);
    const best = [profile.vars[name] ?? '', ...ranked.filter((value) => value !== profile.vars[name])];
    combined = combined
      .flatMap((vars) => best.slice(0, valuesPerVar).map((value) => ({ ...vars, [name]: value })))
      .slice(0, combinationCap * valuesPerVar);
  }
  return combined.slice(0, combinationCap).map((vars) => withTheirs(vars, profile.vars));
}

/** A variable whose own value lies below that of another, such as home/alarm/set below home/alarm, follows it. */
function withTheirs(vars: Vars, defaults: Vars): Vars {
  const moved = Object.entries(vars).map(([name, value]) => {
    const parent = Object.entries(defaults).find(([, other]) => defaults[name]?.startsWith(`${other}/`));
    if (parent === undefined || value !== defaults[name]) return [name, value];
    return [name, `${vars[parent[0]]}${value.slice(parent[1].length)}`];
  });
  return Object.fromEntries(moved);
}

const isUsable = (value: string): boolean =>
  value.length <= 128 && !/[+#{}$\0]/.test(value) && !value.startsWith('siteward');

/** The template with its variables as groups. Undefined when no level of it is fixed. */
function patternOf(topic: string, vars: Vars): RegExp | undefined {
  const levels = topic.split('/');
  if (!levels.some((level) => level.replace(/\$[a-z][a-z0-9_]*|\{[a-z_:]+\}/g, '') !== '')) return undefined;
  const seen = new Set<string>();
  const source = levels.map((level, i) =>
    level.replace(/\$([a-z][a-z0-9_]*)|\{[a-z_:]+\}|[^${]+/g, (part, name: string | undefined) => {
      if (part.startsWith('{')) return '[^/]{1,64}';
      if (name === undefined) return escapeRegex(part);
      if (seen.has(name)) return `\\k<${name}>`;
      seen.add(name);
      // A base topic may be deeper than the preset's own: home/alarm instead of alarm.
      const more = i === 0 && level === part ? (vars[name] ?? '').split('/').length + 1 : 0;
      return `(?<${name}>[^/]+${more > 0 ? `(?:/[^/]+){0,${more}}` : ''})`;
    }),
  );
  return new RegExp(`^${source.join('/')}$`, 'u');
}

/** Levels of a template that are fixed, its variables counted as fixed where they have the values of the profile. */
export function fixedLevels(topic: string, given: Vars, defaults: Vars): number {
  return topic.split('/').reduce((sum, level) => {
    const guessed = [...level.matchAll(/\$([a-z][a-z0-9_]*)/g)].some(([, name = '']) => given[name] !== defaults[name]);
    const bare = level.replace(/\$[a-z][a-z0-9_]*/g, guessed ? '' : 'x').replace(/\{[a-z_:]+\}/g, '');
    return sum + (bare === '' ? 0 : 1);
  }, 0);
}
