import { isObject, type JsonObject, objectOf } from './json.ts';
import type { Note } from './reading.ts';

export interface BulkDone<In> {
  readonly input: In;
  /** What the service says of the item: perhaps a part of it, to be merged, never to replace (S-138). Ids as they came. */
  readonly res: Readonly<Record<string, unknown>>;
}

export interface BulkFailed<In> {
  readonly input: In;
  /** Absent when the service said nothing about the item. */
  readonly status?: number;
  readonly message: string;
}

type NonEmpty<T> = readonly [T, ...T[]];

/** What became of each item. The ones that went through come only past a handler for those that did not (S-122). */
export interface BulkOutcome<In> {
  readonly allOk: boolean;
  readonly failed: readonly BulkFailed<In>[];
  /** `onFailed` is called when there are any, before this returns; it may throw. */
  succeeded(onFailed: (failed: NonEmpty<BulkFailed<In>>) => void): readonly BulkDone<In>[];
}

export function bulkOutcome<In>(done: readonly BulkDone<In>[], failed: readonly BulkFailed<In>[]): BulkOutcome<In> {
  return {
    allOk: failed.length === 0,
    failed,
    succeeded(onFailed) {
      const [first, ...rest] = failed;
      if (first !== undefined) onFailed([first, ...rest]);
      return done;
    },
  };
}

/**
 * Matches the results of a bulk call with its items: by the id an entry echoes first, by position second (S-128).
 * `keys` are the members that may hold the item's id. An item without an entry has failed: nothing says it was done.
 */
export function matchBulk<In>(
  raw: unknown,
  items: readonly { readonly input: In; readonly key: string }[],
  { keys, note }: { readonly keys: readonly string[]; readonly note: Note },
): { readonly done: readonly BulkDone<In>[]; readonly failed: readonly BulkFailed<In>[] } {
  const entries = entriesOf(raw, note);
  checkCounts(raw, entries, note);
  const claimed = new Map<number, JsonObject>();
  const keyless: [position: number, entry: JsonObject][] = [];
  for (const [position, entry] of entries.entries()) {
    const key = keyOf(entry, keys);
    const index = key === undefined ? -1 : items.findIndex((item, i) => item.key === key && !claimed.has(i));
    if (index >= 0) claimed.set(index, entry);
    else if (key === undefined) keyless.push([position, entry]);
    else note('results[].req', 'value');
  }
  for (const [position, entry] of keyless) {
    if (position < items.length && !claimed.has(position)) claimed.set(position, entry);
    else note('results[]', 'value');
  }
  const done: BulkDone<In>[] = [];
  const failed: BulkFailed<In>[] = [];
  for (const [index, { input }] of items.entries()) {
    const entry = claimed.get(index);
    if (entry === undefined) failed.push({ input, message: 'the answer says nothing about this item' });
    else if (isSuccess(entry)) done.push({ input, res: membersOf(entry.res) });
    else failed.push({ input, ...statusOf(entry), message: textOf(entry) });
  }
  return { done, failed };
}

function entriesOf(raw: unknown, note: Note): readonly JsonObject[] {
  const outer = membersOf(raw);
  const found = [outer.results, membersOf(outer.data).results, raw, outer.data].find((one) => Array.isArray(one));
  if (found === undefined) note('results', raw === undefined ? 'missing' : 'type');
  else if (found !== outer.results) note('results', 'wrapped');
  const list: readonly unknown[] = Array.isArray(found) ? found : [];
  if (list.some((one) => !isObject(one))) note('results[]', 'type');
  // A position counts in the list as it came.
  return list.map(membersOf);
}

/** Counts that disagree with the results: the results win (S-128). */
function checkCounts(raw: unknown, entries: readonly JsonObject[], note: Note): void {
  const outer = membersOf(raw);
  const successes = entries.filter(isSuccess).length;
  if (outer.success_count !== undefined && outer.success_count !== successes) note('success_count', 'value');
  if (outer.failure_count !== undefined && outer.failure_count !== entries.length - successes)
    note('failure_count', 'value');
}

const yes: ReadonlySet<unknown> = new Set([true, 1, '1', 'true']);
const no: ReadonlySet<unknown> = new Set([false, 0, '0', 'false']);

/** Without a clear word, a status or a message means failure, and a result success. */
function isSuccess(entry: JsonObject): boolean {
  const { is_successful: said } = entry;
  const word = typeof said === 'string' ? said.toLowerCase() : said;
  if (no.has(word)) return false;
  if (yes.has(word)) return true;
  return isObject(entry.res) && entry.status_code === undefined && entry.error_message === undefined;
}

function keyOf(entry: JsonObject, keys: readonly string[]): string | undefined {
  for (const place of [membersOf(entry.req), membersOf(entry.res)]) {
    for (const name of keys) {
      const key = place[name];
      if (typeof key === 'string' || typeof key === 'number') return String(key);
    }
  }
  // An echo may be the id alone.
  return typeof entry.req === 'string' || typeof entry.req === 'number' ? String(entry.req) : undefined;
}

function statusOf({ status_code }: JsonObject): { readonly status?: number } {
  const status = Number(status_code);
  return Number.isInteger(status) && status >= 100 && status <= 599 ? { status } : {};
}

const textOf = ({ error_message, message }: JsonObject): string =>
  [error_message, message]
    .find((text) => typeof text === 'string' && text !== '')
    ?.toString()
    .slice(0, 500) ?? 'the answer gives no reason';

const membersOf = (value: unknown): JsonObject => objectOf(value) ?? {};
