import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, isSeq, parseDocument } from 'yaml';
import { SitewardError } from '#errors.ts';
import { parseConfig } from './document.ts';
import {
  blockEntry,
  flow,
  isMapping,
  lineEndOf,
  type Members,
  spliceAdd,
  spliceLast,
  spliceMember,
  spliceRemove,
  spliceRemoveSection,
  withoutItem,
} from './splice.ts';

/**
 * Changes one entry of a list of the configuration, and nothing else: every other line stays as it was, byte for byte,
 * with its comments. Where a file is written so oddly that this is not possible, the whole is written anew by the YAML
 * library, which keeps comments but not blanks. What comes out is read again and must mean what was wanted, or nothing is
 * given back. All functions are pure; they throw `config_invalid` for a text that cannot be edited.
 */

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
export const changeEntry = (text: string, section: string, index: number, changes: Members): string =>
  changeMembers(text, [section, index], changes);

/** Changes members of the mapping at `path`, which must be there. */
export function changeMembers(text: string, path: readonly (string | number)[], changes: Members): string {
  return Object.entries(changes).reduce(
    (before, [key, value]) =>
      edited(before, {
        splice: (document) => spliceMember(document, before, path, key, value),
        rewrite(document) {
          if (value === undefined) document.deleteIn([...path, key]);
          else document.setIn([...path, key], document.createNode(value));
        },
        means: (all) => withMemberAt(all, path, key, value),
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

/** Puts an item at the end of the list at `path`, which has items already. */
export function addItem(text: string, path: readonly (string | number)[], item: unknown): string {
  return edited(text, {
    splice(document) {
      const list = document.getIn(path, true);
      return isSeq(list) && list.items.length > 0 ? spliceLast(text, list, item) : undefined;
    },
    rewrite: (document) => document.addIn(path, document.createNode(item)),
    means: (all) => withAt(all, path, (list) => [...(list as unknown[]), item]),
  });
}

/** Takes the item at `index` of the list at `path` away, which is not its last, and the comments within it. */
export function removeItem(text: string, path: readonly (string | number)[], index: number): string {
  return edited(text, {
    splice(document) {
      const list = document.getIn(path, true);
      return isSeq(list) && list.items.length > 1 ? withoutItem(text, list, index) : undefined;
    },
    rewrite: (document) => void document.deleteIn([...path, index]),
    means: (all) => withAt(all, path, (list) => (list as unknown[]).filter((_, at) => at !== index)),
  });
}

/** Takes a whole section away, and the comments within it. Comments above it stay. */
export function removeSection(text: string, section: string): string {
  return edited(text, {
    splice: (document) => spliceRemoveSection(document, text, section),
    rewrite: (document) => void document.delete(section),
    means: (value) => ({ ...value, [section]: undefined }),
  });
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
  const rewritten = rewrittenBy(edit, text);
  if (rewritten === undefined || !isDeepStrictEqual(meaningOf(rewritten), plain(wanted))) throw notEditable();
  return rewritten;
}

/** Undefined where it cannot be written, as when others refer to what goes. */
function rewrittenBy(edit: Edit, text: string): string | undefined {
  const document = parseDocument(text, { logLevel: 'silent' });
  try {
    edit.rewrite(document);
    return document.toString({ lineWidth: 0 });
  } catch {
    return undefined;
  }
}

const notEditable = () =>
  new SitewardError(
    'config_invalid',
    'the configuration is written in a way that siteward does not change; edit it by hand',
  );

function meaningOf(text: string): Record<string, unknown> | undefined {
  try {
    const { value, usable, problems } = parseConfig('', text);
    return usable && problems.length === 0 && isMapping(value) ? (plain(value) as Record<string, unknown>) : undefined;
  } catch {
    // Such as a reference to what is not there any more.
    return undefined;
  }
}

/** Without members that are undefined, and without prototypes. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function listOf(value: Record<string, unknown>, section: string): readonly unknown[] {
  const list = value[section];
  return Array.isArray(list) ? list : [];
}

const withMember = (entry: unknown, key: string, value: unknown): unknown => ({ ...(entry as object), [key]: value });

const withMemberAt = (value: unknown, path: readonly (string | number)[], key: string, member: unknown): unknown =>
  withAt(value, path, (found) => withMember(found, key, member));

function withAt(value: unknown, path: readonly (string | number)[], change: (found: unknown) => unknown): unknown {
  const [at, ...rest] = path;
  if (at === undefined) return change(value);
  if (!Array.isArray(value)) return withMember(value, String(at), withAt((value as Members)[at], rest, change));
  return value.map((item, index) => (index === at ? withAt(item, rest, change) : item));
}
