import { isObject, type JsonObject, parseJson } from '#cloud/client/index.ts';
import type { WireAnswer } from '#lib/contract/client.ts';
import { printable, table } from '../table.ts';

/** The answer as text for standard output, and as JSON; undefined where it is none. */
export function shown(answer: WireAnswer, json: boolean): { readonly text: string; readonly raw: unknown } {
  const body = new TextDecoder().decode(answer.body);
  const raw = masked(parseJson(body));
  if (json) return { text: JSON.stringify(raw ?? null), raw };
  if (raw !== undefined) return { text: readable(raw), raw };
  const type = answer.headers['content-type'] ?? 'no type';
  return { text: answer.body.length === 0 ? 'done' : `${answer.body.length} bytes of ${printable(type)}`, raw };
}

/** Text of another kind, most often a page of HTML: it does not come from the cloud, whatever its status says. */
export function isForeign({ body, headers }: WireAnswer): boolean {
  const text = new TextDecoder().decode(body);
  return text.trim() !== '' && parseJson(text) === undefined && !/^image\//i.test(headers['content-type'] ?? '');
}

const failure: ReadonlySet<unknown> = new Set([false, 0, 'false', '0']);

/** How many items of a bulk answer failed, its results bare or wrapped (S-194). */
export function failedItems(raw: unknown): number {
  const places = [raw, isObject(raw) ? raw.data : undefined];
  const results = places.map((one) => (isObject(one) ? one.results : one)).find((one) => Array.isArray(one)) ?? [];
  return results.filter((one) => isObject(one) && failure.has(one.is_successful)).length;
}

const secretNames: ReadonlySet<string> = new Set(['access_token', 'refresh_token', 'client_secret']);

/** A token is for the machine that asked for it, not for a screen or a log; also inside `data` (S-194). */
function masked(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      secretNames.has(name) ? '[secret]' : name === 'data' ? masked(member) : member,
    ]),
  );
}

export function readable(raw: unknown): string {
  const value = isObject(raw) && Object.keys(raw).length === 1 && 'data' in raw ? raw.data : raw;
  if (Array.isArray(value)) return list(value);
  if (!isObject(value)) return cell(value);
  const nested = Object.entries(value).filter(([, member]) => isListOfRecords(member));
  const plain = Object.entries(value).filter(([, member]) => !isListOfRecords(member));
  const parts = [
    plain.length === 0 ? '' : table(plain.map(([name, member]) => [name, cell(member)])),
    ...nested.map(([name, member]) => `${printable(name)}:\n${list(member as unknown[])}`),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** A table of what any row holds; columns that are empty everywhere are left out. */
function list(rows: readonly unknown[]): string {
  if (rows.length === 0) return 'none';
  if (!isListOfRecords(rows)) return rows.map(cell).join('\n');
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = names.filter((name) => rows.some((row) => cell(row[name]) !== ''));
  return table([columns, ...rows.map((row) => columns.map((name) => cell(row[name])))]);
}

const cell = (value: unknown): string =>
  value === null || value === undefined
    ? ''
    : printable(typeof value === 'object' ? JSON.stringify(value) : String(value));

const isListOfRecords = (value: unknown): value is readonly JsonObject[] =>
  Array.isArray(value) && value.length > 0 && value.every(isObject);
