import type { Command, PartitionId, PartitionPlan, WalkTestResult, ZoneNumber, ZonePlan } from '#site/model/index.ts';
import { emit, localEvent, place } from './events.ts';
import { checkExpected, mayChange, refuse } from './gate.ts';
import { after, clearTimer, isRunning, now, setTimer, since } from './timers.ts';
import type { Done, Failure, TestState } from './types.ts';
import { namedZone, partitionOf, periodOf, setPeriod, type Work, zonePlan } from './work.ts';
import { behaviour, forGood } from './zones.ts';

/** A walk test is always timed; minutes. */
export const testMinutes = { default: 60, most: 240 } as const;
/** Zone numbers that are named in the report, and to who ends the test; their count is always told. */
const namedCap = 24;
const answeredCap = 64;

/** Zones a walk test is about. Life safety, hold-up and key switches are never in it: they act as always (safety 1). */
function isTestable(zone: ZonePlan): boolean {
  const { group } = behaviour(zone);
  return !forGood(group) && group !== 'key';
}

/** The walk test of a partition while it runs; its timer is the mark. */
export function testOf(work: Work, id: PartitionId): TestState | undefined {
  return isRunning(work, 'test', id) ? periodOf(work.state, id).test : undefined;
}

/** The zones a walk test of the partition is about. */
const testZones = (work: Work, id: PartitionId, { zones }: TestState): readonly ZoneNumber[] =>
  work.plan.zones
    .filter((zone) => zone.partitions.includes(id) && isTestable(zone))
    .flatMap(({ number }) => (zones === undefined || zones.includes(number) ? [number] : []));

const isIn = (work: Work, id: PartitionId, zone: ZonePlan): boolean => {
  const test = testOf(work, id);
  return test !== undefined && isTestable(zone) && (test.zones === undefined || test.zones.includes(zone.number));
};

/** A trip in a partition whose walk test it belongs to is no alarm and no trouble there. */
export const isTested = isIn;

/** Of a zone that watches regardless of arming: tested in every partition it belongs to. */
export const isTestedAll = (work: Work, zone: ZonePlan): boolean =>
  zone.partitions.length > 0 && zone.partitions.every((id) => isIn(work, id, zone));

/** Begins or ends a walk test. It is for disarmed partitions siteward decides, all of them or none. */
export function testCommand(work: Work, command: Command, targets: readonly PartitionPlan[]): Failure | Done {
  const plans = command.partition === 'all' ? targets.filter(({ authority }) => authority === 'engine') : targets;
  if (plans.length === 0 || plans.some(({ authority }) => authority !== 'engine')) return refuse('NOT_CONTROLLED');
  for (const { id } of plans) {
    const failure = checkExpected(work, command, partitionOf(work, id));
    if (failure !== undefined) return failure;
  }
  if (command.verb === 'end_test') return endAll(work, command, plans);
  const failure = mayChange(work, command, 'test') ?? checkZones(work, command, plans);
  if (failure !== undefined) return failure;
  for (const { id } of plans) {
    const { state, alarm } = partitionOf(work, id);
    if (state !== 'disarmed' || alarm !== undefined) return refuse('NOT_ALLOWED', { field: 'state' });
  }
  for (const { id } of plans) begin(work, id, command);
  return { changed: true };
}

function checkZones(work: Work, { zones = [] }: Command, plans: readonly PartitionPlan[]): Failure | undefined {
  const unknown = zones.filter((number) => {
    const zone = namedZone(work.plan, number);
    return zone === undefined || !plans.some(({ id }) => zone.partitions.includes(id));
  });
  if (unknown.length > 0) return refuse('UNKNOWN_TARGET', { field: 'zones', zones: unknown });
  const fixed = zones.filter((number) => {
    const zone = zonePlan(work.plan, number);
    return zone !== undefined && !isTestable(zone);
  });
  return fixed.length > 0 ? refuse('NOT_ALLOWED', { field: 'zones', zones: fixed }) : undefined;
}

/**
 * Told anew it begins its time anew, at most until the most after its first begin; what was walked stays. Whatever
 * changes about it is reported (safety 1).
 */
function begin(work: Work, id: PartitionId, { minutes, zones, source, actor }: Command): void {
  const before = testOf(work, id);
  const began = before?.since ?? now(work.at);
  const mostMs = testMinutes.most * 60_000 - Math.max(since(work.at, began), 0);
  const ms = Math.max(0, Math.min((minutes ?? testMinutes.default) * 60_000, mostMs));
  const test: TestState = {
    walked: before?.walked ?? [],
    since: began,
    ...(zones === undefined ? {} : { zones }),
    ...(actor === undefined ? {} : { by: actor }),
  };
  setPeriod(work, id, { test });
  setTimer(work, 'test', id, after(work.at, ms));
  work.rules.add('test mode');
  const tested = testZones(work, id, test);
  const report = { type: 'walk_test', tested: tested.length, tested_zones: tested.slice(0, namedCap).join(' ') };
  const detail = `minutes: ${Math.round(ms / 60_000)}`;
  testEvent(work, id, { active: true, source, actor, detail, evidence: [report] });
}

function endAll(work: Work, { source, actor }: Command, plans: readonly PartitionPlan[]): Done {
  const tests: WalkTestResult[] = [];
  for (const { id } of plans) {
    const test = testOf(work, id);
    if (test === undefined) continue;
    const missed = missedOf(work, id, test);
    endTest(work, id, { source, actor, detail: 'command' });
    tests.push({
      partition: id,
      walked: test.walked.length,
      walkedZones: test.walked.slice(0, answeredCap),
      missed: missed.length,
      missedZones: missed.slice(0, answeredCap),
    });
  }
  return tests.length === 0 ? { changed: false } : { changed: true, tests };
}

/** Zones of the test that have not tripped. */
export const missedOf = (work: Work, id: PartitionId, test: TestState): readonly ZoneNumber[] =>
  testZones(work, id, test).filter((number) => !test.walked.includes(number));

/**
 * Ends a walk test: by command, at the end of its time, because the partition leaves `disarmed`, or at an alarm. The
 * report names how many zones were walked and which were not.
 */
export function endTest(
  work: Work,
  id: PartitionId,
  how: {
    readonly source: string;
    readonly actor?: string | undefined;
    readonly detail: 'command' | 'time' | 'arming' | 'alarm';
  },
): void {
  const { test } = periodOf(work.state, id);
  if (test === undefined) return;
  clearTimer(work, 'test', id);
  setPeriod(work, id, { test: undefined });
  work.rules.add('test mode');
  const missed = missedOf(work, id, test);
  const report = {
    type: 'walk_test',
    walked: test.walked.length,
    missed: missed.length,
    missed_zones: missed.slice(0, namedCap).join(' '),
  };
  testEvent(work, id, { active: false, ...how, evidence: [report] });
}

/** The first trip of a zone in a walk test. */
export function noteWalked(work: Work, zone: ZonePlan, source: string): void {
  for (const id of zone.partitions) {
    const test = testOf(work, id);
    if (test === undefined || !isIn(work, id, zone) || test.walked.includes(zone.number)) continue;
    work.rules.add('test mode');
    setPeriod(work, id, { test: { ...test, walked: [...test.walked, zone.number] } });
    localEvent(work, { class: 'test', kind: 'zone_walked', ...place(work, { partition: id, zone }), source });
  }
}

/** Start and end are reported, and call nobody (safety 1; Contact ID 607). */
function testEvent(
  work: Work,
  id: PartitionId,
  how: {
    readonly active: boolean;
    readonly source: string;
    readonly actor?: string | undefined;
    readonly detail: string;
    readonly evidence?: readonly Readonly<Record<string, string | number>>[];
  },
): void {
  const { active, source, actor, detail, evidence } = how;
  emit(work, {
    class: 'test',
    kind: 'walk_test',
    status: active ? 'active' : 'restored',
    lane: 'trouble',
    ...place(work, { partition: id }),
    contactId: '607',
    sia: active ? 'TS' : 'TE',
    source,
    ...(actor === undefined ? {} : { actor }),
    signalToStation: false,
    toCloud: true,
    media: [],
    detail,
    ...(evidence === undefined ? {} : { evidence }),
  });
}
