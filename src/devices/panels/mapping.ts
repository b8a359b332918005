import { SitewardError } from '#errors.ts';
import type {
  DeviceRef,
  PanelRefusal,
  PartitionId,
  ReportedCode,
  Signal,
  ZoneNumber,
  ZoneType,
} from '#site/model/index.ts';
import { termOf } from './code-terms.ts';
import { alarmOf, codeMeaning, dangerApart, fits } from './codes.ts';
import { keyList, type PanelOptions } from './options.ts';
import type { Profile } from './profile.ts';
import type { Fault, Reading } from './reading.ts';
import { normalKey } from './values.ts';

/** The site's numbers for one panel's keys. */
export interface Mapping {
  readonly panel: DeviceRef;
  /** By the bridge's key. */
  readonly zones: ReadonlyMap<string, { readonly number: ZoneNumber; readonly type: ZoneType }>;
  readonly partitions: ReadonlyMap<string, PartitionId>;
  /** The bridge's key by our partition, as commands use it. */
  readonly keys: ReadonlyMap<PartitionId, string>;
  /** The same by zone. */
  readonly zoneKeys: ReadonlyMap<ZoneNumber, string>;
  /** Further words for a partition, to the key it goes by. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Types of zones of whose alarm the profile reads nothing. */
  readonly opensOnly?: readonly ZoneType[];
}

/** Something a technician should look at; `mapReading` gives them, `hints.ts` keeps them. */
export type MappingHint =
  | { readonly kind: 'unknown_key'; readonly what: 'zone' | 'partition'; readonly key: string }
  | { readonly kind: 'type_differs'; readonly key: string; readonly value: string };

/**
 * Which bridge key is which zone and partition. Keys default to the number; for bridges that count, leading zeros do
 * not matter. Throws `profile_invalid` when two numbers would share a key.
 */
export function createMapping(panel: PanelOptions, identity: Profile['identity']): Mapping {
  const zones = new Map<string, { number: ZoneNumber; type: ZoneType }>();
  const zoneKeys = new Map<ZoneNumber, string>();
  for (const [number, zone] of Object.entries(panel.zones ?? {})) {
    for (const given of keyList(zone.key ?? number)) {
      const key = normalKey(given, identity.zone);
      const earlier = zones.get(key);
      if (earlier !== undefined) throw twice(panel.id, `zones.${number}.key`, `zone ${earlier.number}`, key);
      zones.set(key, { number, type: zone.type });
      if (!zoneKeys.has(number)) zoneKeys.set(number, key);
    }
  }
  const partitions = new Map<string, PartitionId>();
  const keys = new Map<PartitionId, string>();
  const aliases = new Map<string, string>();
  // A panel without a list has one partition, which every counting bridge calls 1.
  for (const [id, given] of Object.entries(panel.partitions ?? { p1: '1' })) {
    const words = keyList(given).map((word) => normalKey(word, identity.partition));
    const [first] = words;
    if (first === undefined) continue;
    for (const key of words) {
      const earlier = partitions.get(key) ?? partitions.get(aliases.get(key) ?? '');
      if (earlier !== undefined) throw twice(panel.id, `partitions.${id}`, `partition ${earlier}`, key);
      if (key !== first) aliases.set(key, first);
      else partitions.set(first, id);
    }
    keys.set(id, first);
  }
  return { panel: { kind: 'panel', id: panel.id }, zones, partitions, keys, zoneKeys, aliases };
}

const twice = (panel: string, place: string, other: string, key: string) =>
  new SitewardError('profile_invalid', `panel ${panel}: ${place}: "${key}" is already the key of ${other}`, {
    facts: { panel, place, key },
  });

interface Mapped {
  readonly signals: readonly Signal[];
  readonly hints: readonly MappingHint[];
}
const nothing: Mapped = { signals: [], hints: [] };

/** The signals a reading stands for. Keys the site does not know become hints, never a zone; dangers they tell are for `dangers.ts`. */
export function mapReading(mapping: Mapping, reading: Reading): Mapped {
  // A record of the past, such as a retained event: context for people, no signal.
  if (reading.context) return nothing;
  const source = mapping.panel;
  switch (reading.kind) {
    case 'zone':
      return mapZone(mapping, reading);
    case 'partition':
      return mapPartition(mapping, reading);
    case 'trouble': {
      const { trouble, active, replay } = reading;
      return { signals: [{ kind: 'trouble', source, trouble, active, replay }], hints: [] };
    }
    case 'link': {
      const reason = reading.up ? {} : { reason: `the ${layerName[reading.layer]} says ${reading.status}` };
      return { signals: [{ kind: 'link', source, layer: reading.layer, up: reading.up, ...reason }], hints: [] };
    }
    case 'report':
      return mapReport(mapping, reading);
    default:
      return nothing;
  }
}

/**
 * A code the panel reports to its station. It names a zone, or the one that stands for its danger in the configuration
 * (`key: fire`, `panic`, `duress`...), else it is an alarm of the panel; a hold-up shows to nobody in any case (safety 4). Many
 * panels report no end: what is told a second time without one is a second alarm (safety 1).
 */
function mapReport(mapping: Mapping, reading: Extract<Reading, { kind: 'report' }>): Mapped {
  const meaning = reading.replay ? undefined : codeMeaning(reading);
  if (meaning === undefined) return nothing;
  const source = mapping.panel;
  const { active } = meaning;
  const code = codeOf(reading);
  if (meaning.is === 'trouble') {
    return {
      signals: [{ kind: 'trouble', source, trouble: meaning.trouble, active, ...code, replay: false }],
      hints: [],
    };
  }
  const role = meaning.is === 'alarm' ? meaning.role : undefined;
  const named = mapping.zones.get(reading.key);
  // The number may be that of a keypad or a user, which is some other zone's too.
  const isOwn = named !== undefined && (role === undefined || fits(role, named));
  const zone = isOwn || role === undefined ? named : mapping.zones.get(role);
  if (zone !== undefined) {
    const said: Signal = { kind: 'zone', source, zone: zone.number, alarm: active, ...code, replay: false };
    // The end in between is told by no code.
    const isAgain = active && role !== undefined;
    return {
      signals: isAgain ? [{ kind: 'zone', source, zone: zone.number, alarm: false, replay: false }, said] : [said],
      hints: [],
    };
  }
  if (role === undefined || !active) return nothing;
  return {
    signals: [{ kind: 'alarm', source, alarm: alarmOf(role), ...onlyPartition(mapping), ...code }],
    hints: role === 'duress' ? [] : [{ kind: 'unknown_key', what: 'zone', key: role }],
  };
}

/** The code and number of a report, as its event tells them. */
function codeOf({ key, contactId, sia }: Extract<Reading, { kind: 'report' }>): { code?: ReportedCode } {
  const code = sia ?? contactId?.slice(-3);
  const number = normalKey(key, 'number');
  const term = code === undefined ? undefined : termOf(code);
  if (code === undefined) return {};
  return { code: { code, ...(/^[1-9]\d{0,7}$/.test(number) && { number }), ...(term !== undefined && { term }) } };
}

/** A panel with one partition need not name it. */
export function onlyPartition({ partitions }: Mapping): { partition?: PartitionId } {
  const [one, more] = [...partitions.values()];
  return one === undefined || more !== undefined ? {} : { partition: one };
}

const layerName = { bridge: 'bridge', device: "panel's link" } as const;

function mapZone(mapping: Mapping, reading: Extract<Reading, { kind: 'zone' }>): Mapped {
  const { key, kind, zoneType, context: _, ...facts } = reading;
  const zone = mapping.zones.get(key);
  if (zone === undefined) {
    if (zoneType === 'panic_silent') return nothing;
    // "No alarm" of a zone nobody configured, such as a partition's fire flag, is no news, nor is that it can be reached.
    const silent = (facts.alarm === false || facts.online !== undefined) && Object.keys(facts).length === 2;
    return { signals: [], hints: silent ? [] : [{ kind: 'unknown_key', what: 'zone', key }] };
  }
  // Of a hold-up button nothing may be said at the moment somebody presses it (safety 4).
  const differs = zoneType !== undefined && zoneType !== zone.type && zone.type !== 'panic_silent';
  const { alarm: __, ...others } = facts;
  const own = dangerApart(zone, zoneType) === undefined ? facts : others;
  const isAlarm = facts.open !== undefined && mapping.opensOnly?.includes(zone.type) === true;
  return {
    signals: [{ kind, source: mapping.panel, zone: zone.number, ...own, ...(isAlarm && { opensOnly: true }) }],
    hints: differs ? [{ kind: 'type_differs', key, value: zoneType }] : [],
  };
}

const refusalOf: Readonly<Record<Fault, PanelRefusal>> = {
  arm_failed: 'not_ready',
  wrong_code: 'wrong_code',
  code_missing: 'wrong_code',
  not_allowed: 'other',
  lockout: 'lockout',
  other: 'other',
};

function mapPartition(mapping: Mapping, reading: Extract<Reading, { kind: 'partition' }>): Mapped {
  const { key, state, fault, user, fire, replay } = reading;
  const partition = mapping.partitions.get(key);
  if (partition === undefined) {
    return { signals: [], hints: [{ kind: 'unknown_key', what: 'partition', key }] };
  }
  const source = mapping.panel;
  const signals: Signal[] = [];
  // A retained refusal answered somebody long ago.
  if (fault !== undefined && !replay) signals.push({ kind: 'refusal', source, partition, reason: refusalOf[fault] });
  if (state !== undefined) {
    const told = fire === true && state === 'triggered' ? ({ told: 'fire' } as const) : {};
    signals.push({ kind: 'partition', source, partition, state, replay, ...(user && { user }), ...told });
  }
  return { signals, hints: [] };
}
