import { z } from 'zod';
import type { InterfaceChange } from './interface-watch.ts';
import { isObject, type JsonObject } from './json.ts';
import { keyNames, receiptNames, shortKeyNames } from './reading-types.ts';

export type Note = (path: string, what: InterfaceChange['what']) => void;

/** A value that could be used; undefined stands for a member to be left out. */
type Found = { readonly value: unknown } | undefined;

/**
 * Reads an answer by its schema, taking what can be used: ids as text, lists wrapped or bare, unknown words verbatim; a
 * member of a wrong type is left out and noted, not the record; an element without its own id is left out of its list. The id of
 * a record the specification does not show may be called `id`.
 * Undefined when not even that is possible. `own` are ids the caller asked by: they fill in for missing ones.
 */
export function readTolerantly(schema: z.ZodType, json: unknown, note: Note, own: JsonObject = {}): Found {
  return look(schema, json, '', { note, own });
}

interface Reading {
  readonly note: Note;
  readonly own: JsonObject;
}

function look(schema: z.ZodType, value: unknown, path: string, reading: Reading): Found {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return look(schema.unwrap() as z.ZodType, value, path, reading);
  }
  if (schema instanceof z.ZodObject) return lookAtObject(schema, value, path, reading);
  if (schema instanceof z.ZodArray) return lookAtList(schema, value, path, reading);
  const plain = /(^|\.)\w+_id$/.test(path) ? idOf(value) : plainOf(schema, value, path, reading.note);
  if (plain === undefined) reading.note(path || 'body', 'type');
  return plain;
}

function lookAtObject(schema: z.ZodObject, given: unknown, path: string, reading: Reading): Found {
  const names = Object.keys(schema.shape);
  const value = unwrapped(given, names, () => reading.note(path || 'body', 'wrapped'));
  if (value === undefined) {
    reading.note(path || 'body', 'type');
    return undefined;
  }
  const result: Record<string, unknown> = {};
  for (const name of names) {
    const member = Object.hasOwn(value, name) ? value[name] : undefined;
    if (member === undefined || member === null) continue;
    const found = look(schema.shape[name] as z.ZodType, member, path === '' ? name : `${path}.${name}`, reading);
    if (found !== undefined) result[name] = found.value;
  }
  const key = keyOf(schema);
  if (key === undefined || result[key] !== undefined) return { value: result };
  reading.note(path === '' ? key : `${path}.${key}`, 'missing');
  const own = path === '' ? idOf(reading.own[key]) : undefined;
  const id = own ?? (shortKeyNames.includes(key) ? idOf(value.id) : undefined);
  return id === undefined ? undefined : { value: { ...result, [key]: id.value } };
}

/** The record itself, one level inside or outside of `data` than described. */
function unwrapped(value: unknown, names: readonly string[], note: () => void): JsonObject | undefined {
  if (!isObject(value)) return undefined;
  if (names.length === 1 && names[0] === 'data' && !Object.hasOwn(value, 'data')) {
    note();
    return { data: value };
  }
  const inside = value.data;
  if (names.includes('data') || !isObject(inside) || names.some((name) => Object.hasOwn(value, name))) return value;
  note();
  return inside;
}

function lookAtList(schema: z.ZodArray, given: unknown, path: string, reading: Reading): Found {
  const list = Array.isArray(given) ? given : wrappedList(given, 2);
  if (list === undefined) {
    reading.note(path || 'body', 'type');
    return undefined;
  }
  if (list !== given) reading.note(path || 'body', 'wrapped');
  const element = schema.element as z.ZodType;
  // A row is nobody's answer in particular: only its own id counts.
  const rows = { ...reading, own: {} };
  return { value: list.flatMap((one) => look(element, one, `${path}[]`, rows) ?? []).map(({ value }) => value) };
}

/** The rows of a list as they came, also those that cannot be read; none where there is no list. */
export const rowsOf = (raw: unknown): readonly unknown[] => (Array.isArray(raw) ? raw : (wrappedList(raw, 2) ?? []));

/**
 * `{ data: [...] }`, or the only list of an object (S-194). A list of what went wrong is none of records, and beside one that is not empty no
 * list is whole; an empty list counts only under a name of records: read as no records at all, it would have them made a second time.
 */
function wrappedList(value: unknown, levels: number): readonly unknown[] | undefined {
  if (!isObject(value) || levels === 0 || tellsTrouble(value)) return undefined;
  if (Array.isArray(value.data)) return value.data;
  const inside = wrappedList(value.data, levels - 1);
  if (inside !== undefined) return inside;
  const lists = Object.entries(value).flatMap(([name, member]) =>
    Array.isArray(member) && !besideRecords.test(name) ? [{ name, member }] : [],
  );
  const [only] = lists;
  const isOfRecords = only !== undefined && (only.member.length > 0 || namesRecords.test(only.name));
  return lists.length === 1 && isOfRecords ? only.member : undefined;
}

const besideRecords = /error|fail|fault|problem|warning|notice|detail|^messages?$|links?$/i;
const namesRecords =
  /^(data|items|results?|rows|records|list|content|values|entries|elements|objects|payload|(\w+_)?(dealers|sites|stations|contacts|recorders|nvrs|devices|logs|statuses|verifications|audio_messages|messages))$/i;

/** In an envelope: some of what was asked for is perhaps not there. */
const tellsTrouble = (value: JsonObject): boolean =>
  value.success === false ||
  value.is_successful === false ||
  (typeof value.status === 'string' && /^(error|fail)/i.test(value.status)) ||
  (typeof value.status === 'number' && value.status >= 400) ||
  [value.error, value.errors].some(
    (one) =>
      (Array.isArray(one) && one.length > 0) ||
      (isObject(one) && Object.keys(one).length > 0) ||
      (typeof one === 'string' && one !== '') ||
      one === true,
  );

function keyOf(schema: z.ZodObject): string | undefined {
  const { shape } = schema;
  if (receiptNames.some((name) => name in shape)) return undefined;
  const key = keyNames.find((name) => name in shape);
  return key === undefined || shape[key] instanceof z.ZodOptional ? undefined : key;
}

const idOf = (value: unknown): Found =>
  (typeof value === 'string' && value !== '') || (typeof value === 'number' && Number.isFinite(value))
    ? { value: String(value) }
    : undefined;

function plainOf(schema: z.ZodType, value: unknown, path: string, note: Note): Found {
  switch (schema._zod.def.type) {
    case 'string':
      return typeof value === 'string' ? { value } : numberText(value, path, note);
    case 'number':
      return numberOf(value, path, note);
    case 'boolean':
      return booleanOf(value, path, note);
    case 'enum':
    case 'literal': {
      if (schema.safeParse(value).success) return { value };
      const ofNumbers = schema instanceof z.ZodLiteral && [...schema.values].every((one) => typeof one === 'number');
      const found = ofNumbers ? numberOf(value, path, note) : typeof value === 'string' ? { value } : undefined;
      if (found !== undefined && typeof found.value === typeof value) note(path || 'body', 'value');
      return found;
    }
    default:
      return { value };
  }
}

/** A zone, account or serial number that came as a number: left out, it would seem to be free (S-130). */
function numberText(value: unknown, path: string, note: Note): Found {
  if (typeof value !== 'number' || !/_numbers?$/.test(path)) return undefined;
  note(path, 'type');
  return { value: String(value) };
}

function numberOf(value: unknown, path: string, note: Note): Found {
  if (typeof value === 'number') return { value };
  const number =
    typeof value === 'boolean'
      ? Number(value)
      : typeof value === 'string' && digits.test(value)
        ? Number(value)
        : undefined;
  if (number === undefined) return undefined;
  note(path || 'body', 'type');
  return { value: number };
}

const digits = /^-?\d{1,15}(\.\d{1,15})?$/;

function booleanOf(value: unknown, path: string, note: Note): Found {
  if (typeof value === 'boolean') return { value };
  if (value !== 0 && value !== 1) return undefined;
  note(path || 'body', 'type');
  return { value: value === 1 };
}
