import type { PartitionId, ZonePlan } from '#site/model/index.ts';
import { isCalmer } from '#site/model/index.ts';
import { doubt } from './doubt.ts';
import { zoneKey } from './reports.ts';
import type { Holdable, ZoneLevel } from './types.ts';
import { change, own, partitionOf, type Work, without } from './work.ts';
import { judged } from './zone-doubt.ts';

type ZoneSignal = Extract<Holdable, { kind: 'zone' }>;
const levels = ['open', 'alarm', 'tamper'] as const;

/**
 * The end of an alarm may be known only from a retained word that is held until its panel counts as heard. A live word that
 * something begins overtakes it, and must not be taken for the alarm before it (safety 1): so that end is noted first.
 */
export function zoneOvertakes(work: Work, plan: ZonePlan, live: ZoneSignal, isOne: boolean): void {
  const key = zoneKey(plan.number);
  const held = own(work.state.held, key);
  if (live.replay || held?.kind !== 'zone') return;
  // A detector with one level in two forms that is tripped in one of them has not ended in the other.
  const begins = isTripped(live) && !(isOne && isTripped(held));
  const ends = (level: ZoneLevel) => held[level] === false && (level === 'tamper' ? live.tamper === true : begins);
  const ended = levels.filter(ends);
  if (ended.length === 0) return;
  const others = levels.filter((level) => !ended.includes(level));
  judged(work, plan, leftOut(held, others), isOne);
  // That of a detector with one level in two forms is said now, and is no end of what begins.
  if (isOne) work.state = { ...work.state, held: { ...work.state.held, [key]: leftOut(held, ended) } };
}

const isTripped = ({ open, alarm }: ZoneSignal): boolean => open === true || alarm === true;

const leftOut = (held: ZoneSignal, names: readonly ZoneLevel[]): ZoneSignal =>
  change(held, Object.fromEntries(names.map((level) => [level, undefined])));

/** The same of a partition, of which something in it tells a live alarm. */
export function partitionOvertakes(work: Work, id: PartitionId): void {
  const key = `partition:${id}`;
  const held = own(work.state.held, key);
  const before = partitionOf(work, id);
  if (held?.kind !== 'partition' || !isCalmer(before.state, held.state)) return;
  doubt(work, before, held.state);
  work.state = { ...work.state, held: without(work.state.held, key) };
}
