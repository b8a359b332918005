import type { z } from 'zod';
import { SitewardError } from '#errors.ts';
import type { TroubleKind } from '#site/model/index.ts';
import {
  type Condition,
  fieldSchemas,
  type Out,
  type Outcome,
  type Profile,
  profileSchema,
  type Read,
  type Target,
} from './profile.ts';
import { compileTemplate, narrowest, overlap, type Template } from './topics.ts';
import { pointerPath } from './values.ts';

/** Fields and values a read has found. `state: null` clears what this read said about the state before. */
export type Fields = Readonly<Record<string, string | boolean | null>>;

export interface CompiledRead {
  readonly for: Target;
  /** Names this read within its profile: memory of a state or trouble is kept per source. */
  readonly source: string;
  readonly key: string;
  readonly layers: readonly ('bridge' | 'device')[];
  readonly trouble: TroubleKind | ReadonlyMap<string, TroubleKind> | null;
  readonly each: { readonly path: readonly string[]; readonly key: RegExp } | null;
  readonly path: readonly string[] | null;
  readonly when: Test;
  readonly first: readonly { readonly test: Test; readonly fields: Fields }[] | null;
  readonly match: RegExp | null;
  readonly lookup: Lookup;
  /** What a read with `first` means when no condition holds. */
  readonly other: Fields | null;
  readonly pulse: boolean;
  /** For notes: the field, or `fields`. */
  readonly label: string;
}

export type Test = readonly { readonly path: readonly string[]; readonly texts: ReadonlySet<string> }[];
/** The fields a raw value means; null when it says nothing; undefined when nobody knows. */
export type Lookup = (raw: string) => Fields | null | undefined;

export interface CompiledRule {
  readonly template: Template;
  readonly format: 'text' | 'json' | 'either';
  readonly retained: 'state' | 'ignore' | 'context';
  readonly mask: readonly (readonly string[])[];
  readonly reads: readonly CompiledRead[];
}

export interface CompiledOut {
  readonly topic: string;
  readonly payload: Out['payload'];
  readonly qos: 0 | 1;
}

export interface Compiled {
  readonly profile: Profile;
  /** What to subscribe to; no filter covers another. */
  readonly filters: readonly string[];
  readonly rules: readonly CompiledRule[];
  readonly out: ReadonlyMap<string, CompiledOut>;
  /** Partition keys worth remembering; null remembers any, within a bound. */
  readonly partitions: ReadonlySet<string> | null;
}

export interface CompileOptions {
  readonly vars?: Readonly<Record<string, string>> | undefined;
  readonly overrides?: Readonly<Record<string, Readonly<Record<string, string | boolean | null>>>> | undefined;
  readonly partitions?: readonly string[] | undefined;
}

/** Collects what is wrong, each with its place, so that all of it is said at once. */
type Say = (place: string, problem: string) => void;

const placeholders = ['partition', 'zone', 'trouble', 'output'] as const;
const usualPlaceholder: Readonly<Record<Target, string>> = {
  partition: '{partition}',
  zone: '{zone}',
  trouble: '',
  link: '',
  keypad: '{zone}',
  output: '{output}',
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
      if (overlap(earlier.template, template)) say(`in[${i}].topic`, `can match the same topic as in[${j}].topic`);
    }
    const reads = rule.read.map((read, j) =>
      compileRead(read, { place: `in[${i}].read[${j}]`, template, overrides, source: `${i}.${j}`, say }),
    );
    const pointed =
      rule.read.some((read) => read.at ?? read.when ?? read.first ?? read.each) || rule.mask !== undefined;
    rules.push({
      template,
      format: rule.format ?? (pointed ? 'json' : 'text'),
      retained: rule.retained,
      mask: (rule.mask ?? []).map(pointerPath),
      reads,
    });
  }
  const out = compileOut(profile, vars, say);
  checkOverrides(profile, overrides, say);
  if (problems.length > 0) throw invalid(id, problems);
  return {
    profile,
    filters: narrowest(rules.map((rule) => rule.template)),
    rules,
    out,
    partitions: options.partitions === undefined ? null : new Set(options.partitions),
  };
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
  readonly overrides: NonNullable<CompileOptions['overrides']>;
  readonly source: string;
  readonly say: Say;
}

function compileRead(read: Read, context: ReadContext): CompiledRead {
  const { place, template, say } = context;
  const key = read.key ?? usualPlaceholder[read.for];
  const known = [...template.names, ...(read.each === undefined ? [] : ['partition', 'zone'])];
  for (const [, name] of key.matchAll(/\{([a-z_]+)\}/g)) {
    if (name !== undefined && !known.includes(name)) {
      say(`${place}.key`, `{${name}} is not caught by the topic; name a fixed key or add the placeholder`);
    }
  }
  checkShape(read, context);
  return {
    for: read.for,
    source: context.source,
    key,
    layers: read.layer === 'both' ? ['bridge', 'device'] : [read.layer ?? 'bridge'],
    trouble: compileTrouble(read, context),
    each: read.each === undefined ? null : { path: path(read.each.at) ?? [], key: anchored(read.each.key) },
    path: path(read.at),
    when: read.when === undefined ? [] : compileTest(read.when),
    first: read.first === undefined ? null : compileFirst(read, context),
    match: read.match === undefined ? null : new RegExp(read.match, 'u'),
    lookup: compileLookup(read, context),
    other: read.other === undefined ? null : toFields(read, read.other, `${place}.other`, say),
    pulse: read.pulse ?? false,
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
  return Object.entries(condition).map(([pointer, wanted]) => ({
    path: pointerPath(pointer),
    texts: new Set((Array.isArray(wanted) ? wanted : [wanted]).map(String)),
  }));
}

function compileFirst(read: Read, context: ReadContext): NonNullable<CompiledRead['first']> {
  return (read.first ?? []).map((entry, i) => ({
    test: compileTest(entry.if),
    fields: toFields(read, entry.value, `${context.place}.first[${i}].value`, context.say),
  }));
}

/** The fields an outcome stands for, each value checked against the field's schema. */
function toFields(read: Read, outcome: Outcome, place: string, say: Say): Fields {
  if (outcome === null && read.set === undefined) return {};
  if (typeof outcome !== 'object' && read.set === undefined) {
    say(place, 'must be an object of fields, since the read has no set');
    return {};
  }
  const given = typeof outcome === 'object' && outcome !== null ? outcome : { [read.set ?? '']: outcome };
  const schemas: Readonly<Record<string, z.ZodType>> = fieldSchemas[read.for];
  const fields: Record<string, string | boolean | null> = {};
  for (const [name, value] of Object.entries(given)) {
    const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    const turned = read.invert === true && typeof value === 'boolean' ? !value : value;
    if (schema === undefined) say(place, `${read.for} has no field "${name}"`);
    else if (value !== null && !schema.safeParse(value).success)
      say(place, `"${String(value)}" is no value of ${name}`);
    else if (value !== null || name === 'state') fields[name] = turned;
  }
  return fields;
}

const trues = ['true', 'on', '1', 'yes'];
const falses = ['false', 'off', '0', 'no'];

/** Map, site overrides, ephemeral values and `other` as one function of the raw text. */
function compileLookup(read: Read, context: ReadContext): Lookup {
  const table = new Map<string, Fields>();
  const folded = new Map<string, Fields>();
  const enter = (raw: string, outcome: Outcome, place: string, fold: boolean) => {
    const fields = toFields(read, outcome, place, context.say);
    table.set(raw, fields);
    if (fold) folded.set(raw.toLowerCase(), fields);
  };
  const field = read.set === undefined ? undefined : (fieldSchemas[read.for] as Record<string, z.ZodType>)[read.set];
  const words = wordsOf(field);
  if (read.map === 'bool' || (read.map === undefined && field?.safeParse(true).success === true)) {
    for (const raw of trues) enter(raw, true, `${context.place}.map`, true);
    for (const raw of falses) enter(raw, false, `${context.place}.map`, true);
  } else if (read.map !== undefined) {
    for (const [raw, outcome] of Object.entries(read.map)) {
      enter(raw, outcome, `${context.place}.map.${raw}`, read.fold ?? false);
    }
  } else {
    for (const word of words) enter(word, word, `${context.place}.map.${word}`, read.fold ?? false);
  }
  if (read.set !== undefined && Object.hasOwn(context.overrides, read.set)) {
    for (const [raw, value] of Object.entries(context.overrides[read.set] ?? {})) {
      // Polarity belongs to the bridge's words; a site says what it means.
      const fields = toFields({ ...read, invert: false }, value, `overrides.${read.set}.${raw}`, context.say);
      table.set(raw, fields);
      if (folded.has(raw.toLowerCase())) folded.set(raw.toLowerCase(), fields);
    }
  }
  const ephemeral = new Set(read.ephemeral ?? []);
  const other =
    read.other === undefined ? undefined : toFields(read, read.other, `${context.place}.other`, context.say);
  const free = read.map === undefined && field !== undefined && words.length === 0 && table.size === 0;
  return (raw) => {
    const fields = table.get(raw) ?? folded.get(raw.toLowerCase());
    if (fields !== undefined) return fields;
    // An empty payload is a cleared retained topic, never a value, unless the map says otherwise.
    if (raw === '' || ephemeral.has(raw)) return null;
    if (free && read.set !== undefined) return { [read.set]: raw.slice(0, 64) };
    return other;
  };
}

/** The words of an enum field, none for other types. */
function wordsOf(field: z.ZodType | undefined): readonly string[] {
  const options = field !== undefined && 'options' in field ? field.options : [];
  return Array.isArray(options) ? options.map(String) : [];
}

function compileOut(profile: Profile, vars: ReadonlyMap<string, string>, say: Say): Map<string, CompiledOut> {
  const out = new Map<string, CompiledOut>();
  for (const [name, entry] of Object.entries(profile.out)) {
    if (entry === undefined) continue;
    const template = readTemplate(entry.topic, vars, `out.${name}.topic`, ['partition', 'zone'], say);
    if (!profile.caps.some((cap) => cap === name)) say(`out.${name}`, `is not listed in caps`);
    if (template !== undefined) out.set(name, { topic: template.text, payload: entry.payload, qos: entry.qos });
  }
  return out;
}

function checkOverrides(profile: Profile, overrides: NonNullable<CompileOptions['overrides']>, say: Say): void {
  const fields = new Set(profile.in.flatMap((rule) => rule.read.map((read) => read.set)));
  for (const field of Object.keys(overrides)) {
    if (!fields.has(field)) say(`overrides.${field}`, 'the profile reads no such field');
  }
}
