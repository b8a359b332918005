import type { PartitionId, ZonePlan } from '#site/model/index.ts';
import { after, clearTimer, isRunning, now, setTimer, since } from './timers.ts';
import type { Evidence, WaitingAlarm } from './types.ts';
import { enginePlan, partitionOf, partitionPlan, periodOf, setPeriod, type Work } from './work.ts';
import { behaviour, independent } from './zones.ts';

/** So many alarms are no mistake of somebody who came in: the window ends with the last of them. */
const waitingCap = 16;

interface Candidate {
  readonly kind: string;
  readonly partition?: PartitionId | undefined;
  readonly zone?: ZonePlan | undefined;
  readonly silent?: boolean;
  readonly flagged?: boolean;
  readonly late?: boolean;
}

/**
 * Whether an alarm waits for the end of its partition's abort window. Only burglary alarms of
 * the engine do: never life safety and hold-up (safety 1), tamper and 24-hour zones, never while the arming is not
 * known (safety 2), nor what is found out late.
 */
export function waits(work: Work, alarm: Candidate): boolean {
  const { kind, partition, zone } = alarm;
  const plan = partition === undefined ? undefined : enginePlan(work, partition);
  if (plan === undefined || plan.abortDelayMs <= 0 || zone === undefined) return false;
  if (alarm.silent === true || alarm.flagged === true || alarm.late === true || kind === 'tamper') return false;
  if (independent(behaviour(zone).group) || partitionOf(work, plan.id).state !== 'triggered') return false;
  return periodOf(work.state, plan.id).waiting === undefined || isRunning(work, 'abort', plan.id);
}

/** Notes the alarm; the first one of an arming period begins the window. True when the window is full and must end. */
export function wait(
  work: Work,
  id: PartitionId,
  zone: ZonePlan,
  alarm: { kind: string; evidence: readonly Evidence[] },
) {
  work.rules.add('abort window');
  const { waiting = [] } = periodOf(work.state, id);
  const entry: WaitingAlarm = { zone: zone.number, kind: alarm.kind, at: now(work.at), evidence: alarm.evidence };
  setPeriod(work, id, { waiting: [...waiting, entry] });
  if (waiting.length === 0) setTimer(work, 'abort', id, after(work.at, partitionPlan(work, id)?.abortDelayMs ?? 0));
  return waiting.length + 1 >= waitingCap;
}

/** Ends the window and hands out what waited, in the order it came. */
export function takeWaiting(work: Work, id: PartitionId): readonly WaitingAlarm[] {
  const { waiting = [] } = periodOf(work.state, id);
  clearTimer(work, 'abort', id);
  if (waiting.length > 0) setPeriod(work, id, { waiting: [] });
  return waiting;
}

/** Whether the zone's alarm has not been signalled yet. */
export const isWaiting = (work: Work, id: PartitionId, zone: string): boolean =>
  periodOf(work.state, id).waiting?.some((alarm) => alarm.zone === zone) === true;

/** Whether a disarm now takes the signalled alarm back (cancel window; Contact ID 406). */
export function inCancelWindow(work: Work, id: PartitionId): boolean {
  const plan = partitionPlan(work, id);
  const { toldAt } = periodOf(work.state, id);
  return plan === undefined || toldAt === undefined || since(work.at, toldAt) <= plan.cancelWindowMs;
}

/** An alarm of the partition was signalled now. */
export function noteTold(work: Work, id: PartitionId): void {
  if (partitionPlan(work, id) !== undefined) setPeriod(work, id, { toldAt: now(work.at) });
}
