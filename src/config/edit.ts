import { isDeepStrictEqual } from 'node:util';
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  stringify,
  type YAMLSeq,
} from 'yaml';
import { SitewardError } from '#errors.ts';
import { parseConfig } from './document.ts';

/**
 * Changes one entry of a list of the configuration, and nothing else: every other line stays as it was, byte for byte,
 * with its comments. Where a file is written so oddly that this is not possible, the whole is written anew by the YAML
 * library, which keeps comments but not blanks. What comes out is read again and must mean what was wanted, or nothing is
 * given back. All functions are pure; they throw `config_invalid` for a text that cannot be edited.
 */

/** Members of an entry, in the order in which they are written; undefined takes a member away. */
export type Members = Readonly<Record<string, unknown>>;

/** Puts an entry at the end of a list, which need not be there yet. */
export function addEntry(text: string, section: string, entry: Members): string {
  return edited(text, {
    splice: (document) => spliceAdd(document, text, section, entry),
    rewrite(document) {
      if (isSeq(document.get(section, true))) document.addIn([section], document.createNode(entry));
      else document.set(section, document.createNode([entry]));
    },
    means: (value) => ({ ...value, [section]: [...listOf(value, section), entry] }),
  });
}

/** Changes members of the entry at `index`. */
export function changeEntry(text: string, section: string, index: number, changes: Members): string {
  return Object.entries(changes).reduce(
    (before, [key, value]) =>
      edited(before, {
        splice: (document) => spliceMember(document, before, [section, index], key, value),
        rewrite(document) {
          if (value === undefined) document.deleteIn([section, index, key]);
          else document.setIn([section, index, key], document.createNode(value));
        },
        means: (all) => ({
          ...all,
          [section]: listOf(all, section).map((entry, at) => (at === index ? withMember(entry, key, value) : entry)),
        }),
      }),
    text,
  );
}

/** Changes members of a section that is no list, and need not be there yet. */
export function changeSection(text: string, section: string, changes: Members): string {
  return Object.entries(changes).reduce(
    (before, [key, value]) =>
      edited(before, {
        splice: (document) =>
          document.has(section)
            ? spliceMember(document, before, [section], key, value)
            : `${before === '' || before.endsWith('\n') ? before : before + lineEndOf(before)}${section}: ${flow({ [key]: value })}${lineEndOf(before)}`,
        rewrite(document) {
          if (value === undefined) document.deleteIn([section, key]);
          else if (isMap(document.get(section, true))) document.setIn([section, key], document.createNode(value));
          else document.set(section, document.createNode({ [key]: value }));
        },
        means: (all) => ({ ...all, [section]: withMember(all[section] ?? {}, key, value) }),
      }),
    text,
  );
}

/** Takes the entry at `index` away, and the comments within it. Comments above it stay. */
export function removeEntry(text: string, section: string, index: number): string {
  return edited(text, {
    splice: (document) => spliceRemove(document, text, section, index),
    rewrite: (document) => void document.deleteIn([section, index]),
    means: (value) => ({ ...value, [section]: listOf(value, section).filter((_, at) => at !== index) }),
  });
}

/** An entry as it would stand in the file. */
export const shownEntry = (section: string, entry: Members): string => `${section}:\n${blockEntry(entry, '  ', '\n')}`;

interface Edit {
  /** Undefined where it does not know how. */
  splice(document: Document): string | undefined;
  rewrite(document: Document): void;
  /** What the file means afterwards. */
  means(value: Record<string, unknown>): unknown;
}

function edited(text: string, edit: Edit): string {
  const before = meaningOf(text);
  if (before === undefined) throw notEditable();
  const wanted = edit.means(before);
  const spliced = edit.splice(parseDocument(text, { logLevel: 'silent' }));
  if (spliced !== undefined && isDeepStrictEqual(meaningOf(spliced), plain(wanted))) return spliced;
  const document = parseDocument(text, { logLevel: 'silent' });
  edit.rewrite(document);
  const rewritten = document.toString({ lineWidth: 0 });
  if (isDeepStrictEqual(meaningOf(rewritten), plain(wanted))) return rewritten;
  throw notEditable();
}

const notEditable = () =>
  new SitewardError(
    'config_invalid',
    'the configuration is written in a way that siteward does not change; edit it by hand',
  );

function meaningOf(text: string): Record<string, unknown> | undefined {
  const { value, usable, problems } = parseConfig('', text);
  if (!usable || problems.length > 0 || !isMapping(value)) return undefined;
  return plain(value) as Record<string, unknown>;
}

const isMapping = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Without members that are undefined, and without prototypes. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function listOf(value: Record<string, unknown>, section: string): readonly unknown[] {
  const list = value[section];
  return Array.isArray(list) ? list : [];
}

const withMember = (entry: unknown, key: string, value: unknown): unknown => ({ ...(entry as object), [key]: value });

function spliceAdd(document: Document, text: string, section: string, entry: Members): string | undefined {
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
  const end = endOf(last);
  const start = startOf(last);
  if (end === undefined || start === undefined) return undefined;
  if (list.flow === true) {
    const indent = indentBefore(text, start);
    return `${text.slice(0, end)},${indent === undefined ? ' ' : `${eol}${indent}`}${flow(entry)}${text.slice(end)}`;
  }
  const dash = dashOf(text, start);
  const indent = dash === undefined ? undefined : indentBefore(text, dash);
  if (indent === undefined) return undefined;
  const at = lineEnd(text, end);
  const asFlow = isMap(last) && last.flow === true;
  const lines = asFlow ? `${indent}- ${flow(entry)}` : blockEntry(entry, indent, eol);
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

function spliceMember(
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
  const [start, end] = [startOf(pair.value), endOf(pair.value)];
  if (start === undefined || end === undefined || end <= start) return undefined;
  if (value !== undefined) return text.slice(0, start) + flow(value) + text.slice(end);
  const [from, before, after] = [startOf(pair.key), asFound(map.items[at - 1]), asFound(map.items[at + 1])];
  if (from === undefined) return undefined;
  if (map.flow === true) {
    const cut = before === undefined ? [from, after && startOf(after.key)] : [endOf(before.value), end];
    return cut[0] === undefined || cut[1] === undefined ? undefined : text.slice(0, cut[0]) + text.slice(cut[1]);
  }
  return indentBefore(text, from) === undefined ? undefined : withoutLines(text, from, end);
}

function spliceNewMember(
  items: readonly Pair[],
  isFlow: boolean,
  text: string,
  key: string,
  value: unknown,
): string | undefined {
  const [first, last] = [asFound(items[0]), asFound(items.at(-1))];
  const end = endOf(last?.value ?? null);
  const start = first === undefined ? undefined : startOf(first.key);
  if (start === undefined || end === undefined) return undefined;
  if (isFlow) return `${text.slice(0, end)}, ${key}: ${flow(value)}${text.slice(end)}`;
  const at = lineEnd(text, end);
  const column = start - (text.lastIndexOf('\n', start - 1) + 1);
  return `${text.slice(0, at)}${lineEndOf(text)}${' '.repeat(column)}${key}: ${flow(value)}${text.slice(at)}`;
}

function spliceRemove(document: Document, text: string, section: string, index: number): string | undefined {
  const root = document.contents;
  const pair = isMap(root) ? pairOf(root.items, section) : undefined;
  const list = pair?.value;
  if (pair === undefined || !isSeq(list)) return undefined;
  const item = list.items[index];
  const [start, end] = [startOf(item), endOf(item)];
  if (start === undefined || end === undefined) return undefined;
  if (list.flow === true) return cutFromFlow(text, list, index);
  const dash = dashOf(text, start);
  if (dash === undefined || indentBefore(text, dash) === undefined) return undefined;
  const rest = withoutLines(text, dash, end);
  if (list.items.length > 1) return rest;
  const colon = text.indexOf(':', pair.key.range?.[1] ?? 0) + 1;
  return `${rest.slice(0, colon)} []${rest.slice(colon)}`;
}

function cutFromFlow(text: string, list: YAMLSeq, index: number): string | undefined {
  const [before, item, after] = [list.items[index - 1], list.items[index], list.items[index + 1]];
  const from = before === undefined ? startOf(item) : endOf(before);
  const to = before === undefined && after !== undefined ? startOf(after) : endOf(item);
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
  isScalar(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined;

/** Where the last character of a value stands; the ranges of block collections reach over comments and blanks. */
function endOf(node: unknown): number | undefined {
  if (isScalar(node)) return node.range?.[1];
  if (!isMap(node) && !isSeq(node)) return undefined;
  if (node.flow === true) return node.range?.[1];
  const last = node.items.at(-1);
  return isMap(node) ? endOf(asFound(last as Pair)?.value) : endOf(last);
}

/** The dash of an entry of a block list. */
function dashOf(text: string, start: number): number | undefined {
  const at = text.slice(0, start).search(/-\s+$/);
  return at === -1 ? undefined : at;
}

/** The blanks before a position, when nothing else stands before it in its line. */
const indentBefore = (text: string, at: number): string | undefined => /(?:^|\n)([ \t]*)$/.exec(text.slice(0, at))?.[1];

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

const lineEndOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');

const flow = (value: unknown): string => stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd();

function blockEntry(entry: Members, indent: string, eol: string): string {
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
