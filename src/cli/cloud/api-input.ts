import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { parseJson } from '#cloud/client/index.ts';
import { cloudOperations } from '#cloud/contract/index.ts';
import type { BodySpec, Operation } from '#lib/contract/operation.ts';

/** Every operation, in the order of the contract. */
export const operations: readonly Operation[] = Object.values(cloudOperations);

/** `createSite` is `create-site`, `audio_message_id` is `audio-message-id`. */
export const kebab = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (upper) => `-${upper.toLowerCase()}`).replaceAll('_', '-');

export const pathNames = ({ path }: Operation): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');

export interface QueryOption {
  readonly flag: string;
  readonly description: string;
  /** The name may stand several times. */
  readonly collect: boolean;
}

export function queryOptions({ query }: Operation): QueryOption[] {
  return Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    const one = schema as z.ZodType;
    return {
      flag: `--${kebab(name)} <${kebab(name)}>`,
      description: one.description ?? hints[name] ?? name,
      collect: one.safeParse(['text']).success,
    };
  });
}

/** Members of queries the contract says nothing about. */
const hints: Readonly<Record<string, string>> = {
  startDate: 'From this moment on, ISO 8601.',
  endDate: 'Up to this moment, ISO 8601.',
  limit: 'Most entries to return.',
  offset: 'Entries to skip.',
};

/** The query as the wire knows it, from options as the command line knows them; what is not given is left out. */
export function queryOf({ query }: Operation, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = Object.keys(query?.shape ?? {});
  return Object.fromEntries(
    names.map((name) => [name, given[name]]).filter(([, value]) => value !== undefined && !isEmpty(value)),
  );
}

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const secretMembers = ['assertion', 'client_secret'] as const;

/** The name of a secret among `--set`: arguments are for everyone to see. */
export const takesSecret = (given: Readonly<Record<string, unknown>>): string | undefined =>
  secretMembers.find((name) => setsOf(given).some((text) => text.startsWith(`${name}=`)));

const setsOf = ({ set }: Readonly<Record<string, unknown>>): readonly string[] =>
  Array.isArray(set) ? set.map(String) : [];

/** Body from `--set`, or from a file or standard input. Throws an Error that says what is wrong with it. */
export async function bodyOf({ body }: Operation, given: Readonly<Record<string, unknown>>): Promise<unknown> {
  const sets = setsOf(given);
  const { body: file } = given;
  if (body === undefined || (sets.length === 0 && file === undefined)) return undefined;
  if (file === undefined) return fromSets(body, sets);
  if (sets.length > 0) throw new Error('--body and --set exclude each other');
  const content = file === '-' ? await text(process.stdin) : await readFile(String(file), 'utf8');
  const parsed = parseJson(content);
  if (parsed === undefined) throw new Error(`${file === '-' ? 'standard input' : file} holds no JSON`);
  return parsed;
}

/** The members of a body, one a line, for the help of its verb; empty for one the contract does not describe. */
export function bodyMembers({ body }: Operation): readonly (readonly [name: string, said: string])[] {
  const shape = shapeOf(body?.items ?? body?.schema);
  return Object.entries(shape).map(([name, schema]) => {
    const needed = schema.safeParse(undefined).success ? '' : 'needed';
    const words = [formOf(schema), needed, schema.description ?? ''].filter((word) => word !== '');
    return [name, words.join('; ')];
  });
}

/** What may be written behind `name=`. */
function formOf(schema: z.ZodType): string {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return formOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodEnum) return schema.options.join(', ');
  if (schema instanceof z.ZodLiteral) return [...schema.values].join(', ');
  const { type } = schema._zod.def;
  if (type === 'string') return 'text';
  if (type === 'number' || type === 'int') return 'number';
  if (type === 'boolean') return 'true or false';
  return type === 'array' || type === 'object' || type === 'record' ? `JSON (${type})` : 'JSON';
}

/** One object; for a bulk call a list of that one item. */
function fromSets(body: BodySpec, sets: readonly string[]): unknown {
  const shape = shapeOf(body.items ?? body.schema);
  const members = sets.map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw new Error(`--set ${pair} is no name=value`);
    const name = pair.slice(0, at);
    return [name, valueOfText(pair.slice(at + 1), shape[name])];
  });
  const item: unknown = Object.fromEntries(members);
  return body.items === undefined ? item : [item];
}

/** Where the contract wants text, it is text as written; everywhere else JSON, or text that is no JSON. */
function valueOfText(given: string, schema: z.ZodType | undefined): unknown {
  if (schema !== undefined && isText(schema)) return given;
  const value = parseJson(given);
  return value === undefined ? given : value;
}

function isText(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return isText(schema.unwrap() as z.ZodType);
  return schema._zod.def.type === 'string' || schema._zod.def.type === 'enum';
}

function shapeOf(schema: z.ZodType | undefined): Readonly<Record<string, z.ZodType>> {
  return schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>) : {};
}
