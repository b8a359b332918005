import {
  type ArmingSource,
  type ArmingWord,
  type ArmMode,
  isArmed,
  isSet,
  type PartitionId,
  type PartitionState,
  type ZoneNumber,
  type ZoneState,
} from '#site/model/index.ts';
import { audit, standing } from './audit.ts';
import { endBypasses } from './bypass.ts';
import { endConfirmation } from './confirmation.ts';
import { endCrossings } from './crossing.ts';
import { armingEvent } from './events.ts';
import { endRunaways } from './runaway.ts';
import { runningLifeAlarm } from './running.ts';
import { endSwingers } from './swinger.ts';
import { clearTimer, isRunning, now } from './timers.ts';
import { settleStoreLoss } from './trouble.ts';
import { seenTo } from './unarmed.ts';
import { endTest } from './walk-test.ts';
import { decidedByPanel, own, partitionOf, periodOf, setPartition, setPeriod, setZones, type Work } from './work.ts';
import { behaviour, forGood } from './zones.ts';

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
 * The only way a partition changes its state: +1 on its sequence, one durable record, one audit entry and, for the words
 * armed and disarmed, one arming event (I2). Both delays end with it unless `more` sets a new one.
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
  if (to.state !== 'disarmed') endTest(work, id, { source: to.source, actor: to.changedBy, detail: 'arming' });
  if (periodOf(work.state, id).silenced === true) setPeriod(work, id, { silenced: undefined });
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
  audit(work, {
    kind: 'transition',
    source: to.source,
    actor_ref: to.changedBy,
    command_id: to.commandId,
    target: id,
    action: to.state,
    before: standing(before),
    after: standing(partitionOf(work, id), periodOf(work.state, id).bypassed),
    seq,
  });
  if (isArmed(to.state) || to.state === 'disarmed') armingEvent(work, id, to.late ?? false);
  if (isArmed(to.state) || to.state === 'arming' || to.state === 'disarmed') seenTo(work, id);
  if (before.state === 'unknown') settleStoreLoss(work);
}

/** Begins and ends arming periods: memory and counters start anew, bypasses end with the disarm. */
function followPeriod(work: Work, before: PartitionState, to: Transition): void {
  const { id } = before;
  if (to.local === true) setPeriod(work, id, { local: work.at, localAt: undefined });
  const arms = (to.state === 'arming' || isArmed(to.state)) && !isSet(before.state);
  if (arms) {
    startPeriod(work, id);
    setPartition(work, id, { memory: [], alarm: runningLifeAlarm(work, id), incident: undefined });
  }
  if (to.state === 'disarmed') {
    clearAlarms(work, id);
    setPeriod(work, id, { called: undefined });
    endBypasses(work, id);
    startPeriod(work, id);
    setPeriod(work, id, { over: stillInAlarm(work, id) });
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
  endSwingers(work, id);
  endCrossings(work, id);
  endConfirmation(work, id);
  setPeriod(work, id, {
    entered: [],
    burglary: undefined,
    expected: undefined,
    alarmed: undefined,
    calledOff: undefined,
    signalled: {},
    armedAt: undefined,
    guard: undefined,
    armedBy: undefined,
    toldAt: undefined,
    exit: undefined,
    // An alarm that still waits is signalled when its window ends, whatever became of the arming.
    ...(isRunning(work, 'abort', id) ? {} : { waiting: undefined }),
  });
}

/** Burglary alarms of the partition's zones end with its disarm; those of life safety last as long as their cause. */
function clearAlarms(work: Work, id: PartitionId): void {
  const cleared: ZoneState[] = [];
  for (const zone of work.plan.zones) {
    if (!zone.partitions.includes(id) || behaviour(zone).group === 'life') continue;
    if (decidedByPanel(work, id, zone.source)) continue;
    const state = own(work.state.zones, zone.number);
    if (state?.alarm === true) cleared.push({ ...state, alarm: false, at: work.at.wall });
  }
  setZones(work, cleared);
}

/** Zones that go on in alarm by the word of the partition's panel, which may never tell an end; life safety ends with its cause. */
function stillInAlarm(work: Work, id: PartitionId): readonly ZoneNumber[] | undefined {
  const over = work.plan.zones.filter((zone) => {
    const { number, partitions, source } = zone;
    if (!partitions.includes(id) || forGood(behaviour(zone).group)) return false;
    return own(work.state.zones, number)?.alarm === true && decidedByPanel(work, id, source);
  });
  return over.length === 0 ? undefined : over.map(({ number }) => number);
}
