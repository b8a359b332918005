import { RE2JS } from 're2js';
import {
  type FilterOperator,
  filterOperators,
  instant,
  type ServerDialect,
  type SiteListQuery,
  siteListCaps,
} from '#cloud/contract/index.ts';
import type { FieldError } from './answers.ts';
import { type Column, columnNamed, ownColumns } from './site-columns.ts';

/** One `filter`; all of them must hold (S-082). */
export interface Filter {
  readonly column: Column;
  readonly operator: FilterOperator;
  readonly value: string;
  /** For `regex`: a linear-time machine (S-086). */
  readonly pattern?: RE2JS;
}

/** The list grammar of section 4.3.1, read. */
export interface SiteQuery {
  readonly fields: readonly Column[];
  readonly filters: readonly Filter[];
  readonly sort: Column;
  readonly descending: boolean;
  readonly limit: number;
  readonly offset: number;
}

type Read<T> = { readonly value: T } | { readonly problem: string };
const problem = (text: string) => ({ problem: text });

/** Reads a query that has each name but `filter` at most once. Pure; every wrong parameter is one error (S-081 to S-090). */
export function readSiteQuery(
  query: SiteListQuery,
  options: Pick<ServerDialect, 'over_limit'>,
): SiteQuery | { readonly errors: readonly FieldError[] } {
  const errors: FieldError[] = [];
  const take = <T>(name: string, read: Read<T>, instead: T): T => {
    if ('value' in read) return read.value;
    errors.push({ field: name, message: read.problem });
    return instead;
  };
  const texts = query.filter === undefined ? [] : [query.filter].flat();
  const filters = texts
    .slice(0, siteListCaps.filters)
    .flatMap((text) => take('filter', listOfOne(readFilter(text)), []));
  if (texts.length > siteListCaps.filters) {
    errors.push({ field: 'filter', message: `must be given at most ${siteListCaps.filters} times` });
  }
  const [siteId] = ownColumns;
  const result: SiteQuery = {
    fields: take('fields', readFields(query.fields), ownColumns),
    filters,
    sort: take('sort', query.sort === undefined ? { value: siteId } : readColumn(query.sort), siteId),
    descending: take('dir', readDirection(query.dir), false),
    limit: take('limit', readLimit(query.limit, options.over_limit), siteListCaps.limit),
    offset: take('offset', readOffset(query.offset), 0),
  };
  return errors.length === 0 ? result : { errors };
}

const listOfOne = <T>(read: Read<T>): Read<T[]> => ('value' in read ? { value: [read.value] } : read);

function readColumn(name: string): Read<Column> {
  const column = columnNamed(name);
  return column === undefined ? problem(`has no column ${JSON.stringify(name.slice(0, 64))}`) : { value: column };
}

/** Blanks around names do not count, nor does a name given again; an empty value is an absent one (S-081). */
function readFields(text: string | undefined): Read<readonly Column[]> {
  if (text === undefined || text.trim() === '') return { value: ownColumns };
  const columns = new Map<string, Column>();
  for (const name of text.split(',')) {
    const column = readColumn(name.trim());
    if ('problem' in column) return column;
    columns.set(column.value.key, column.value);
  }
  return { value: [...columns.values()] };
}

/** `column,value` or `column,value,operator`; the value keeps its commas when the operator is named (S-083). */
function readFilter(text: string): Read<Filter> {
  const [name = '', ...rest] = text.split(',');
  if (rest.length === 0) return problem('must be column,value,operator');
  const named = rest.length === 1 ? 'eq' : (rest.at(-1) ?? '');
  const operator = filterOperators.find((known) => known === named);
  if (operator === undefined) {
    return problem(`must end with an operator, one of ${filterOperators.join(', ')}, when the value has a comma`);
  }
  const column = readColumn(name);
  if ('problem' in column) return column;
  const value = rest.length === 1 ? (rest[0] ?? '') : rest.slice(0, -1).join(',');
  return operator === 'regex' ? readPattern(column.value, value) : readValue(column.value, value, operator);
}

function readValue(column: Column, value: string, operator: FilterOperator): Read<Filter> {
  if (column.kind === 'number' && !/^-?\d+(\.\d+)?$/.test(value)) {
    return problem(`needs a decimal number for the column ${column.key}`);
  }
  if (column.kind === 'time' && Number.isNaN(timeOf(value))) {
    return problem(`needs an ISO 8601 time for the column ${column.key}`);
  }
  return { value: { column, operator, value } };
}

function readPattern(column: Column, value: string): Read<Filter> {
  if (column.kind === 'number') return problem(`has no regex for the number column ${column.key}`);
  if (value.length > siteListCaps.regex) return problem(`has a regex of more than ${siteListCaps.regex} characters`);
  try {
    return { value: { column, operator: 'regex', value, pattern: RE2JS.compile(value) } };
  } catch (error) {
    return problem(`has a regex outside RE2 syntax: ${error instanceof Error ? error.message : 'not readable'}`);
  }
}

/** Exact words only (S-088). */
function readDirection(text: string | undefined): Read<boolean> {
  if (text === undefined || text === 'asc') return { value: false };
  return text === 'desc' ? { value: true } : problem('must be asc or desc');
}

function readLimit(text: string | undefined, over: ServerDialect['over_limit']): Read<number> {
  const { limit } = siteListCaps;
  if (text === undefined) return { value: limit };
  const wrong = problem(`must be a whole number from 1 to ${limit}`);
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (value < 1 || (value > limit && over === 'refuse')) return wrong;
  return { value: Math.min(value, limit) };
}

function readOffset(text: string | undefined): Read<number> {
  if (text === undefined) return { value: 0 };
  return /^\d+$/.test(text) ? { value: Number(text) } : problem('must be a whole number, 0 or more');
}

/** Milliseconds; both forms of the service are read, without a zone as UTC (S-018). NaN for anything else. */
export function timeOf(text: string): number {
  if (!/^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/.test(text)) return Number.NaN;
  return instant(text.replace(' ', 'T'));
}

/** Names with an escape that cannot be decoded, which is no value at all (S-092). `search` starts with `?` or is empty. */
export function brokenNames(search: string): string[] {
  const broken = search
    .slice(1)
    .split('&')
    .filter((pair) => !isDecodable(pair));
  return [...new Set(broken.map((pair) => /^[\w.]{1,64}(?==)/.exec(pair)?.[0] ?? 'query'))];
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
