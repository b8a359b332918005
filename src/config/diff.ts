import { Secret } from '#lib/secret.ts';
import type { Settings } from './schema.ts';

/** One part of the configuration that a reload touches. Sections without entries have the id of their own name. */
export interface SettingsChange {
  readonly kind: keyof Settings;
  readonly id: string;
  readonly change: 'added' | 'removed' | 'changed';
}

/** What is different in `next`, by (kind, id). A secret counts as changed when its text is. */
export function diffSettings(previous: Settings, next: Settings): SettingsChange[] {
  const kinds = [...new Set([...Object.keys(previous), ...Object.keys(next)])] as (keyof Settings)[];
  return kinds.flatMap((kind) => diffSection(kind, entries(kind, previous[kind]), entries(kind, next[kind])));
}

type Entries = ReadonlyMap<string, unknown>;

function diffSection(kind: keyof Settings, previous: Entries, next: Entries): SettingsChange[] {
  return [...new Set([...previous.keys(), ...next.keys()])].flatMap((id) => {
    if (!previous.has(id)) return { kind, id, change: 'added' as const };
    if (!next.has(id)) return { kind, id, change: 'removed' as const };
    return same(previous.get(id), next.get(id)) ? [] : { kind, id, change: 'changed' as const };
  });
}

function entries(kind: string, section: unknown): Entries {
  if (section === undefined) return new Map();
  if (!Array.isArray(section)) return new Map([[kind, section]]);
  return new Map(section.map((entry) => [String(entry.id), entry]));
}

function same(a: unknown, b: unknown): boolean {
  if (a instanceof Secret || b instanceof Secret) {
    return a instanceof Secret && b instanceof Secret && a.reveal() === b.reveal();
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b);
  const [left, right] = [Object.entries(a), Object.keys(b)];
  return (
    left.length === right.length &&
    left.every(([key, value]) => Object.hasOwn(b, key) && same(value, b[key as keyof typeof b]))
  );
}
