import { deviceId, zoneNumber } from '#site/model/index.ts';
import type { ConfigDocument } from './document.ts';
import { valueAt } from './issues.ts';
import { nearest } from './nearest.ts';
import type { Path, Problem } from './problem.ts';

/** What the cross-checks read of a file: values as written, each with its place. */

export interface Entry {
  readonly path: Path;
  readonly value: unknown;
}

export function duplicateIds(document: ConfigDocument, section: string): Problem[] {
  const ids = items(document, section).map(({ path }) => at(document, [...path, 'id']));
  return repeated(ids).map(({ path }) =>
    document.problem(path, { message: `another entry of ${section} has this id` }),
  );
}

export function unknownNames(
  document: ConfigDocument,
  named: readonly Entry[],
  what: string,
  known: string[],
): Problem[] {
  return named.flatMap(({ path, value }) =>
    typeof value !== 'string' || known.includes(value) ? [] : [document.problem(path, unknown(what, value, known))],
  );
}

export function unknown(what: string, name: string, known: readonly string[]) {
  const near = nearest(name, known);
  return {
    message: `there is no such ${what}`,
    expected: known.length === 0 ? `a ${what} that is described` : `one of ${known.join(', ')}`,
    ...(near !== undefined && { nearest: near }),
  };
}

/** Every entry whose value stood there before. */
export function repeated(entries: readonly Entry[]): Entry[] {
  const seen = new Set<string>();
  return entries.filter(({ value }) => {
    if (typeof value !== 'string') return false;
    if (seen.has(value)) return true;
    seen.add(value);
    return false;
  });
}

export const at = (document: ConfigDocument, path: Path): Entry => ({ path, value: valueAt(document.value, path) });

export function items(document: ConfigDocument, ...path: Path): Entry[] {
  const list = valueAt(document.value, path);
  return Array.isArray(list) ? list.map((value, index) => ({ path: [...path, index], value })) : [];
}

export function members(document: ConfigDocument, path: Path): Entry[] {
  const map = valueAt(document.value, path);
  if (typeof map !== 'object' || map === null || Array.isArray(map)) return [];
  return Object.entries(map).map(([key, value]) => ({ path: [...path, key], value }));
}

export const idsOf = (document: ConfigDocument, section: string): string[] =>
  idsAmong(document, items(document, section));

export function idsAmong(document: ConfigDocument, entries: readonly Entry[]): string[] {
  const ids = entries.map(({ path }) => at(document, [...path, 'id']).value);
  // An id is shown as a choice, so it must be one, not something that was written in its place by mistake.
  return [...new Set(ids.filter((id) => deviceId.safeParse(id).success))] as string[];
}

export const panelZones = (document: ConfigDocument): Entry[] =>
  items(document, 'panels').flatMap(({ path }) => members(document, [...path, 'zones']));

/** Cameras, and channels of recorders: to the rest of the site they are the same. */
export const views = (document: ConfigDocument): Entry[] => [
  ...items(document, 'cameras'),
  ...items(document, 'nvrs').flatMap(({ path }) => items(document, ...path, 'channels')),
];

/** Contacts wired to cameras and recorders. */
export const inputZones = (document: ConfigDocument): Entry[] =>
  [...items(document, 'cameras'), ...items(document, 'nvrs')].flatMap(({ path }) =>
    members(document, [...path, 'inputs']),
  );

export const panelPartitions = (document: ConfigDocument): Entry[] =>
  items(document, 'panels').flatMap(({ path }) => members(document, [...path, 'partitions']));

/** The type as written of every zone, by number. */
export function zoneTypesOf(document: ConfigDocument): ReadonlyMap<string, unknown> {
  const ofPanels = panelZones(document).map(({ path }): [string, unknown] => [
    String(path.at(-1)),
    at(document, [...path, 'type']).value,
  ]);
  const ofCameras = [...views(document), ...inputZones(document)].flatMap(({ path }): [string, unknown][] => {
    const number = at(document, [...path, 'zone']).value;
    const type = at(document, [...path, 'zone_type']).value ?? 'video_person_perimeter';
    return typeof number === 'string' ? [[number, type]] : [];
  });
  return new Map([...ofPanels, ...ofCameras].filter(([number]) => zoneNumber.safeParse(number).success));
}

/** As written, of every zone that has one. */
export const zoneNumbersOf = (document: ConfigDocument): string[] => [...zoneTypesOf(document).keys()];
