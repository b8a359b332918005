import { isTimezone } from '#lib/timezone.ts';
import { crossZoneTypes, plainZone, zoneType } from '#site/model/index.ts';
import { dc09Checks } from './dc09-checks.ts';
import type { ConfigDocument } from './document.ts';
import {
  at,
  duplicateIds,
  type Entry,
  idsAmong,
  idsOf,
  inputZones,
  items,
  panelPartitions,
  panelZones,
  repeated,
  unknown,
  unknownNames,
  views,
  zoneTypesOf,
} from './entries.ts';
import { homeAssistantChecks } from './home-assistant-checks.ts';
import { nearest } from './nearest.ts';
import { nvrChecks } from './nvr-checks.ts';
import type { Problem } from './problem.ts';
import { ruleChecks } from './rule-checks.ts';
import { scheduleChecks } from './schedule-checks.ts';
import { speakerChecks } from './speaker-checks.ts';
import { supervisionChecks } from './supervision-checks.ts';
import { verificationChecks } from './verification-checks.ts';

/**
 * Rules that no single section can check: what is named must exist, and what is unique must be. They read the value
 * as written, so that they speak up also when other parts of the file are wrong.
 */
export function crossChecks(document: ConfigDocument): Problem[] {
  return [
    ...['partitions', 'panels', 'users', 'schedules'].flatMap((section) => duplicateIds(document, section)),
    ...cloudIds(document),
    ...nvrChecks(document),
    ...zoneNumbers(document),
    ...partitionClaims(document),
    ...unknownPartitions(document),
    ...unknownCameras(document),
    ...silentViews(document),
    ...crossZones(document),
    ...apartZones(document),
    ...rulesOfPanels(document),
    ...panelsOfBridges(document),
    ...timezone(document),
    ...panelWithoutPartition(document),
    ...scheduleChecks(document),
    ...verificationChecks(document),
    ...homeAssistantChecks(document),
    ...supervisionChecks(document),
    ...dc09Checks(document),
    ...speakerChecks(document),
    ...ruleChecks(document),
  ];
}

/** Of what the service knows by an id, each has one of its own. */
function cloudIds(document: ConfigDocument): Problem[] {
  const devices = [...views(document), ...items(document, 'speakers')];
  return [
    ...repeated(devices.map(({ path }) => at(document, [...path, 'cloud_device_id']))),
    ...repeated(items(document, 'nvrs').map(({ path }) => at(document, [...path, 'cloud_nvr_id']))),
    ...repeated(items(document, 'partitions').map(({ path }) => at(document, [...path, 'cloud_id']))),
  ].map(({ path }) => document.problem(path, { message: 'another entry has this id of the service' }));
}

function panelsOfBridges(document: ConfigDocument): Problem[] {
  const named = items(document, 'mqtt', 'clients').flatMap(({ path }) => items(document, ...path, 'panels'));
  return unknownNames(document, named, 'panel', idsOf(document, 'panels'));
}

/** A zone number means one thing on the whole site: the station knows nothing but the number, which it reads without leading zeros. */
function zoneNumbers(document: ConfigDocument): Problem[] {
  const ofPanels = panelZones(document).map(({ path }) => ({ path, value: path.at(-1) }));
  const ofCameras = [...views(document), ...inputZones(document)].map(({ path }) => at(document, [...path, 'zone']));
  const keys = [...ofPanels, ...ofCameras].map(({ path, value }) => ({
    path,
    value: typeof value === 'string' ? plainZone(value) : value,
  }));
  const expected = 'each number once over panels, cameras and recorders; 07 and 7 are one number';
  return repeated(keys).map(({ path }) =>
    document.problem(path, { message: 'this zone number is used twice', expected }, 'key'),
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
    ...[...panelZones(document), ...views(document), ...inputZones(document)].map(({ path }) =>
      at(document, [...path, 'partition']),
    ),
    ...panelZones(document).flatMap(({ path }) => items(document, ...path, 'partitions')),
  ];
  return [...claims, ...unknownNames(document, named, 'partition', known)];
}

function unknownCameras(document: ConfigDocument): Problem[] {
  const named = panelZones(document).flatMap(({ path }) => items(document, ...path, 'cameras'));
  return unknownNames(document, named, 'camera', idsAmong(document, views(document)));
}

/** What a camera sees is shown to everybody, so it is no silent hold-up (safety 4); a button wired to it may be one. */
function silentViews(document: ConfigDocument): Problem[] {
  return views(document)
    .map(({ path }) => at(document, [...path, 'zone_type']))
    .filter(({ value }) => value === 'panic_silent')
    .map(({ path }) =>
      document.problem(path, {
        message: 'is for hold-up buttons, not for what a camera sees',
        expected: 'the button under inputs, or another type',
      }),
    );
}

/** Both zones of a pair exist, differ, and are burglary zones; life safety never waits for a second zone (safety 1). */
function crossZones(document: ConfigDocument): Problem[] {
  const types = zoneTypesOf(document);
  return items(document, 'cross_zones').flatMap(({ path }) => {
    const zones = items(document, ...path, 'zones');
    const twice = repeated(zones).map((entry) =>
      document.problem(entry.path, { message: 'is the same zone', expected: 'two zones' }),
    );
    return [...twice, ...zones.flatMap((entry) => crossZone(document, entry, types))];
  });
}

function crossZone(document: ConfigDocument, { path, value }: Entry, types: ReadonlyMap<string, unknown>): Problem[] {
  if (typeof value !== 'string') return [];
  if (!types.has(value)) return [document.problem(path, unknown('zone', value, [...types.keys()]))];
  const type = zoneType.safeParse(types.get(value));
  if (!type.success || crossZoneTypes.includes(type.data)) return [];
  return [
    document.problem(path, {
      message: `is of type ${type.data}, which never waits for a second zone`,
      expected: `a zone of type ${crossZoneTypes.join(', ')}`,
    }),
  ];
}

/** A pair decides within one partition; over two it would never trip. */
function apartZones(document: ConfigDocument): Problem[] {
  const ofPanels = panelZones(document).map(({ path }): [unknown, unknown[]] => [
    path.at(-1),
    [at(document, [...path, 'partition']), ...items(document, ...path, 'partitions')].map(({ value }) => value),
  ]);
  const ofCameras = [...views(document), ...inputZones(document)].map(({ path }): [unknown, unknown[]] => [
    at(document, [...path, 'zone']).value,
    [at(document, [...path, 'partition']).value],
  ]);
  const partitions = new Map([...ofPanels, ...ofCameras]);
  const named = (zone: unknown) => (partitions.get(zone) ?? []).filter((id) => typeof id === 'string');
  return items(document, 'cross_zones').flatMap(({ path }) => {
    const [one, two] = items(document, ...path, 'zones').map(({ value }) => named(value));
    if (one === undefined || two === undefined || one.length === 0 || two.length === 0) return [];
    if (one.some((id) => two.includes(id))) return [];
    const expected = 'two zones of one partition';
    return [document.problem([...path, 'zones'], { message: 'no partition holds both zones', expected })];
  });
}

const engineRules = ['abort_delay', 'cancel_window', 'confirmation', 'exit_restart', 'auto_stay'] as const;

/** A panel decides its partitions by itself: what is written here would not hold, and nobody would know. */
function rulesOfPanels(document: ConfigDocument): Problem[] {
  const owned = panelPartitions(document).map(({ path }) => String(path.at(-1)));
  return items(document, 'partitions')
    .filter(({ path }) => owned.includes(String(at(document, [...path, 'id']).value)))
    .flatMap(({ path }) => engineRules.map((key) => at(document, [...path, key])))
    .filter(({ value }) => value !== undefined)
    .map(({ path }) => {
      const what = {
        message: 'has no effect: a panel decides this partition',
        expected: 'the rule in the panel itself',
      };
      return document.problem(path, what, 'key');
    });
}

function timezone(document: ConfigDocument): Problem[] {
  const { path, value } = at(document, ['site', 'timezone']);
  if (typeof value !== 'string' || isTimezone(value)) return [];
  const near = nearest(value, Intl.supportedValuesOf('timeZone'));
  const what = { message: 'is not a time zone', expected: 'an IANA name such as Europe/Berlin' };
  return [document.problem(path, { ...what, ...(near !== undefined && { nearest: near }) })];
}

/** With several partitions, a panel's zone and a camera's zone must say where they belong. */
function panelWithoutPartition(document: ConfigDocument): Problem[] {
  if (idsOf(document, 'partitions').length < 2) return [];
  const cameras = views(document).filter(({ path }) => at(document, [...path, 'zone']).value !== undefined);
  return [...panelZones(document), ...cameras, ...inputZones(document)]
    .filter(({ path }) => ['partition', 'partitions'].every((key) => at(document, [...path, key]).value === undefined))
    .map(({ path }) =>
      document.problem([...path, 'partition'], {
        message: 'is missing',
        expected: 'the partition of the zone, since the site has more than one',
      }),
    );
}
