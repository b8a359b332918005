import { deviceId } from '#site/model/index.ts';
import type { ConfigDocument } from './document.ts';
import { valueAt } from './issues.ts';
import { nearest } from './nearest.ts';
import type { Path, Problem } from './problem.ts';

/**
 * Rules that no single section can check: what is named must exist, and what is unique must be. They read the value
 * as written, so that they speak up also when other parts of the file are wrong.
 */
export function crossChecks(document: ConfigDocument): Problem[] {
  return [
    ...['partitions', 'panels', 'cameras', 'users'].flatMap((section) => duplicateIds(document, section)),
    ...zoneNumbers(document),
    ...partitionClaims(document),
    ...unknownPartitions(document),
    ...unknownCameras(document),
    ...timezone(document),
    ...panelWithoutPartition(document),
  ];
}

interface Entry {
  readonly path: Path;
  readonly value: unknown;
}

function duplicateIds(document: ConfigDocument, section: string): Problem[] {
  const ids = items(document, section).map(({ path }) => at(document, [...path, 'id']));
  return repeated(ids).map(({ path }) =>
    document.problem(path, { message: `another entry of ${section} has this id` }),
  );
}

/** A zone number means one thing on the whole site: the station knows nothing but the number. */
function zoneNumbers(document: ConfigDocument): Problem[] {
  const ofPanels = panelZones(document).map(({ path }) => ({ path, value: path.at(-1) }));
  const ofCameras = items(document, 'cameras').map(({ path }) => at(document, [...path, 'zone']));
  return repeated([...ofPanels, ...ofCameras]).map(({ path }) =>
    document.problem(
      path,
      { message: 'this zone number is used twice', expected: 'each number once over panels and cameras' },
      'key',
    ),
  );
}

function partitionClaims(document: ConfigDocument): Problem[] {
  const claims = panelPartitions(document).map(({ path }) => ({ path, value: path.at(-1) }));
  return repeated(claims).map(({ path }) =>
    document.problem(
      path,
      { message: 'another panel owns this partition', expected: 'one panel for each partition' },
      'key',
    ),
  );
}

function unknownPartitions(document: ConfigDocument): Problem[] {
  const known = idsOf(document, 'partitions');
  const claims = panelPartitions(document)
    .filter(({ path }) => !known.includes(String(path.at(-1))))
    .map(({ path }) => document.problem(path, unknown('partition', String(path.at(-1)), known), 'key'));
  const named = [
    ...[...panelZones(document), ...items(document, 'cameras')].map(({ path }) => at(document, [...path, 'partition'])),
    ...panelZones(document).flatMap(({ path }) => items(document, ...path, 'partitions')),
  ];
  return [...claims, ...unknownNames(document, named, 'partition', known)];
}

function unknownCameras(document: ConfigDocument): Problem[] {
  const named = panelZones(document).flatMap(({ path }) => items(document, ...path, 'cameras'));
  return unknownNames(document, named, 'camera', idsOf(document, 'cameras'));
}

function unknownNames(document: ConfigDocument, named: readonly Entry[], what: string, known: string[]): Problem[] {
  return named.flatMap(({ path, value }) =>
    typeof value !== 'string' || known.includes(value) ? [] : [document.problem(path, unknown(what, value, known))],
  );
}

function timezone(document: ConfigDocument): Problem[] {
  const { path, value } = at(document, ['site', 'timezone']);
  if (typeof value !== 'string' || isTimezone(value)) return [];
  const near = nearest(value, Intl.supportedValuesOf('timeZone'));
  const what = { message: 'is not a time zone', expected: 'an IANA name such as Europe/Berlin' };
  return [document.problem(path, { ...what, ...(near !== undefined && { nearest: near }) })];
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    // Fixed offsets know no summer time, so schedules would be an hour wrong.
    return /^[A-Za-z]/.test(name);
  } catch {
    return false;
  }
}

/** With several partitions, a panel's zone and a camera's zone must say where they belong. */
function panelWithoutPartition(document: ConfigDocument): Problem[] {
  if (idsOf(document, 'partitions').length < 2) return [];
  const cameras = items(document, 'cameras').filter(({ path }) => at(document, [...path, 'zone']).value !== undefined);
  return [...panelZones(document), ...cameras]
    .filter(({ path }) => ['partition', 'partitions'].every((key) => at(document, [...path, key]).value === undefined))
    .map(({ path }) =>
      document.problem([...path, 'partition'], {
        message: 'is missing',
        expected: 'the partition of the zone, since the site has more than one',
      }),
    );
}

function unknown(what: string, name: string, known: readonly string[]) {
  const near = nearest(name, known);
  return {
    message: `there is no such ${what}`,
    expected: known.length === 0 ? `a ${what} that is described` : `one of ${known.join(', ')}`,
    ...(near !== undefined && { nearest: near }),
  };
}

/** Every entry whose value stood there before. */
function repeated(entries: readonly Entry[]): Entry[] {
  const seen = new Set<string>();
  return entries.filter(({ value }) => {
    if (typeof value !== 'string') return false;
    if (seen.has(value)) return true;
    seen.add(value);
    return false;
  });
}

const at = (document: ConfigDocument, path: Path): Entry => ({ path, value: valueAt(document.value, path) });

function items(document: ConfigDocument, ...path: Path): Entry[] {
  const list = valueAt(document.value, path);
  return Array.isArray(list) ? list.map((value, index) => ({ path: [...path, index], value })) : [];
}

function members(document: ConfigDocument, path: Path): Entry[] {
  const map = valueAt(document.value, path);
  if (typeof map !== 'object' || map === null || Array.isArray(map)) return [];
  return Object.entries(map).map(([key, value]) => ({ path: [...path, key], value }));
}

const panelZones = (document: ConfigDocument): Entry[] =>
  items(document, 'panels').flatMap(({ path }) => members(document, [...path, 'zones']));

const panelPartitions = (document: ConfigDocument): Entry[] =>
  items(document, 'panels').flatMap(({ path }) => members(document, [...path, 'partitions']));

function idsOf(document: ConfigDocument, section: string): string[] {
  const ids = items(document, section).map(({ path }) => at(document, [...path, 'id']).value);
  // An id is shown as a choice, so it must be one, not something that was written in its place by mistake.
  return [...new Set(ids.filter((id) => deviceId.safeParse(id).success))] as string[];
}
