import type {
  PartitionId,
  PartitionPlan,
  PartitionState,
  SitePlan,
  Stamp,
  ZoneNumber,
  ZonePlan,
  ZoneState,
} from '#site/model/index.ts';
import { isVisibleZone } from '#site/model/index.ts';
import type { Decision, Effect, PeriodState, SiteState } from './types.ts';

/**
 * One decision under way. The state is replaced, never changed in place: what no rule touched stays the same object,
 * which is how `changesBetween` finds what did change.
 */
export interface Work {
  readonly plan: SitePlan;
  readonly at: Stamp;
  state: SiteState;
  readonly effects: Effect[];
  readonly rules: Set<string>;
  events: number;
}

export function begin(plan: SitePlan, state: SiteState, at: Stamp): Work {
  return { plan, at, state, effects: [], rules: new Set(), events: 0 };
}

export function decision(work: Work): Decision {
  return { state: work.state, effects: work.effects, rules: [...work.rules] };
}

/** A member of a record by a key that may come from outside: inherited names such as `constructor` are not members. */
export function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

export function without<T>(record: Readonly<Record<string, T>>, key: string): Readonly<Record<string, T>> {
  if (!Object.hasOwn(record, key)) return record;
  const { [key]: _, ...rest } = record;
  return rest;
}

/** A copy with changes; `undefined` removes the member, so that the copy stays equal over JSON. */
export function change<T extends object>(object: T, changes: { readonly [K in keyof T]?: T[K] | undefined }): T {
  const result: Record<string, unknown> = { ...object, ...changes };
  for (const [name, value] of Object.entries(changes)) if (value === undefined) delete result[name];
  return result as T;
}

const emptyPeriod: PeriodState = { bypassed: [], entered: [], signalled: {} };

export function periodOf(state: SiteState, id: PartitionId): PeriodState {
  return own(state.periods, id) ?? emptyPeriod;
}

export function setPeriod(
  work: Work,
  id: PartitionId,
  changes: { readonly [K in keyof PeriodState]?: PeriodState[K] | undefined },
): void {
  const period = change(periodOf(work.state, id), changes);
  work.state = { ...work.state, periods: { ...work.state.periods, [id]: period } };
}

export function partitionOf(work: Work, id: PartitionId): PartitionState {
  const partition = own(work.state.partitions, id);
  if (partition === undefined)
    throw new TypeError(`partition ${id} is in the plan but not in the state: adopt the plan`);
  return partition;
}

export function setPartition(
  work: Work,
  id: PartitionId,
  changes: { readonly [K in keyof PartitionState]?: PartitionState[K] | undefined },
): void {
  const partition = change(partitionOf(work, id), changes);
  work.state = { ...work.state, partitions: { ...work.state.partitions, [id]: partition } };
}

export const partitionPlan = (work: Work, id: PartitionId): PartitionPlan | undefined =>
  work.plan.partitions.find((partition) => partition.id === id);

/** The plan of a partition siteward decides by itself; undefined for every other. */
export function enginePlan(work: Work, id: PartitionId): PartitionPlan | undefined {
  const plan = partitionPlan(work, id);
  return plan?.authority === 'engine' ? plan : undefined;
}

/** As commands name it: a silent hold-up zone is none of anybody's, and cannot be told from one that is not there (safety 4). */
export function namedZone(plan: SitePlan, number: ZoneNumber): ZonePlan | undefined {
  const zone = zonePlan(plan, number);
  return zone !== undefined && isVisibleZone(zone) ? zone : undefined;
}

export function zonePlan(plan: SitePlan, number: ZoneNumber): ZonePlan | undefined {
  return plan.zones.find((zone) => zone.number === number);
}

export function zoneOf(state: SiteState, number: ZoneNumber): ZoneState | undefined {
  return own(state.zones, number);
}

export function setZones(work: Work, zones: readonly ZoneState[]): void {
  if (zones.length === 0) return;
  const changed = Object.fromEntries(zones.map((zone) => [zone.number, zone]));
  work.state = { ...work.state, zones: { ...work.state.zones, ...changed } };
}

/** Whether what a zone reports is for the partition's panel to judge, and not for siteward. */
export function decidedByPanel(
  work: Work,
  id: PartitionId,
  source: { readonly kind: string; readonly id: string },
): boolean {
  const plan = partitionPlan(work, id);
  return plan?.authority === 'panel' && source.kind === 'panel' && plan.panel === source.id;
}
