import {
  alarming,
  type Command,
  isSet,
  type PartitionId,
  type PartitionPlan,
  type ZoneNumber,
  type ZonePlan,
} from '#site/model/index.ts';
import { bypassEvent } from './bypass-event.ts';
import { checkExpected, mayChange, mayDo, mayServe, refuse } from './gate.ts';
import { askPanel } from './panel-bypass.ts';
import { atRest } from './ready.ts';
import { after, clearTimer, isRunning, setTimer } from './timers.ts';
import type { BypassState, Done, Failure } from './types.ts';
import {
  decidedByPanel,
  namedZone,
  own,
  partitionOf,
  partitionPlan,
  periodOf,
  setPeriod,
  setZones,
  type Work,
  without,
  zonePlan,
} from './work.ts';
import { behaviour } from './zones.ts';

/** The longest time of a bypass that has one, milliseconds. */
export const bypassMs = 24 * 3_600_000;
/** A bypass whose time is over while its zone is open in an armed partition lasts until the zone has closed. */
const renewMs = 60_000;

const isBypassed = (work: Work, id: PartitionId, zone: ZoneNumber): boolean =>
  periodOf(work.state, id).bypassed.includes(zone);

/** Of a zone that watches regardless of arming: left out in each of its partitions. */
export const isLeftOut = (work: Work, { number, partitions }: ZonePlan): boolean =>
  partitions.length > 0 && partitions.every((id) => isBypassed(work, id, number));

/**
 * Leaves a zone out, or takes it back, in all its partitions at once. Life safety and hold-up are never
 * left out (safety 1), 24-hour zones and tamper only by an installer; while a partition is armed it takes the right to
 * disarm. A zone whose partitions its panel decides is the panel's to leave out.
 */
export function bypassCommand(work: Work, command: Command): Failure | Done | 'waiting' {
  const zone = namedZone(work.plan, command.zone ?? '');
  if (zone === undefined) return refuse('UNKNOWN_TARGET', { field: 'zone' });
  const plans = zone.partitions.flatMap((id) => partitionPlan(work, id) ?? []);
  const isForeign = work.plan.securityType === 4 || plans.some(({ authority }) => authority === 'external');
  const targets = plans.filter(({ id }) => !decidedByPanel(work, id, zone.source));
  // Of a key switch no word of the panel is taken for a bypass, so nothing could confirm one.
  const isPanels = plans.length > 0 && targets.length === 0 && behaviour(zone).group !== 'key';
  if (isForeign || (targets.length === 0 && !isPanels)) return refuse('NOT_CONTROLLED', { field: 'zone' });
  for (const { id } of isPanels ? plans : targets) {
    const { state } = partitionOf(work, id);
    const failure =
      checkExpected(work, command, partitionOf(work, id)) ??
      (alarming(state) ? refuse('NOT_ALLOWED', { field: 'state' }) : undefined);
    if (failure !== undefined) return failure;
  }
  if (isPanels) return mayAsk(work, command, zone, plans) ?? askPanel(work, command, zone, plans);
  return command.verb === 'bypass' ? leaveOut(work, command, zone, targets) : takeIn(work, command, zone, targets);
}

/** The same rights; a partition whose panel was not heard may be armed (safety 2). */
function mayAsk(work: Work, command: Command, zone: ZonePlan, plans: readonly PartitionPlan[]): Failure | undefined {
  const isArmed = plans.some(({ id }) => {
    const { state, stale } = partitionOf(work, id);
    return stale || state === 'unknown' || isSet(state);
  });
  return command.verb === 'bypass'
    ? mayLeaveOut(work, command, zone, isArmed)
    : mayTakeIn(work, command, zone, isArmed);
}

function leaveOut(work: Work, command: Command, zone: ZonePlan, targets: readonly PartitionPlan[]): Failure | Done {
  const isArmed = targets.some(({ id }) => isSet(partitionOf(work, id).state));
  const failure = mayLeaveOut(work, command, zone, isArmed);
  if (failure !== undefined) return failure;
  const until = command.until ?? (command.minutes === undefined ? 'disarm' : 'time');
  const entry: BypassState = { until, ...(command.actor === undefined ? {} : { by: command.actor }) };
  const isThere = ({ id }: PartitionPlan) =>
    isBypassed(work, id, zone.number) &&
    bypassOf(work, id, zone.number)?.until === until &&
    !isRunning(work, 'bypass', { partition: id, zone: zone.number });
  if (command.minutes === undefined && targets.every(isThere)) return { changed: false };
  for (const { id } of targets) {
    const { bypassed, bypasses = {} } = periodOf(work.state, id);
    setPeriod(work, id, {
      bypassed: [...new Set([...bypassed, zone.number])],
      bypasses: { ...bypasses, [zone.number]: entry },
    });
    const owner = { partition: id, zone: zone.number };
    if (command.minutes === undefined) clearTimer(work, 'bypass', owner);
    else setTimer(work, 'bypass', owner, after(work.at, command.minutes * 60_000));
  }
  show(work, zone.number);
  bypassEvent(work, { ...command, zone, partition: targets[0]?.id, active: true });
  return { changed: true };
}

function mayLeaveOut(work: Work, command: Command, zone: ZonePlan, isArmed: boolean): Failure | undefined {
  const failure = mayChange(work, command, 'bypass');
  if (failure !== undefined) return failure;
  const { group, bypassable } = behaviour(zone);
  if (!bypassable && !(group === 'always' && mayServe(command)))
    return refuse('NOT_ALLOWED', { field: 'zone', zones: [zone.number] });
  // Not for want of a code: whoever may disarm has to do that first.
  return isArmed && !mayDo(command, 'disarm') ? refuse('NOT_ALLOWED', { field: 'state' }) : undefined;
}

/** Watching again needs no code; while it is armed, only of a zone that is closed, which is no alarm by itself. */
function takeIn(work: Work, command: Command, zone: ZonePlan, targets: readonly PartitionPlan[]): Failure | Done {
  const mine = targets.filter(({ id }) => isBypassed(work, id, zone.number));
  if (mine.length === 0) return { changed: false };
  const isArmed = mine.some(({ id }) => isSet(partitionOf(work, id).state));
  const failure = mayTakeIn(work, command, zone, isArmed);
  if (failure !== undefined) return failure;
  for (const { id } of mine) drop(work, id, [zone.number]);
  bypassEvent(work, { ...command, zone, partition: mine[0]?.id, active: false });
  return { changed: true };
}

function mayTakeIn(work: Work, command: Command, zone: ZonePlan, isArmed: boolean): Failure | undefined {
  if (!mayDo(command, 'bypass')) return refuse('NOT_ALLOWED', { field: 'code' });
  return isArmed && !atRest(work, zone) ? refuse('NOT_READY', { zones: [zone.number] }) : undefined;
}

const bypassOf = (work: Work, id: PartitionId, zone: ZoneNumber): BypassState | undefined =>
  own(periodOf(work.state, id).bypasses ?? {}, zone);

/** The time of a bypass is over. */
export function bypassEnded(work: Work, id: PartitionId, number: ZoneNumber): void {
  const zone = zonePlan(work.plan, number);
  if (zone === undefined || !isBypassed(work, id, number)) return;
  work.rules.add('bypass lifetime');
  if (isSet(partitionOf(work, id).state) && !atRest(work, zone)) {
    setTimer(work, 'bypass', { partition: id, zone: number }, after(work.at, renewMs));
    return;
  }
  drop(work, id, [number]);
  bypassEvent(work, { zone, partition: id, active: false, source: 'engine' });
}

/** A disarm ends what was left out until then. */
export function endBypasses(work: Work, id: PartitionId): void {
  const { bypassed } = periodOf(work.state, id);
  drop(
    work,
    id,
    bypassed.filter((number) => (bypassOf(work, id, number)?.until ?? 'disarm') === 'disarm'),
  );
}

function drop(work: Work, id: PartitionId, numbers: readonly ZoneNumber[]): void {
  if (numbers.length === 0) return;
  const { bypassed, bypasses = {} } = periodOf(work.state, id);
  const kept = numbers.reduce(without, bypasses);
  setPeriod(work, id, {
    bypassed: bypassed.filter((number) => !numbers.includes(number)),
    bypasses: Object.keys(kept).length === 0 ? undefined : kept,
  });
  for (const number of numbers) {
    clearTimer(work, 'bypass', { partition: id, zone: number });
    show(work, number);
  }
}

/** A zone shows as left out while it is in any of its partitions. */
function show(work: Work, number: ZoneNumber): void {
  const zone = own(work.state.zones, number);
  if (zone === undefined) return;
  const bypassed = Object.values(work.state.periods).some((period) => period.bypassed.includes(number));
  if (zone.bypassed !== bypassed) setZones(work, [{ ...zone, bypassed }]);
}
