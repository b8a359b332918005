import type { ConfigChange } from '#lan/http/index.ts';

/** Changes of the configuration that are collected on the page until somebody saves them. All functions are pure. */

export type Members = Readonly<Record<string, unknown>>;
type ListSection = Extract<ConfigChange, { do: 'add' }>['section'];
type MapSection = Extract<ConfigChange, { do: 'set' }>['section'];

export const mapOf = (config: Members, name: string): Members => {
  const value = config[name];
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
};

export const listOf = (config: Members, name: string): readonly Members[] => {
  const value = config[name];
  return Array.isArray(value) ? (value as Members[]) : [];
};

/** The text of a member; empty where there is none. */
export const textOf = (members: Members, name: string): string => {
  const value = members[name];
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : '';
};

/** What a change is of; each stands once among those that are pending. A removed camera and a new one of its id are two. */
export const keyOf = (change: ConfigChange): string =>
  change.do === 'set'
    ? change.section
    : change.do === 'add'
      ? `${change.section}/+${textOf(change.entry, 'id')}`
      : `${change.section}/${change.id}`;

/** With one more; what comes to nothing drops out. */
export function withChange(
  changes: readonly ConfigChange[],
  change: ConfigChange,
  config: Members,
): readonly ConfigChange[] {
  if (change.do === 'change' || change.do === 'remove') {
    const added = changes.find((one) => keyOf(one) === `${change.section}/+${change.id}`);
    // Of one that is not saved yet.
    if (added?.do === 'add')
      return change.do === 'remove'
        ? changes.filter((one) => one !== added)
        : changes.map((one) =>
            one === added ? { ...added, entry: filled({ ...added.entry, ...change.members }) } : one,
          );
  }
  const old = changes.find((one) => keyOf(one) === keyOf(change));
  const next = effective(merged(old, change), config);
  if (old === undefined) return [...changes, ...next];
  return changes.flatMap((one) => (one === old ? next : [one]));
}

/** Those that still mean something for the configuration as it is by now. */
export const fitted = (changes: readonly ConfigChange[], config: Members): readonly ConfigChange[] =>
  changes.filter((change) => !isThere(change, changes, config)).flatMap((change) => effective(change, config));

/** An entry that is in the file by now: it was saved, though the answer never came. One that takes the place of another is not. */
function isThere(change: ConfigChange, changes: readonly ConfigChange[], config: Members): boolean {
  if (change.do !== 'add') return false;
  const { section, entry } = change;
  const there = listOf(config, section).find(({ id }) => id === entry.id);
  const goes = changes.some((one) => one.do === 'remove' && one.section === section && one.id === entry.id);
  return there !== undefined && !goes && isSame(plain(entry, entry), plain(there, entry));
}

/** A secret is never told back: where one was typed, it counts only that there is one. */
const plain = (members: Members, typed: Members): Members =>
  Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name,
      secretState(typed[name]) === 'new' && secretState(value) !== 'unset' ? true : value,
    ]),
  );

/** A section as it would be. */
export function sectionNow(config: Members, changes: readonly ConfigChange[], section: MapSection): Members {
  const change = changes.find((one) => one.do === 'set' && one.section === section);
  return filled({ ...mapOf(config, section), ...(change?.do === 'set' && change.members) });
}

export interface EntryNow {
  readonly id: string;
  readonly entry: Members;
  readonly state: 'same' | 'changed' | 'removed';
}

/** The entries of the file as they would be; new ones are not among them. */
export function entriesNow(
  config: Members,
  changes: readonly ConfigChange[],
  section: ListSection,
): readonly EntryNow[] {
  return listOf(config, section).map((entry) => {
    const id = textOf(entry, 'id');
    const change = changes.find((one) => keyOf(one) === `${section}/${id}`);
    if (change?.do === 'change') return { id, entry: filled({ ...entry, ...change.members }), state: 'changed' };
    return { id, entry, state: change?.do === 'remove' ? 'removed' : 'same' };
  });
}

/** `new`: typed here and not saved yet. */
export function secretState(value: unknown): 'set' | 'unset' | 'new' {
  if (value === undefined || value === null) return 'unset';
  return typeof value === 'object' && 'secret' in value ? 'new' : 'set';
}

export const filled = (members: Members): Members =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));

function merged(old: ConfigChange | undefined, change: ConfigChange): ConfigChange {
  const isOfMembers = change.do === 'set' || change.do === 'change';
  if (!isOfMembers || old === undefined || old.do === 'add' || old.do === 'remove') return change;
  return { ...change, members: { ...old.members, ...change.members } };
}

/** One change or none: members that are so already are left out, and so is what is of an entry that is gone. */
function effective(change: ConfigChange, config: Members): readonly ConfigChange[] {
  if (change.do === 'add') return [change];
  if (change.do === 'set') return withMembers(change, mapOf(config, change.section));
  const entry = listOf(config, change.section).find(({ id }) => id === change.id);
  if (entry === undefined) return [];
  return change.do === 'remove' ? [change] : withMembers(change, entry);
}

function withMembers(
  change: Extract<ConfigChange, { do: 'set' | 'change' }>,
  inForce: Members,
): readonly ConfigChange[] {
  const members = Object.fromEntries(
    Object.entries(change.members).filter(([name, value]) => !isSame(value, inForce[name])),
  );
  return Object.keys(members).length === 0 ? [] : [{ ...change, members }];
}

/** Whether two values of the configuration mean the same; one that is taken away is none. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other || (one ?? undefined) === (other ?? undefined)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => isSame((one as Members)[name], (other as Members)[name]));
}
