import { isDeepStrictEqual } from 'node:util';
import { SitewardError } from '#errors.ts';
import { parseConfig } from './document.ts';
import { addEntry, addItem, changeMembers, changeSection, removeEntry, removeItem, removeSection } from './edit.ts';
import { isShown } from './hidden.ts';
import { valueAt } from './issues.ts';
import { formatPath, type Path } from './problem.ts';
import { shownPath } from './shown-path.ts';
import type { Members } from './splice.ts';

/** Changes of the file as they are asked for, one after the other. Nothing here touches the disk. */
export type Change =
  | { readonly do: 'set'; readonly section: string; readonly members: Members }
  | { readonly do: 'add'; readonly section: string; readonly entry: Members }
  | { readonly do: 'change'; readonly section: string; readonly id: string; readonly members: Members }
  | { readonly do: 'remove'; readonly section: string; readonly id: string }
  /** The whole section. */
  | { readonly do: 'drop'; readonly section: string };

type Written = Readonly<Record<string, unknown>>;

/**
 * The text with all changes in it. A member that is null goes. Groups are changed member by member, so that comments between
 * them stay. What `shownConfig` does not show (zones of silent hold-up) stays as it is: whoever changes what was shown must not
 * lose it. Throws `config_invalid` with the change that names no entry, or a member that cannot be one.
 */
export const applyChanges = (text: string, changes: readonly Change[]): string =>
  changes.reduce((before, change, index) => apply(before, change, `changes[${index}]`), text);

function apply(text: string, change: Change, field: string): string {
  const config = writtenOf(text);
  const { section } = change;
  switch (change.do) {
    case 'drop':
      return section in config ? removeSection(text, section) : text;
    case 'set':
      return setSection(text, config, section, named(change.members, `${field}.members`));
    case 'add': {
      const entry = Object.entries(named(change.entry, `${field}.entry`)).filter(([, value]) => value !== null);
      return addEntry(text, section, Object.fromEntries(entry));
    }
    case 'change': {
      const index = indexOf(config, change, field);
      return setMembers(text, [section, index], named(change.members, `${field}.members`));
    }
    case 'remove': {
      const index = indexOf(config, change, field);
      if (hasHidden(valueAt(config, [section, index]))) throw onTheBox(config, [section, index]);
      return removeEntry(text, section, index);
    }
  }
}

function setSection(text: string, config: Written, section: string, members: Members): string {
  const before = config[section];
  if (isGroup(before)) {
    const after = { ...before, ...members };
    // A section without members means the same as none.
    if (Object.values(after).every((value) => value === null)) return removeSection(text, section);
    return setMembers(text, [section], members);
  }
  const given = Object.entries(members).filter(([, value]) => value !== null);
  return given.length === 0 ? text : changeSection(text, section, Object.fromEntries(given));
}

/** What stands there already as it is wanted is not touched. */
function setMembers(text: string, path: Path, members: Members): string {
  // What goes goes last: a group that is empty in between is written otherwise.
  const inOrder = Object.entries(members).sort(([, a], [, b]) => Number(a === null) - Number(b === null));
  return inOrder.reduce((now, [key, value]) => setMember(now, path, key, value), text);
}

function setMember(text: string, path: Path, key: string, value: unknown): string {
  const config = writtenOf(text);
  const before = valueAt(config, [...path, key]);
  if (value === null && before === undefined) return text;
  if (isDeepStrictEqual(before, value)) return text;
  if (!isShown(before) || (value === null && hasHidden(before))) throw onTheBox(config, [...path, key]);
  if (value === null) return changeMembers(text, path, { [key]: undefined });
  if (isGroup(before) && isGroup(value) && Object.keys(value).length > 0)
    return setMembers(text, [...path, key], withGone(before, value));
  if (Array.isArray(before) && Array.isArray(value)) return setList(text, [...path, key], before, value);
  return changeMembers(text, path, { [key]: value });
}

/** Item by item, so that the lines of all others stay; a list in another order is written anew as a whole. */
function setList(text: string, path: Path, before: readonly unknown[], wanted: readonly unknown[]): string {
  if (isInOrder(before, wanted)) return setItems(text, path, before, wanted);
  const value = [...wanted, ...before.filter((item) => !isShown(item))];
  const isSameShape =
    before.length === value.length &&
    [...before, ...value].every((item) => isGroup(item) && !isEmpty(item) && item.id === undefined);
  if (!isSameShape) return changeMembers(text, path.slice(0, -1), { [String(path.at(-1))]: value });
  return value.reduce(
    (now: string, item, index) =>
      setMembers(now, [...path, index], withGone(before[index] as Written, item as Members)),
    text,
  );
}

/** A thing is its id, whatever else it says; what has none is all that it says. */
const keyOf = (item: unknown): string =>
  isGroup(item) && typeof item.id === 'string' ? `id ${item.id}` : JSON.stringify(item);

/** Whether what stays comes first and in its order, and what is new behind it. Where nothing stays, it is another list. */
function isInOrder(before: readonly unknown[], wanted: readonly unknown[]): boolean {
  const [old, fresh] = [before.filter(isShown).map(keyOf), wanted.map(keyOf)];
  if (new Set(old).size !== old.length || new Set(fresh).size !== fresh.length) return false;
  const stays = old.filter((key) => fresh.includes(key));
  return stays.length > 0 && stays.every((key, index) => fresh[index] === key);
}

function setItems(text: string, path: Path, before: readonly unknown[], wanted: readonly unknown[]): string {
  const byKey = new Map(wanted.map((item) => [keyOf(item), item]));
  const known = new Set(before.filter(isShown).map(keyOf));
  const changed = before.reduce((now: string, item, index) => {
    const wish = isShown(item) ? byKey.get(keyOf(item)) : undefined;
    return isGroup(item) && isGroup(wish) ? setMembers(now, [...path, index], withGone(item, wish)) : now;
  }, text);
  const grown = wanted
    .filter((item) => !known.has(keyOf(item)))
    .reduce((now: string, item) => addItem(now, path, item), changed);
  // From the last one on, so that the others keep their places.
  return before.reduceRight((now: string, item, index) => {
    if (!isShown(item) || byKey.has(keyOf(item))) return now;
    if (hasHidden(item)) throw onTheBox(writtenOf(text), [...path, index]);
    return removeItem(now, path, index);
  }, grown);
}

/** The wish with null for what is not in it any more. */
function withGone(before: Written, wish: Members): Members {
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(wish, name) && isShown(before[name]));
  return { ...wish, ...Object.fromEntries(gone.map((name) => [name, null])) };
}

const isEmpty = (group: Written): boolean => Object.keys(group).length === 0;

/** Keys as the file has them; whether there is such a one is a matter of the check. */
function named(members: Members, field: string): Members {
  const odd = Object.keys(members).find((key) => !/^[a-z][a-z0-9_]*$/.test(key));
  if (odd === undefined) return members;
  throw invalid(field, 'a key of the configuration is lower-case letters, digits and _');
}

/** A holiday has no id: its first day stands for it. */
const idOf = (section: string, entry: unknown): unknown =>
  isGroup(entry) ? entry[section === 'holidays' ? 'from' : 'id'] : undefined;

function indexOf(config: Written, { section, id }: { section: string; id: string }, field: string): number {
  const list = config[section];
  const index = Array.isArray(list) ? list.findIndex((entry) => isShown(entry) && idOf(section, entry) === id) : -1;
  if (index !== -1) return index;
  throw invalid(`${field}.id`, `${section} has no entry ${id}; look at the configuration again`);
}

const onTheBox = (config: Written, path: Path) =>
  invalid(
    shownPath(config, formatPath(path)) || 'configuration',
    'this is changed on the box alone, in the file itself',
  );

/** Somewhere within. */
const hasHidden = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (!isShown(value) || Object.values(value).some(hasHidden));

const invalid = (field: string, message: string) =>
  new SitewardError('config_invalid', message, { issues: [{ field, message }] });

function writtenOf(text: string): Written {
  const { value } = parseConfig('', text);
  return isGroup(value) ? value : {};
}

const isGroup = (value: unknown): value is Written =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
