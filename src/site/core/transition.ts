import type { ArmingSource, ArmingWord, ArmMode, PartitionId, PartitionState, ZoneState } from '#site/model/index.ts';
import { armingEvent } from './events.ts';
import { endRunaways } from './runaway.ts';
import { clearTimer, now } from './timers.ts';
import { settleStoreLoss } from './trouble.ts';
import { own, partitionOf, periodOf, setPartition, setPeriod, setZones, type Work } from './work.ts';
import { behaviour } from './zones.ts';

export interface Transition {
  readonly state: ArmingWord;
  readonly mode: ArmMode | null;
  readonly source: ArmingSource;
  readonly changedBy?: string | undefined;
  readonly commandId?: string | undefined;
  /** Found out afterwards: the true time is not known. */
  readonly late?: boolean;
  /** Somebody on the site did it just now, so it is what rule C3 compares with. */
  readonly local?: boolean;
  readonly more?: { readonly [K in keyof PartitionState]?: PartitionState[K] | undefined };
}

/**
 * The only way a partition changes its state: +1 on its sequence, one durable record and, for the words armed and
 * disarmed, one arming event (I2). Both delays end with it unless `more` sets a new one.
 */
export function transition(work: Work, id: PartitionId, to: Transition): void {
  const before = partitionOf(work, id);
  const seq = before.seq + 1;
  setPartition(work, id, {
    state: to.state,
    mode: to.mode,
    seq,
    at: work.at.wall,
    source: to.source,
    changedBy: to.changedBy,
    exitEnds: undefined,
    entryEnds: undefined,
    ...to.more,
  });
  if (to.state !== 'arming') clearTimer(work, 'exit', id);
  if (to.state !== 'pending') clearTimer(work, 'entry', id);
  followPeriod(work, before, to);
  work.effects.push({
    kind: 'transition',
    record: {
      partition: id,
      seq,
      state: to.state,
      mode: to.mode,
      at: work.at.wall,
      source: to.source,
      ...(to.changedBy === undefined ? {} : { changedBy: to.changedBy }),
      ...(to.commandId === undefined ? {} : { commandId: to.commandId }),
    },
  });
  if (isArmed(to.state) || to.state === 'disarmed') armingEvent(work, id, to.late ?? false);
  if (before.state === 'unknown') settleStoreLoss(work);
}

export const isArmed = (state: ArmingWord): boolean => state.startsWith('armed_');

/** Armed, on the way to it, or in what follows from it. */
export const isSet = (state: ArmingWord): boolean =>
  isArmed(state) || state === 'arming' || state === 'pending' || state === 'triggered';

/** Begins and ends arming periods: memory and counters start anew, bypasses end with the disarm. */
function followPeriod(work: Work, before: PartitionState, to: Transition): void {
  const { id } = before;
  if (to.local === true) setPeriod(work, id, { localAt: work.at.wall });
  const arms = (to.state === 'arming' || isArmed(to.state)) && !isSet(before.state);
  if (arms) {
    startPeriod(work, id);
    setPartition(work, id, { memory: [], alarm: runningLifeAlarm(work, id), incident: undefined });
  }
  if (to.state === 'disarmed') {
    clearAlarms(work, id);
    clearBypasses(work, id);
    startPeriod(work, id);
    setPartition(work, id, { alarm: runningLifeAlarm(work, id), incident: undefined });
  }
  if ((to.state === 'arming' || isArmed(to.state)) && to.local !== undefined) {
    const actor = to.changedBy;
    setPeriod(work, id, { armedBy: { source: to.source, ...(actor === undefined ? {} : { actor }) } });
  }
  if (isArmed(to.state)) {
    setPeriod(work, id, { guard: undefined, ...(isArmed(before.state) ? {} : { armedAt: now(work.at) }) });
  }
}

function startPeriod(work: Work, id: PartitionId): void {
  endRunaways(work, id);
  setPeriod(work, id, {
    entered: [],
    expected: undefined,
    signalled: {},
    armedAt: undefined,
    guard: undefined,
    armedBy: undefined,
  });
}

/** Burglary alarms of the partition's zones end with its disarm; those of life safety last as long as their cause. */
function clearAlarms(work: Work, id: PartitionId): void {
  const cleared: ZoneState[] = [];
  for (const zone of work.plan.zones) {
    if (!zone.partitions.includes(id) || behaviour(zone).group === 'life') continue;
    if (decidedByPanel(work, id, zone.source)) continue;
    const state = own(work.state.zones, zone.number);
    if (state?.alarm === true) cleared.push({ ...state, alarm: false });
  }
  setZones(work, cleared);
}

/** Whether what a zone reports is for the partition's panel to judge, and not for siteward. */
export function decidedByPanel(
  work: Work,
  id: PartitionId,
  source: { readonly kind: string; readonly id: string },
): boolean {
  const plan = work.plan.partitions.find((partition) => partition.id === id);
  return plan?.authority === 'panel' && source.kind === 'panel' && plan.panel === source.id;
}

function clearBypasses(work: Work, id: PartitionId): void {
  const mine = periodOf(work.state, id).bypassed;
  if (mine.length === 0) return;
  setPeriod(work, id, { bypassed: [] });
  const others = new Set(Object.values(work.state.periods).flatMap(({ bypassed }) => bypassed));
  const freed: ZoneState[] = [];
  for (const number of mine) {
    const zone = own(work.state.zones, number);
    if (zone !== undefined && !others.has(number)) freed.push({ ...zone, bypassed: false });
  }
  setZones(work, freed);
}

function runningLifeAlarm(work: Work, id: PartitionId): PartitionState['alarm'] {
  if (work.plan.partitions.find((partition) => partition.id === id)?.authority !== 'engine') return undefined;
  for (const zone of work.plan.zones) {
    if (!zone.partitions.includes(id) || behaviour(zone).group !== 'life') continue;
    if (own(work.state.zones, zone.number)?.alarm === true) return { zone: zone.number, kind: behaviour(zone).alarm };
  }
  return undefined;
}
