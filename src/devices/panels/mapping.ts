import { SitewardError } from '#errors.ts';
import type { DeviceRef, PanelRefusal, PartitionId, Signal, ZoneNumber, ZoneType } from '#site/model/index.ts';
import { codeMeaning, fits, isPressed } from './codes.ts';
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
  /** Further words for a partition, to the key it goes by. */
  readonly aliases: ReadonlyMap<string, string>;
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
  for (const [number, zone] of Object.entries(panel.zones ?? {})) {
    for (const given of keyList(zone.key ?? number)) {
      const key = normalKey(given, identity.zone);
      const earlier = zones.get(key);
      if (earlier !== undefined) throw twice(panel.id, `zones.${number}.key`, `zone ${earlier.number}`, key);
      zones.set(key, { number, type: zone.type });
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
  return { panel: { kind: 'panel', id: panel.id }, zones, partitions, keys, aliases };
}

const twice = (panel: string, place: string, other: string, key: string) =>
  new SitewardError('profile_invalid', `panel ${panel}: ${place}: "${key}" is already the key of ${other}`, {
    facts: { panel, place, key },
  });

/** The signals a reading stands for. Keys the site does not know become hints, never a zone. */
export function mapReading(
  mapping: Mapping,
  reading: Reading,
): { signals: readonly Signal[]; hints: readonly MappingHint[] } {
  const nothing = { signals: [], hints: [] };
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
 * (`key: fire`, `panic`, `duress`...). A hold-up nobody has a zone for leaves no trace (safety 4).
 */
function mapReport(mapping: Mapping, reading: Extract<Reading, { kind: 'report' }>) {
  const nothing = { signals: [], hints: [] };
  const meaning = reading.replay ? undefined : codeMeaning(reading);
  if (meaning === undefined) return nothing;
  const source = mapping.panel;
  const { active } = meaning;
  if (meaning.is === 'trouble') {
    return {
      signals: [{ kind: 'trouble' as const, source, trouble: meaning.trouble, active, replay: false }],
      hints: [],
    };
  }
  const role = meaning.is === 'alarm' ? meaning.role : undefined;
  const named = mapping.zones.get(reading.key);
  // The number may be that of a keypad or a user, which is some other zone's too.
  const isOwn = named !== undefined && (role === undefined || fits(role, named));
  const zone = isOwn || role === undefined ? named : mapping.zones.get(role);
  if (zone !== undefined) {
    const levels = active && role !== undefined && isPressed(role) ? [false, true] : [active];
    const signals = levels.map((alarm) => ({ kind: 'zone' as const, source, zone: zone.number, alarm, replay: false }));
    return { signals, hints: [] };
  }
  if (role === undefined || role === 'duress' || !active) return nothing;
  return { signals: [], hints: [{ kind: 'unknown_key' as const, what: 'zone' as const, key: role }] };
}

const layerName = { bridge: 'bridge', device: "panel's link" } as const;

function mapZone(mapping: Mapping, reading: Extract<Reading, { kind: 'zone' }>) {
  const { key, kind, zoneType, context: _, ...facts } = reading;
  const zone = mapping.zones.get(key);
  if (zone === undefined) {
    // "No alarm" of a zone nobody configured, such as a partition's fire flag, is no news, nor is that it can be reached.
    const silent = (facts.alarm === false || facts.online !== undefined) && Object.keys(facts).length === 2;
    return { signals: [], hints: silent ? [] : [{ kind: 'unknown_key' as const, what: 'zone' as const, key }] };
  }
  // Of a hold-up button nothing may be said at the moment somebody presses it (safety 4).
  const differs = zoneType !== undefined && zoneType !== zone.type && zone.type !== 'panic_silent';
  return {
    signals: [{ kind, source: mapping.panel, zone: zone.number, ...facts }],
    hints: differs ? [{ kind: 'type_differs' as const, key, value: zoneType }] : [],
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

function mapPartition(mapping: Mapping, reading: Extract<Reading, { kind: 'partition' }>) {
  const { key, state, fault, user, replay } = reading;
  const partition = mapping.partitions.get(key);
  if (partition === undefined) {
    return { signals: [], hints: [{ kind: 'unknown_key' as const, what: 'partition' as const, key }] };
  }
  const source = mapping.panel;
  const signals: Signal[] = [];
  // A retained refusal answered somebody long ago.
  if (fault !== undefined && !replay) signals.push({ kind: 'refusal', source, partition, reason: refusalOf[fault] });
  if (state !== undefined) {
    signals.push({ kind: 'partition', source, partition, state, replay, ...(user === undefined ? {} : { user }) });
  }
  return { signals, hints: [] };
}
