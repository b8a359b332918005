import { BoundedMap } from '#lib/bounded.ts';
import type { PartitionId, Signal } from '#site/model/index.ts';
import { alarmOf, dangerApart, type Role } from './codes.ts';
import { type Mapping, onlyPartition } from './mapping.ts';
import type { Reading } from './reading.ts';

/** Dangers at one panel that are remembered while they last; the oldest gives way. */
const lastingCap = 256;

/** `endDoubted`: its end was told by a word that was retained or queued, and may be older. */
type Danger = { readonly role: Role; readonly partition?: PartitionId; readonly endDoubted?: true };

/**
 * Dangers a bridge tells of things that are no zone of the site: a detector nobody has configured, a fire key. No zone is made of
 * them, and yet each is an alarm, once while it lasts (safety 1): of the zone that stands for the danger (`key: fire`), else of the panel.
 */
export class Dangers {
  readonly #mapping: Mapping;
  readonly #lasting = new BoundedMap<string, Danger>(lastingCap);
  /** What was retained is told when it is sure that the panel is there. */
  readonly #retained = new Map<string, Danger>();

  constructor(mapping: Mapping) {
    this.#mapping = mapping;
  }

  /** What the readings of one message add to their own signals; `isNow`: it was neither retained nor waited. */
  take(readings: readonly Reading[], isNow: boolean): readonly Signal[] {
    const ofZones = readings.flatMap((one) => (one.kind === 'zone' && !one.context ? [one] : []));
    const partitions = readings.flatMap((one) => (one.kind === 'partition' && !one.context ? [one] : []));
    const signals: Signal[] = [];
    const inMessage = partitions.map(({ key }) => this.#mapping.partitions.get(key)).find((id) => id !== undefined);
    for (const { key, alarm, zoneType, replay } of ofZones) {
      if (alarm === false) signals.push(...this.#end(`zone ${key}`, replay, isNow));
      const role = alarm === true ? dangerApart(this.#mapping.zones.get(key), zoneType) : undefined;
      if (role !== undefined) signals.push(...this.#begin(`zone ${key}`, this.#at(role, inMessage), replay));
    }
    const isOfZone = ofZones.some(({ alarm, zoneType }) => alarm !== undefined && zoneType === 'fire');
    for (const { key, fire, state, replay } of isOfZone ? [] : partitions) {
      // Some bridges tell no end of it but that the alarm is over.
      if (fire === false || (state !== undefined && state !== 'triggered'))
        signals.push(...this.#end(`partition ${key}`, replay, isNow));
      const id = this.#mapping.partitions.get(key);
      if (fire === true) signals.push(...this.#begin(`partition ${key}`, this.#at('fire', id), replay));
    }
    return signals;
  }

  /** Call now and then, while the panel is there. */
  due(): readonly Signal[] {
    const due = [...this.#retained];
    this.#retained.clear();
    return due.flatMap(([name, danger]) => this.#alarm(name, danger, true));
  }

  #at(role: Role, partition: PartitionId | undefined): Danger {
    return { role, ...(partition === undefined ? onlyPartition(this.#mapping) : { partition }) };
  }

  #begin(name: string, danger: Danger, replay: boolean): readonly Signal[] {
    const before = this.#lasting.get(name);
    if (before !== undefined && before.endDoubted === undefined) return [];
    if (!replay) {
      this.#retained.delete(name);
      return this.#alarm(name, danger, false);
    }
    if (this.#retained.size < lastingCap) this.#retained.set(name, danger);
    return [];
  }

  #alarm(name: string, danger: Danger, replay: boolean): readonly Signal[] {
    const { role } = danger;
    const zone = this.#mapping.zones.get(role);
    const isMore = this.#isOn(role);
    this.#lasting.set(name, danger);
    const source = this.#mapping.panel;
    if (zone === undefined) {
      const { partition } = danger;
      const at = partition === undefined ? {} : { partition };
      // After a restart it may be told twice: the end of the one before may never have been heard.
      return [{ kind: 'alarm', source, alarm: alarmOf(role), ...at, ...(replay && { replay }) }];
    }
    // A second one at the same zone is a second alarm, and the end of one before this run may never have been heard.
    const levels = isMore || !replay ? [false, true] : [true];
    return levels.map((alarm) => ({ kind: 'zone', source, zone: zone.number, alarm, replay }));
  }

  /** What is not live ends nothing here, and what begins next is another one; for its zone the site judges by itself. */
  #end(name: string, replay: boolean, isNow: boolean): readonly Signal[] {
    if (isNow) this.#retained.delete(name);
    const danger = this.#lasting.get(name);
    if (danger === undefined) return [];
    this.#lasting.delete(name);
    const zone = this.#isOn(danger.role) ? undefined : this.#mapping.zones.get(danger.role);
    if (!isNow) this.#lasting.set(name, { ...danger, endDoubted: true });
    return zone === undefined
      ? []
      : [{ kind: 'zone', source: this.#mapping.panel, zone: zone.number, alarm: false, replay }];
  }

  #isOn(role: Role): boolean {
    return [...this.#lasting.entries()].some(([, one]) => one.role === role);
  }
}
