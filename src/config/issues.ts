import { z } from 'zod';
import type { ConfigDocument } from './document.ts';
import { nearest } from './nearest.ts';
import { type Path, type Problem, pathAndText } from './problem.ts';
import { keysAt, schemasAt } from './shape.ts';

type Issue = z.core.$ZodIssue;
type Said = Pick<Problem, 'message' | 'expected' | 'nearest'>;

/** Turns what the schema found into problems with places; each unknown key is a problem of its own. */
export function problemsOf(document: ConfigDocument, schema: z.ZodType, issues: readonly Issue[]): Problem[] {
  return issues.flatMap((issue) => one(document, schema, issue, []));
}

/** The same for a value that stands in no configuration: `cameras.1.id: is missing, expected text`. */
export function wordsOf(value: unknown, schema: z.ZodType, issues: readonly Issue[]): readonly string[] {
  const nowhere: ConfigDocument = {
    ...{ file: '', value, problems: [], usable: true },
    problem: (path, said) => ({ file: '', line: 1, col: 1, path: path.join('.'), ...said }),
  };
  return problemsOf(nowhere, schema, issues).map(pathAndText);
}

function one(document: ConfigDocument, schema: z.ZodType, issue: Issue, base: Path): Problem[] {
  const path = [...base, ...(issue.path as (string | number)[])];
  if (issue.code === 'unrecognized_keys') {
    const keys = keysAt(schema, path);
    return issue.keys.map((key) => document.problem([...path, key], unknownKey(key, keys), 'key'));
  }
  if (issue.code === 'invalid_key') {
    const message = issue.issues[0]?.message ?? 'is not a valid key';
    return [document.problem(path, { message: own(message) ?? 'is not a valid key' }, 'key')];
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0 && own(issue.message) === undefined) {
    return closest(issue.errors).flatMap((inner) => one(document, schema, inner, path));
  }
  const given = valueAt(document.value, path);
  return [document.problem(path, say(issue, given, schemasAt(schema, path)))];
}

function unknownKey(key: string, keys: readonly string[]): Said {
  const near = nearest(key, keys);
  return {
    message: 'unknown key',
    ...(keys.length > 0 && { expected: `one of ${keys.join(', ')}` }),
    ...(near !== undefined && { nearest: near }),
  };
}

/** Of a union's alternatives, the one the value came nearest to: its first mistake lies deepest, or it has fewest. */
function closest(alternatives: readonly (readonly Issue[])[]): readonly Issue[] {
  const depth = (issues: readonly Issue[]) => Math.min(...issues.map((issue) => issue.path.length));
  const sorted = [...alternatives].sort((a, b) => depth(b) - depth(a) || a.length - b.length);
  return sorted[0] ?? [];
}

function say(issue: Issue, given: unknown, schemas: readonly z.core.$ZodType[]): Said {
  switch (issue.code) {
    case 'invalid_type': {
      const message = own(issue.message);
      if (message !== undefined && given !== undefined) return { message };
      const expected = kinds[issue.expected] ?? issue.expected;
      if (given === undefined) return { message: 'is missing', expected };
      if (given === null) return { message: 'is empty', expected };
      return { message: `is ${kindOf(given)}`, expected: `${expected}${asText(given, schemas)}` };
    }
    case 'invalid_value':
      return choice(issue.values.map(String), given);
    case 'invalid_union':
      if ('options' in issue && Array.isArray(issue.options)) return choice(issue.options.map(String), given);
      return given === undefined ? { message: 'is missing', expected: issue.message } : { message: issue.message };
    case 'too_small':
      if (given === '' && own(issue.message) === undefined) return { message: 'is empty', expected: 'text' };
      return {
        message: own(issue.message) ?? 'is too small',
        expected: `at least ${issue.minimum}${unit(issue.origin)}`,
      };
    case 'too_big':
      return {
        message: own(issue.message) ?? 'is too large',
        expected: `at most ${issue.maximum}${unit(issue.origin)}`,
      };
    default:
      return formless(own(issue.message), schemas);
  }
}

/** Without words of its own, a rule is explained by the description of the key. */
function formless(message: string | undefined, schemas: readonly z.core.$ZodType[]): Said {
  if (message !== undefined) return { message };
  const description = schemas
    .map((schema) => z.globalRegistry.get(schema)?.description)
    .find((text) => text !== undefined);
  return { message: 'does not have the expected form', ...(description !== undefined && { expected: description }) };
}

/** How a number or boolean has to be written to be taken as the text it was meant to be. */
function asText(given: unknown, schemas: readonly z.core.$ZodType[]): string {
  if (typeof given !== 'number' && typeof given !== 'boolean') return '';
  const fits = (text: string) => schemas.some((schema) => z.safeParse(schema, text).success);
  if (fits(String(given))) return '; write it in quotes';
  for (const unit of ['s', 'MB']) if (fits(`${given}${unit}`)) return ` with a unit, such as ${given}${unit}`;
  return '';
}

function choice(values: readonly string[], given: unknown): Said {
  const expected = values.length === 1 ? `"${values[0]}"` : `one of ${values.join(', ')}`;
  if (given === undefined) return { message: 'is missing', expected };
  const near = typeof given === 'string' ? nearest(given, values) : undefined;
  return { message: 'is none of the possible values', expected, ...(near !== undefined && { nearest: near }) };
}

/** The schema's own words; the library's default messages are replaced. */
function own(message: string): string | undefined {
  return /^(Invalid|Unrecognized|Too (small|big)|Expected)\b/.test(message) ? undefined : message;
}

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'keys with values',
  record: 'keys with values',
  array: 'a list',
};

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a group of keys';
  return typeof value === 'string' ? 'text' : typeof value === 'number' ? 'a number' : 'true or false';
}

const unit = (origin: string): string =>
  origin === 'string' ? ' characters' : origin === 'array' || origin === 'set' ? ' entries' : '';

export function valueAt(value: unknown, path: Path): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part)) return undefined;
    current = (current as Record<string | number, unknown>)[part];
  }
  return current;
}
