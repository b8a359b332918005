import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, stringify, type YAMLSeq } from 'yaml';

/** Changes of a text of the configuration at the places that the YAML library tells; undefined where it does not know how. */

/** Members of an entry, in the order in which they are written; undefined takes a member away. */
export type Members = Readonly<Record<string, unknown>>;

export const isMapping = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function spliceRemoveSection(document: Document, text: string, section: string): string | undefined {
  const root = document.contents;
  const pair = isMap(root) && root.flow !== true ? pairOf(root.items, section) : undefined;
  const [from, end] = [startOf(pair?.key), endOf(text, pair?.value)];
  if (from === undefined || end === undefined || indentBefore(text, from) === undefined) return undefined;
  return withoutLines(text, from, end);
}

export function spliceAdd(document: Document, text: string, section: string, entry: Members): string | undefined {
  const root = document.contents;
  if (!isMap(root) || root.flow === true) return undefined;
  const eol = lineEndOf(text);
  const pair = pairOf(root.items, section);
  if (pair === undefined) {
    const before = text === '' || text.endsWith('\n') ? text : text + eol;
    return `${before}${section}:${eol}${blockEntry(entry, '  ', eol)}${eol}`;
  }
  const list = pair.value;
  const last = isSeq(list) ? list.items.at(-1) : undefined;
  if (!isSeq(list) || last === undefined) {
    const emptied = withoutEmpty(text, pair);
    const at = emptied === undefined ? undefined : lineEnd(emptied, pair.key.range?.[1] ?? 0);
    if (emptied === undefined || at === undefined) return undefined;
    return `${emptied.slice(0, at)}${eol}${blockEntry(entry, '  ', eol)}${emptied.slice(at)}`;
  }
  return spliceLast(text, list, entry);
}

/** With an item behind the last one of a list. */
export function spliceLast(text: string, list: YAMLSeq, item: unknown): string | undefined {
  const last = list.items.at(-1);
  const end = endOf(text, last);
  const start = startOf(last);
  const eol = lineEndOf(text);
  if (end === undefined || start === undefined) return undefined;
  if (list.flow === true) {
    const indent = indentBefore(text, start);
    return `${text.slice(0, end)},${indent === undefined ? ' ' : `${eol}${indent}`}${flow(item)}${text.slice(end)}`;
  }
  const dash = dashOf(text, start);
  const indent = dash === undefined ? undefined : indentBefore(text, dash);
  if (indent === undefined) return undefined;
  const at = lineEnd(text, end);
  const asFlow = !isMapping(item) || (isMap(last) && last.flow === true);
  const lines = asFlow ? `${indent}- ${flow(item)}` : blockEntry(item as Members, indent, eol);
  return `${text.slice(0, at)}${eol}${lines}${text.slice(at)}`;
}

/** The text without the `[]` of an empty list, so that only the key and its comment stand there. */
function withoutEmpty(text: string, pair: FoundPair): string | undefined {
  const { value } = pair;
  if (isSeq(value) && value.range) {
    const [start, end] = value.range;
    const before = text.slice(0, start).replace(/[ \t]+$/, '');
    return /^\[\s*\]$/.test(text.slice(start, end)) ? before + text.slice(end) : undefined;
  }
  return value === null || (isScalar(value) && value.value === null && value.source === '') ? text : undefined;
}

export function spliceMember(
  document: Document,
  text: string,
  path: readonly (string | number)[],
  key: string,
  value: unknown,
): string | undefined {
  const map = document.getIn(path, true);
  if (!isMap(map)) return undefined;
  const at = map.items.findIndex((item) => isScalar(item.key) && item.key.value === key);
  const pair = asFound(map.items[at]);
  if (pair === undefined)
    return value === undefined ? text : spliceNewMember(map.items, map.flow === true, text, key, value);
  const [start, end] = [startOf(pair.value), endOf(text, pair.value)];
  if (start === undefined || end === undefined) return undefined;
  if (end <= start) return value === undefined ? undefined : behindColon(text, pair.key, value);
  if (value !== undefined) return text.slice(0, start) + flow(value) + text.slice(end);
  const [from, before, after] = [startOf(pair.key), asFound(map.items[at - 1]), asFound(map.items[at + 1])];
  if (from === undefined) return undefined;
  if (map.flow === true) {
    if (standsAlone(text, from, end)) return withoutLines(text, from, end);
    const cut = before === undefined ? [from, after && startOf(after.key)] : [endOf(text, before.value), end];
    return cut[0] === undefined || cut[1] === undefined ? undefined : text.slice(0, cut[0]) + text.slice(cut[1]);
  }
  return indentBefore(text, from) === undefined ? undefined : withoutLines(text, from, end);
}

/** Of a key without a value, whose comment may stand behind it. */
function behindColon(text: string, key: Node, value: unknown): string {
  const at = text.indexOf(':', key.range?.[1] ?? 0) + 1;
  return `${text.slice(0, at)} ${flow(value)}${text.slice(at)}`;
}

function spliceNewMember(
  items: readonly Pair[],
  isFlow: boolean,
  text: string,
  key: string,
  value: unknown,
): string | undefined {
  const [first, last] = [asFound(items[0]), asFound(items.at(-1))];
  const end = endOf(text, last?.value ?? null);
  const start = first === undefined ? undefined : startOf(first.key);
  if (start === undefined || end === undefined) return undefined;
  if (isFlow) return `${text.slice(0, end)}, ${key}: ${flow(value)}${text.slice(end)}`;
  const at = lineEnd(text, end);
  const column = start - (text.lastIndexOf('\n', start - 1) + 1);
  return `${text.slice(0, at)}${lineEndOf(text)}${' '.repeat(column)}${key}: ${flow(value)}${text.slice(at)}`;
}

export function spliceRemove(document: Document, text: string, section: string, index: number): string | undefined {
  const root = document.contents;
  const pair = isMap(root) ? pairOf(root.items, section) : undefined;
  const list = pair?.value;
  if (pair === undefined || !isSeq(list)) return undefined;
  const rest = withoutItem(text, list, index);
  if (rest === undefined || list.flow === true || list.items.length > 1) return rest;
  const colon = text.indexOf(':', pair.key.range?.[1] ?? 0) + 1;
  return `${rest.slice(0, colon)} []${rest.slice(colon)}`;
}

export function withoutItem(text: string, list: YAMLSeq, index: number): string | undefined {
  const item = list.items[index];
  const [start, end] = [startOf(item), endOf(text, item)];
  if (start === undefined || end === undefined) return undefined;
  if (list.flow === true) return cutFromFlow(text, list, index);
  const dash = dashOf(text, start);
  return dash === undefined || indentBefore(text, dash) === undefined ? undefined : withoutLines(text, dash, end);
}

function cutFromFlow(text: string, list: YAMLSeq, index: number): string | undefined {
  const [before, item, after] = [list.items[index - 1], list.items[index], list.items[index + 1]];
  const from = before === undefined ? startOf(item) : endOf(text, before);
  const to = before === undefined && after !== undefined ? startOf(after) : endOf(text, item);
  return from === undefined || to === undefined ? undefined : text.slice(0, from) + text.slice(to);
}

interface FoundPair {
  readonly key: Node;
  readonly value: unknown;
}

const asFound = (pair: Pair | undefined): FoundPair | undefined =>
  pair !== undefined && isScalar(pair.key) ? { key: pair.key, value: pair.value } : undefined;

const pairOf = (items: readonly Pair[], key: string): FoundPair | undefined =>
  asFound(items.find((item) => isScalar(item.key) && item.key.value === key));

const startOf = (node: unknown): number | undefined =>
  isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? (node.range?.[0] ?? undefined) : undefined;

/**
 * Behind the last character of a value; the ranges of block collections reach over comments and blanks, those of block
 * scalars over the end of their last line.
 */
function endOf(text: string, node: unknown): number | undefined {
  if (isScalar(node) || isAlias(node)) {
    let end = node.range?.[1];
    if (isScalar(node) && node.type?.startsWith('BLOCK') === true)
      while (end !== undefined && '\r\n'.includes(text.charAt(end - 1))) end -= 1;
    return end;
  }
  if (!isMap(node) && !isSeq(node)) return undefined;
  if (node.flow === true) return node.range?.[1];
  const last = node.items.at(-1);
  return isMap(node) ? endOf(text, asFound(last as Pair)?.value) : endOf(text, last);
}

/** The dash of an entry of a block list: in its line, or in one above with nothing but comments between. */
function dashOf(text: string, start: number): number | undefined {
  for (let end = start; end > 0; ) {
    const from = text.lastIndexOf('\n', end - 1) + 1;
    const line = text.slice(from, end).replace(/#.*$/s, '').trimEnd();
    if (line.trim() !== '') return line.endsWith('-') ? from + line.length - 1 : undefined;
    end = from - 1;
  }
  return undefined;
}

/** The blanks before a position, when nothing else stands before it in its line. */
const indentBefore = (text: string, at: number): string | undefined => /(?:^|\n)([ \t]*)$/.exec(text.slice(0, at))?.[1];

/** Whether nothing else stands in its lines: then its comma and its comment go with it, and a comma behind the last one does no harm. */
const standsAlone = (text: string, from: number, end: number): boolean =>
  indentBefore(text, from) !== undefined && /^[ \t]*,?[ \t]*(#.*)?\r?$/.test(text.slice(end, lineEnd(text, end)));

/** Where the line ends in which `at` stands, its comment included. */
function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  if (end === -1) return text.length;
  return text[end - 1] === '\r' ? end - 1 : end;
}

/** Without all lines from the one of `from` to the one of `to`. */
function withoutLines(text: string, from: number, to: number): string {
  const end = text.indexOf('\n', to);
  return text.slice(0, text.lastIndexOf('\n', from - 1) + 1) + (end === -1 ? '' : text.slice(end + 1));
}

export const lineEndOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');

export const flow = (value: unknown): string => stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd();

export function blockEntry(entry: Members, indent: string, eol: string): string {
  const members = Object.entries(entry).filter(([, value]) => value !== undefined);
  return members
    .flatMap(([key, value], at) => {
      const start = `${indent}${at === 0 ? '- ' : '  '}${key}:`;
      // A list of things, such as channels: a line for each.
      const isList = Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'object');
      return isList ? [start, ...value.map((item) => `${indent}    - ${flow(item)}`)] : [`${start} ${flow(value)}`];
    })
    .join(eol);
}
