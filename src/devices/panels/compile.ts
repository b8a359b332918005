import type { z } from 'zod';
import { SitewardError } from '#errors.ts';
import { armingWord, isCalmer, type TroubleKind } from '#site/model/index.ts';
import { compileLookup, type Fields, type Lookup, type Overrides, type Say, toFields } from './lookup.ts';
import {
  type Condition,
  commandNames,
  fieldSchemas,
  type Out,
  type Profile,
  profileSchema,
  type Read,
  type Target,
} from './profile.ts';
import { sourceOf } from './slots.ts';
import { compileTemplate, isNarrower, narrowest, overlap, type Template } from './topics.ts';
import { checkTraits } from './traits.ts';
import { pointerPath } from './values.ts';

export interface CompiledRead {
  readonly for: Target;
  /** Names this read within its profile: memory of a state or trouble is kept per source. */
  readonly source: string;
  readonly key: string;
  /** Where the message itself names the key. */
  readonly keyPath: readonly string[] | null;
  readonly layers: readonly ('bridge' | 'device')[];
  readonly trouble: TroubleKind | ReadonlyMap<string, TroubleKind> | null;
  readonly each: { readonly path: readonly string[]; readonly key: RegExp | null } | null;
  readonly path: readonly string[] | null;
  readonly when: Test;
  readonly first: readonly { readonly test: Test; readonly fields: Fields }[] | null;
  readonly match: RegExp | null;
  readonly lookup: Lookup;
  /** What a read with `first` means when no condition holds. */
  readonly other: Fields | null;
  readonly pulse: boolean;
  /** The key, with placeholders, of the partition whose calm ends it. */
  readonly lasts: string | null;
  /** For notes: the field, or `fields`. */
  readonly label: string;
}

/** `absent`: it also holds where nothing stands. */
export type Test = readonly {
  readonly path: readonly string[];
  readonly texts: ReadonlySet<string>;
  readonly absent: boolean;
}[];

export interface CompiledRule {
  readonly template: Template;
  readonly format: 'text' | 'json' | 'either';
  readonly retained: 'state' | 'ignore' | 'context';
  /** Live messages are records of the past too. */
  readonly record: boolean;
  readonly mask: readonly (readonly string[])[];
  readonly reads: readonly CompiledRead[];
}

export interface CompiledOut {
  readonly topic: string;
  readonly payload: Out['payload'];
  readonly withCode: Out['payload'] | null;
  readonly leaveOut: ReadonlyMap<string, ReadonlySet<string>>;
}

export interface Compiled {
  readonly profile: Profile;
  /** What to subscribe to; no filter covers another. */
  readonly filters: readonly string[];
  readonly rules: readonly CompiledRule[];
  /** The rules by the first level of their topics, which is always fixed; the narrower of two that meet before the wider. */
  readonly byHead: ReadonlyMap<string, readonly CompiledRule[]>;
  readonly out: ReadonlyMap<string, CompiledOut>;
  /** Partition keys worth remembering; null remembers any, within a bound. */
  readonly partitions: ReadonlySet<string> | null;
  /** Other words of the bridge for a partition, to the one that names it here. */
  readonly aliases: ReadonlyMap<string, string>;
}

export interface CompileOptions {
  readonly vars?: Readonly<Record<string, string>> | undefined;
  readonly overrides?: Overrides | undefined;
  readonly partitions?: readonly string[] | undefined;
  readonly aliases?: ReadonlyMap<string, string> | undefined;
}

const placeholders = ['partition', 'zone', 'trouble', 'output', 'device'] as const;
const usualPlaceholder: Readonly<Record<Target, string>> = {
  partition: '{partition}',
  zone: '{zone}',
  trouble: '',
  link: '',
  keypad: '{zone}',
  output: '{output}',
  report: '',
  token: '',
};

/** Checks a profile and makes it ready to interpret. Throws `profile_invalid` that names every place. */
export function compileProfile(json: unknown, options: CompileOptions = {}): Compiled {
  const parsed = profileSchema.safeParse(json);
  const id = nameOf(json);
  if (!parsed.success) throw invalid(id, flatten(parsed.error));
  const profile = parsed.data;
  const problems: { place: string; problem: string }[] = [];
  const say: Say = (place, problem) => problems.push({ place, problem });

  const vars = mergeVars(profile, options.vars ?? {}, say);
  const overrides = options.overrides ?? {};
  const rules: CompiledRule[] = [];
  for (const [i, rule] of profile.in.entries()) {
    const template = readTemplate(rule.topic, vars, `in[${i}].topic`, placeholders, say);
    if (template === undefined) continue;
    for (const [j, earlier] of rules.entries()) {
      const isClear = isNarrower(earlier.template, template) || isNarrower(template, earlier.template);
      if (!isClear && overlap(earlier.template, template)) {
        say(
          `in[${i}].topic`,
          `can match the same topic as in[${j}].topic: ${template.text} and ${earlier.template.text}`,
        );
      }
    }
    const reads = rule.read.map((read, j) =>
      compileRead(read, { place: `in[${i}].read[${j}]`, template, overrides, source: `${i}.${j}`, say }),
    );
    const pointed =
      rule.read.some((read) => read.at ?? read.when ?? read.first ?? read.each ?? read.key_at) ||
      rule.mask !== undefined;
    rules.push({
      template,
      format: rule.format ?? (pointed ? 'json' : 'text'),
      retained: rule.retained,
      record: rule.record ?? false,
      mask: (rule.mask ?? []).map(pointerPath),
      reads,
    });
  }
  const out = compileOut(profile, vars, say);
  checkCode(profile, say);
  checkTraits(profile, say);
  checkSlots(profile, say);
  checkOverrides(profile, overrides, say);
  if (problems.length > 0) throw invalid(id, problems);
  return {
    profile,
    filters: narrowest(rules.map((rule) => rule.template)),
    rules,
    byHead: Map.groupBy(narrowFirst(rules), (rule) => rule.template.levels[0]?.prefix ?? ''),
    out,
    aliases: options.aliases ?? new Map(),
    partitions: options.partitions === undefined ? null : new Set(options.partitions),
  };
}

/** The rule that reads a topic. */
export function ruleOf({ byHead }: Compiled, topic: string): CompiledRule | undefined {
  const slash = topic.indexOf('/');
  const rules = byHead.get(slash === -1 ? topic : topic.slice(0, slash));
  return rules?.find(({ template }) => template.regex.test(topic));
}

/** Of two rules that can match one topic the narrower one comes first, and takes the message. */
function narrowFirst(rules: readonly CompiledRule[]): readonly CompiledRule[] {
  const wider = (rule: CompiledRule) => rules.filter((other) => isNarrower(rule.template, other.template)).length;
  return rules.toSorted((a, b) => wider(b) - wider(a));
}

const nameOf = (json: unknown) =>
  typeof json === 'object' && json !== null && 'id' in json && typeof json.id === 'string' ? json.id.slice(0, 32) : '?';

export function invalid(profile: string, problems: readonly { place: string; problem: string }[]): SitewardError {
  const shown = problems.slice(0, 8).map(({ place, problem }) => (place === '' ? problem : `${place}: ${problem}`));
  if (problems.length > shown.length) shown.push(`and ${problems.length - shown.length} more`);
  return new SitewardError('profile_invalid', `profile ${profile}: ${shown.join('; ')}`, {
    facts: { profile, place: problems[0]?.place ?? '', problems: problems.length },
  });
}

/** zod's issues with paths as `in[0].read[1].map`. A union's issue is reported by its closest branch. */
function flatten(error: z.ZodError): { place: string; problem: string }[] {
  return error.issues.map((issue) => ({ place: placeOf(issue.path), problem: issue.message }));
}

const placeOf = (path: readonly PropertyKey[]) =>
  path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? String(part) : `${text}.${String(part)}`,
    '',
  );

function mergeVars(profile: Profile, given: Readonly<Record<string, string>>, say: Say): Map<string, string> {
  const vars = new Map(Object.entries(profile.vars));
  for (const [name, text] of Object.entries(given)) {
    if (!vars.has(name))
      say(`vars.${name}`, `the profile has no such variable; it knows ${[...vars.keys()].join(', ')}`);
    vars.set(name, text);
  }
  for (const [name, text] of vars) {
    if (text === '' || /[+#{}$\0]/.test(text) || text.startsWith('/') || text.endsWith('/')) {
      say(`vars.${name}`, 'must be part of a topic: not empty, without + # { } $, not beginning or ending with /');
    }
  }
  return vars;
}

function readTemplate(
  text: string,
  vars: ReadonlyMap<string, string>,
  place: string,
  allowed: readonly string[],
  say: Say,
): Template | undefined {
  try {
    return compileTemplate(fillVars(text, vars), allowed);
  } catch (error) {
    say(place, error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

function fillVars(text: string, vars: ReadonlyMap<string, string>): string {
  return text.replace(/\$([a-z][a-z0-9_]*)?/g, (_, name: string | undefined) => {
    const value = name === undefined ? undefined : vars.get(name);
    if (value === undefined) throw new Error(`$${name ?? ''} is not among vars`);
    return value;
  });
}

interface ReadContext {
  readonly place: string;
  readonly template: Template;
  readonly overrides: Overrides;
  readonly source: string;
  readonly say: Say;
}

function compileRead(read: Read, context: ReadContext): CompiledRead {
  const { place, template, say } = context;
  const key = read.key ?? (read.key_at === undefined ? usualPlaceholder[read.for] : '');
  const known = [...template.names, ...(read.each === undefined ? [] : ['partition', 'zone'])];
  for (const [field, text] of [
    ['key', key],
    ['lasts', read.lasts ?? ''],
  ] as const) {
    for (const [, name] of text.matchAll(/\{([a-z_]+)\}/g)) {
      if (name !== undefined && !known.includes(name)) {
        say(`${place}.${field}`, `{${name}} is not caught by the topic; name a fixed key or add the placeholder`);
      }
    }
  }
  checkShape(read, context);
  return {
    for: read.for,
    source: sourceOf(read, context.source),
    key,
    keyPath: path(read.key_at),
    layers: read.layer === 'both' ? ['bridge', 'device'] : [read.layer ?? 'bridge'],
    trouble: compileTrouble(read, context),
    each:
      read.each === undefined
        ? null
        : { path: path(read.each.at) ?? [], key: read.each.key === undefined ? null : anchored(read.each.key) },
    path: path(read.at),
    when: read.when === undefined ? [] : compileTest(read.when),
    first: read.first === undefined ? null : compileFirst(read, context),
    match: read.match === undefined ? null : new RegExp(read.match, 'u'),
    lookup: compileLookup(read, context),
    other: read.other === undefined ? null : toFields(read, read.other, `${place}.other`, say),
    pulse: read.pulse ?? false,
    lasts: read.lasts ?? null,
    label: read.set ?? 'fields',
  };
}

const path = (pointer: string | undefined) => (pointer === undefined ? null : pointerPath(pointer));
const anchored = (text: string) => new RegExp(`^(?:${text})$`, 'u');

function checkShape(read: Read, { place, say }: ReadContext): void {
  const fields: Readonly<Record<string, unknown>> = fieldSchemas[read.for];
  if (read.set !== undefined && !Object.hasOwn(fields, read.set)) {
    say(`${place}.set`, `${read.for} has no field "${read.set}"; use ${Object.keys(fields).join(', ')}`);
  }
  if (read.set === undefined && read.map === undefined && read.first === undefined) {
    say(place, 'names no field: give set, or a map whose values are objects');
  }
  if (read.map === 'bool' && read.set === undefined) say(`${place}.set`, 'is needed with map: bool');
  if (read.layer !== undefined && read.for !== 'link') say(`${place}.layer`, 'belongs to reads for link only');
  if (read.slot !== undefined && read.for !== 'partition') say(`${place}.slot`, 'belongs to reads for partition only');
  if (read.lasts !== undefined && (read.for !== 'zone' || read.pulse === true))
    say(`${place}.lasts`, 'belongs to reads for zone without pulse');
  if (read.key !== undefined && read.key_at !== undefined) say(`${place}.key`, 'excludes key_at');
  if (read.for === 'token' && !/^[a-z][a-z_]{0,31}$/.test(read.key ?? ''))
    say(`${place}.key`, 'names the token: small letters and _');
  if (read.first !== undefined && read.at !== undefined)
    say(`${place}.first`, 'excludes at: its conditions name their pointers');
}

function compileTrouble(read: Read, { place, template, say }: ReadContext): CompiledRead['trouble'] {
  if (read.for !== 'trouble') {
    if (read.trouble !== undefined) say(`${place}.trouble`, 'belongs to reads for trouble only');
    return null;
  }
  if (read.trouble === undefined) say(`${place}.trouble`, 'is needed in a read for trouble');
  if (typeof read.trouble !== 'object') return read.trouble ?? null;
  if (!template.names.includes('trouble')) say(`${place}.trouble`, 'is a table, so the topic needs {trouble}');
  return new Map(Object.entries(read.trouble));
}

function compileTest(condition: Condition): Test {
  return Object.entries(condition).map(([pointer, wanted]) => {
    const all = Array.isArray(wanted) ? wanted : [wanted];
    const texts = new Set(all.filter((one) => one !== null).map(String));
    return { path: pointerPath(pointer), texts, absent: all.includes(null) };
  });
}

function compileFirst(read: Read, context: ReadContext): NonNullable<CompiledRead['first']> {
  return (read.first ?? []).map((entry, i) => ({
    test: compileTest(entry.if),
    fields: toFields(read, entry.value, `${context.place}.first[${i}].value`, context.say),
  }));
}

function compileOut(profile: Profile, vars: ReadonlyMap<string, string>, say: Say): Map<string, CompiledOut> {
  const out = new Map<string, CompiledOut>();
  for (const [name, entry] of Object.entries(profile.out)) {
    if (entry === undefined) continue;
    const template = readTemplate(entry.topic, vars, `out.${name}.topic`, ['partition', 'zone'], say);
    if (!profile.caps.some((cap) => cap === name)) say(`out.${name}`, `is not listed in caps`);
    if (template === undefined) continue;
    out.set(name, {
      topic: template.text,
      payload: entry.payload,
      withCode: entry.with_code ?? null,
      leaveOut: new Map(Object.entries(entry.leave_out ?? {}).map(([member, words]) => [member, new Set(words)])),
    });
  }
  for (const name of commandNames.filter((one) => profile.caps.includes(one) && profile.out[one] === undefined))
    say('caps', `lists ${name}, which is not in out: add out.${name} with its topic and payload, or take it away`);
  return out;
}

const namesIn = (payload: Out['payload']): string[] =>
  (typeof payload === 'string' ? [payload] : Object.values(payload))
    .filter((text) => typeof text === 'string')
    .flatMap((text) => [...text.matchAll(/\{([a-z_]+)(?::number)?\}/g)].map((match) => match[1] ?? ''));

/** Commands name only what can be filled in, and the code exactly where the profile says that one is sent. */
function checkCode({ code, out, in: rules }: Profile, say: Say): void {
  const tokens = rules.flatMap((rule) => rule.read.flatMap((read) => (read.for === 'token' ? [read.key] : [])));
  const isSent = code.mode !== 'none' && code.mode !== 'in-bridge';
  let isUsed = false;
  for (const [name, entry] of Object.entries(out)) {
    if (entry === undefined) continue;
    const names = [entry.payload, entry.with_code ?? ''].flatMap(namesIn);
    const unknown = names.find((one) => !['partition', 'zone', 'code', ...tokens].includes(one));
    if (unknown !== undefined) say(`out.${name}.payload`, `{${unknown}} is nothing that can be filled in`);
    if (!names.includes('code')) continue;
    isUsed = true;
    if (!isSent) say(`out.${name}.payload`, `holds {code}, and code.mode ${code.mode} says that none is sent`);
  }
  if (isSent && !isUsed) say('code.mode', `is ${code.mode}, and no command holds {code}`);
}

/** Of the topics that share a slot at most one may be retained as state, or the order of a burst would decide. */
function checkSlots({ in: rules }: Profile, say: Say): void {
  const lasting = new Map<string, number>();
  for (const [i, rule] of rules.entries()) {
    if (rule.retained !== 'state' || rule.record === true) continue;
    for (const slot of new Set(rule.read.flatMap((read) => read.slot ?? []))) {
      const earlier = lasting.get(slot);
      if (earlier !== undefined) {
        say(
          `in[${i}].read`,
          `shares the slot ${slot} with in[${earlier}]; at most one of them may be retained as state`,
        );
      }
      lasting.set(slot, i);
    }
  }
}

function checkOverrides(profile: Profile, overrides: Overrides, say: Say): void {
  const fields = new Set(profile.in.flatMap((rule) => rule.read.map((read) => read.set)));
  for (const field of Object.keys(overrides)) {
    if (!fields.has(field)) say(`overrides.${field}`, 'the profile reads no such field');
  }
  // A slip of the pen must disarm no site, and hide no alarm (safety 2).
  for (const { set, map } of profile.in.flatMap(({ read }) => read)) {
    if (set !== 'state' || typeof map !== 'object') continue;
    for (const [raw, value] of Object.entries(overrides.state ?? {})) {
      const meant = armingWord.safeParse(Object.hasOwn(map, raw) ? map[raw] : undefined).data;
      const said = armingWord.safeParse(value ?? 'disarmed').data;
      if (meant !== undefined && said !== undefined && isCalmer(meant, said))
        say(`overrides.state.${raw}`, `is ${meant} in the profile and must not become ${value}`);
    }
  }
}
