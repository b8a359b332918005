import type { ConfigChange } from '#lan/http/index.ts';
import { filled, fitted, isSame, listOf, type Members, mapOf, secretState, textOf } from './pending.ts';

/** What becomes of pending changes when the file has changed below them: by somebody else, or by themselves. All functions are pure. */

/** The same changes for the configuration as it is by now; `before`: the one that they were made for. */
export const rebased = (changes: readonly ConfigChange[], before: Members, now: Members): readonly ConfigChange[] =>
  fitted(
    changes.map((change) => onto(change, before, now)),
    now,
  );

/** Members that nobody changed here are as somebody else has made them. */
function onto(change: ConfigChange, before: Members, now: Members): ConfigChange {
  if (change.do === 'remove') return change;
  if (change.do === 'set') {
    const { section } = change;
    return { ...change, members: membersOnto(change.members, mapOf(before, section), mapOf(now, section)) };
  }
  const { section } = change;
  const id = change.do === 'add' ? textOf(change.entry, 'id') : change.id;
  const [old, there] = [before, now].map((config) => listOf(config, section).find((entry) => entry.id === id));
  if (change.do === 'change') return { ...change, members: membersOnto(change.members, old ?? {}, there ?? {}) };
  if (old === undefined || there === undefined) return change;
  // It was saved, and has been changed since.
  const gone = Object.keys(old).filter((name) => !Object.hasOwn(change.entry, name));
  const members = { ...change.entry, ...Object.fromEntries(gone.map((name) => [name, null])) };
  return { do: 'change', section, id, members: membersOnto(members, old, there) };
}

const membersOnto = (members: Members, before: Members, now: Members): Members =>
  Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, valueOnto(value, before[name], now[name]) ?? null]),
  );

function valueOnto(value: unknown, before: unknown, now: unknown): unknown {
  if (isSame(value, before)) return now;
  if (isSame(now, before)) return value;
  if (Array.isArray(value) && Array.isArray(before) && Array.isArray(now)) return listOnto(value, before, now);
  if (!isGroup(value) || !isGroup(before) || secretState(value) === 'new') return value;
  const other = isGroup(now) ? now : {};
  const names = new Set([...Object.keys(value), ...Object.keys(before), ...Object.keys(other)]);
  return filled(
    Object.fromEntries([...names].map((name) => [name, valueOnto(value[name], before[name], other[name])])),
  );
}

/** Things with an id are the same thing wherever they stand; another list is taken as it is. */
function listOnto(value: readonly unknown[], before: readonly unknown[], now: readonly unknown[]): readonly unknown[] {
  const idOf = (item: unknown) => (isGroup(item) ? item.id : undefined);
  if ([...value, ...before, ...now].some((item) => idOf(item) === undefined)) return value;
  const find = (list: readonly unknown[], item: unknown) => list.find((one) => idOf(one) === idOf(item));
  const kept = value.map((item) => valueOnto(item, find(before, item), find(now, item)));
  const fresh = now.filter((item) => find(before, item) === undefined && find(value, item) === undefined);
  return [...kept, ...fresh].filter((item) => item !== undefined);
}

/** The configuration with the changes in it, as the page knows it: secrets that were typed are in it. */
export function applied(config: Members, changes: readonly ConfigChange[]): Members {
  const all: Record<string, unknown> = { ...config };
  for (const change of changes) {
    const { section } = change;
    const list = listOf(all, section);
    if (change.do === 'set') all[section] = filled({ ...mapOf(all, section), ...change.members });
    else if (change.do === 'add') all[section] = [...list, change.entry];
    else if (change.do === 'remove') all[section] = list.filter(({ id }) => id !== change.id);
    else all[section] = list.map((one) => (one.id === change.id ? filled({ ...one, ...change.members }) : one));
  }
  return all;
}

/** Whether all of it is in the file by now, as somebody wanted it whose answer was lost; `before`: the file as it was then. */
export const isSaved = (changes: readonly ConfigChange[], before: Members, now: Members): boolean =>
  changes.length > 0 && isWanted(applied(before, changes), before, now);

/** A secret that was typed stands in a new file by now. What was not to be changed may have been, by somebody else. */
function isWanted(wanted: unknown, before: unknown, now: unknown): boolean {
  if (isSame(wanted, before)) return true;
  if (secretState(wanted) === 'new') return secretState(now) === 'set' && !isSame(now, before);
  if (Array.isArray(wanted) && wanted.every(isGroup)) {
    const find = (list: unknown, id: unknown) =>
      Array.isArray(list) ? list.find((one) => isGroup(one) && one.id === id) : undefined;
    const gone = Array.isArray(before) ? before.filter(({ id }) => find(wanted, id) === undefined) : [];
    return (
      wanted.every((item) => isWanted(item, find(before, item.id), find(now, item.id))) &&
      gone.every(({ id }) => find(now, id) === undefined)
    );
  }
  if (!isGroup(wanted)) return isSame(wanted, now);
  const [old, there] = [before, now].map((value) => (isGroup(value) ? value : {}));
  return [...new Set([...Object.keys(wanted), ...Object.keys(old ?? {})])].every((name) =>
    isWanted(wanted[name], old?.[name], there?.[name]),
  );
}

const isGroup = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
