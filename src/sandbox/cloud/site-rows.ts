import type { SiteRow } from '#cloud/contract/index.ts';
import { type Column, ownColumns, type SiteSource } from './site-columns.ts';
import { type Filter, type SiteQuery, timeOf } from './site-query.ts';

type Value = string | number | null;

/**
 * The rows of a list: filtered, sorted, cut, reduced to the fields asked for. Pure. Regular expressions take time in
 * proportion to the text they search, but that can be much: `mayGoOn` is asked before each row, and when it says no the
 * result is undefined.
 */
export function selectSites(
  sources: readonly SiteSource[],
  query: SiteQuery,
  mayGoOn: () => boolean = () => true,
): SiteRow[] | undefined {
  const fitting: SiteSource[] = [];
  for (const source of sources) {
    if (!mayGoOn()) return undefined;
    if (query.filters.every((filter) => holds(filter, source))) fitting.push(source);
  }
  return fitting
    .sort(orderOf(query))
    .slice(query.offset, query.offset + query.limit)
    .map((source) => Object.fromEntries(query.fields.map((column) => [column.key, column.of(source)])));
}

/** What is not there fits only `neq` (S-085). */
function holds({ column, operator, value, pattern }: Filter, source: SiteSource): boolean {
  const found = column.of(source);
  if (found === null) return operator === 'neq';
  if (operator === 'regex') return pattern?.matcher(String(found)).find() === true;
  const order = compare(comparable(column, found), comparable(column, value));
  switch (operator) {
    case 'eq':
      return order === 0;
    case 'neq':
      return order !== 0;
    case 'lt':
      return order < 0;
    case 'lte':
      return order <= 0;
    case 'gt':
      return order > 0;
    case 'gte':
      return order >= 0;
  }
}

/** Numbers and instants as numbers, other text as it is: its order is that of its code units (S-085). */
function comparable({ kind }: Column, value: string | number): string | number {
  if (kind === 'number') return Number(value);
  return kind === 'time' ? timeOf(String(value)) : String(value);
}

const compare = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);

/** Nulls first in ascending order, ties by site_id (S-088). */
function orderOf({ sort, descending }: SiteQuery): (a: SiteSource, b: SiteSource) => number {
  const [siteId] = ownColumns;
  return (a, b) => {
    const order = compareValues(sort, sort.of(a), sort.of(b)) * (descending ? -1 : 1);
    return order === 0 ? compareValues(siteId, siteId.of(a), siteId.of(b)) : order;
  };
}

function compareValues(column: Column, a: Value, b: Value): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  return compare(comparable(column, a), comparable(column, b));
}
