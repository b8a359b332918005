import { z } from 'zod';
import type { Operation } from '#lib/contract/operation.ts';

const uuid = '0b9fb3e4-6d2a-4f0b-9d53-1f5d6a3c2b10';
const texts = ['text', '2030-01-31T08:00:00.000Z', uuid, 'de-DE', '7', 'Europe/Berlin'];

/** A value that fits the schema; throws for a schema it has no value for, so that a new kind of member is noticed. */
export function exampleOf(schema: z.ZodType): unknown {
  const value = build(schema);
  if (!schema.safeParse(value).success) throw new Error(`no example fits: ${JSON.stringify(value)}`);
  return value;
}

function build(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return build(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodObject) {
    const { success_count: counted } = schema.shape;
    const members = Object.entries(schema.shape).map(([name, one]) => [name, build(one as z.ZodType)]);
    return { ...Object.fromEntries(members), ...(counted === undefined ? {} : { success_count: 1, failure_count: 0 }) };
  }
  if (schema instanceof z.ZodArray) return [build(schema.element as z.ZodType)];
  if (schema instanceof z.ZodPipe) return build(schema.out as z.ZodType);
  if (schema instanceof z.ZodUnion) return build(schema.options[0] as z.ZodType);
  const candidates = [...texts, 1, 0, true, [], {}, ...words(schema)];
  const found = candidates.find((one) => schema.safeParse(one).success);
  if (found === undefined) throw new Error(`no example for ${schema._zod.def.type}`);
  return found;
}

const words = (schema: z.ZodType): readonly unknown[] =>
  schema instanceof z.ZodEnum ? schema.options : schema instanceof z.ZodLiteral ? [...schema.values] : [];

/** Status and body of the operation's success. */
export function successOf(operation: Operation): { readonly status: number; readonly body: unknown } {
  const [status, spec] = Object.entries(operation.responses).find(([code]) => code.startsWith('2')) ?? [
    '204',
    undefined,
  ];
  return { status: Number(status), body: spec?.schema === undefined ? undefined : exampleOf(spec.schema) };
}

/** The input of a call: every id is 7, every other text fits. */
export function inputOf(operation: Operation, signal: AbortSignal) {
  return {
    ...(operation.params === undefined ? {} : { params: exampleOf(textual(operation.params)) }),
    ...(operation.body?.schema === undefined || operation.body.optional === true
      ? {}
      : { body: operation.body.items === undefined ? build(operation.body.schema) : [build(operation.body.items)] }),
    signal,
  };
}

const textual = (params: z.ZodObject): z.ZodType =>
  z.object(
    Object.fromEntries(
      Object.entries(params.shape).map(([name, one]) => [name, z.literal(pathText(one as z.ZodType))]),
    ),
  );

const pathText = (schema: z.ZodType): string => ['7', uuid].find((one) => schema.safeParse(one).success) ?? 'text';

type Path = readonly (string | number)[];

/** Every member of a JSON value, the whole first. */
export function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([name, one]) => pathsIn(one, [...path, name]))];
}

/** The value with the member at the path replaced; `undefined` removes it. */
export function replaced(value: unknown, path: Path, change: (old: unknown) => unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return change(value);
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  const at = copy as Record<string | number, unknown>;
  const next = replaced(at[name], rest, change);
  if (next === undefined && Array.isArray(copy)) copy.splice(Number(name), 1);
  else if (next === undefined) delete at[name];
  else at[name] = next;
  return copy;
}

/** How a member can come back other than described. */
export const changes: Readonly<Record<string, (old: unknown) => unknown>> = {
  removed: () => undefined,
  'as null': () => null,
  'as text': (old) => (typeof old === 'string' ? 'a word nobody listed' : String(old)),
  'as a number': (old) => (typeof old === 'number' ? -0.5 : 12),
  'as a truth value': (old) => old !== true,
  'as an object': () => ({ toString: 1, __proto__: null }),
  'as a list': () => [],
  doubled: (old) => [old, old],
  'wrapped in data': (old) => ({ data: old }),
  'wrapped in a list': (old) => [old],
  'with unknown members': (old) => (isPlain(old) ? { ...old, added_in_09: [{ deep: true }] } : old),
};

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The JSON text with the first member given twice. */
export const memberTwice = (text: string): string => text.replace(/("\w+":(?:"[^"]*"|\d+|null|true|false))/, '$1,$1');
