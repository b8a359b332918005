import type { z } from 'zod';
import { fieldSchemas, type Outcome, type Read } from './profile.ts';

/** Fields and values a read has found. `state: null` clears what this read said about the state before. */
export type Fields = Readonly<Record<string, string | boolean | null>>;

/** The fields a raw value means; null when it says nothing; undefined when nobody knows. */
export type Lookup = (raw: string) => Fields | null | undefined;

/** Values a site reads otherwise, by field. */
export type Overrides = Readonly<Record<string, Readonly<Record<string, string | boolean | null>>>>;

/** Collects what is wrong, each with its place, so that all of it is said at once. */
export type Say = (place: string, problem: string) => void;

/** The fields an outcome stands for, each value checked against the field's schema. */
export function toFields(read: Read, outcome: Outcome, place: string, say: Say): Fields {
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
      say(place, `"${String(value)}" is no value of ${name}${known(schema)}`);
    else if (value !== null || name === 'state') fields[name] = turned;
  }
  return fields;
}

const trues = ['true', 'on', '1', 'yes'];
const falses = ['false', 'off', '0', 'no'];
/** Free text is cut to this length. */
const freeCap = 256;

/** Map, site overrides, ephemeral values and `other` as one function of the raw text. */
export function compileLookup(read: Read, context: { place: string; overrides: Overrides; say: Say }): Lookup {
  const { place, overrides, say } = context;
  const table = new Map<string, Fields>();
  const folded = new Map<string, Fields>();
  const enter = (raw: string, outcome: Outcome, where: string, fold: boolean) => {
    const fields = toFields(read, outcome, where, say);
    table.set(raw, fields);
    if (fold) folded.set(raw.toLowerCase(), fields);
  };
  const field = read.set === undefined ? undefined : (fieldSchemas[read.for] as Record<string, z.ZodType>)[read.set];
  const words = wordsOf(field);
  if (read.map === 'bool' || (read.map === undefined && field?.safeParse(true).success === true)) {
    for (const raw of trues) enter(raw, true, `${place}.map`, true);
    for (const raw of falses) enter(raw, false, `${place}.map`, true);
  } else if (read.map !== undefined) {
    for (const [raw, outcome] of Object.entries(read.map)) {
      const same = read.fold === true ? folded.get(raw.toLowerCase()) : undefined;
      if (same !== undefined && JSON.stringify(same) !== JSON.stringify(toFields(read, outcome, '', () => {})))
        say(`${place}.map.${raw}`, 'means something else than the same word in another case; fold makes one of both');
      enter(raw, outcome, `${place}.map.${raw}`, read.fold ?? false);
    }
  } else {
    for (const word of words) enter(word, word, `${place}.map.${word}`, read.fold ?? false);
  }
  if (read.set !== undefined && Object.hasOwn(overrides, read.set)) {
    for (const [raw, value] of Object.entries(overrides[read.set] ?? {})) {
      // Polarity belongs to the bridge's words; a site says what it means.
      const fields = toFields({ ...read, invert: false }, value, `overrides.${read.set}.${raw}`, say);
      table.set(raw, fields);
      if (folded.has(raw.toLowerCase())) folded.set(raw.toLowerCase(), fields);
    }
  }
  const ephemeral = new Set(read.ephemeral ?? []);
  const other = read.other === undefined ? undefined : toFields(read, read.other, `${place}.other`, say);
  const free = read.map === undefined && field !== undefined && words.length === 0 && table.size === 0;
  return (raw) => {
    const fields = table.get(raw) ?? folded.get(raw.toLowerCase());
    if (fields !== undefined) return fields;
    // An empty payload is a cleared retained topic, never a value, unless the map says otherwise.
    if (raw === '' || ephemeral.has(raw)) return null;
    if (free && read.set !== undefined) return freeText(field, read.set, raw);
    return other;
  };
}

/** Free text within the field's bound; what is longer is no such thing, and is not kept in part. */
function freeText(field: z.ZodType, name: string, raw: string): Fields | undefined {
  const text = raw.slice(0, freeCap + 1);
  return field.safeParse(text).success ? { [name]: text } : undefined;
}

function known(schema: z.ZodType): string {
  const words = schema.safeParse(true).success ? ['true', 'false'] : wordsOf(schema);
  return words.length === 0 ? '' : `; there are ${words.join(', ')}`;
}

/** The words of an enum field, none for other types. */
function wordsOf(field: z.ZodType | undefined): readonly string[] {
  const options = field !== undefined && 'options' in field ? field.options : [];
  return Array.isArray(options) ? options.map(String) : [];
}
