import type { ArmMode, PartitionPlan, ZonePlan } from '#site/model/index.ts';
import { after, setTimer } from './timers.ts';
import { own, partitionOf, periodOf, setPartition, setPeriod, type Work } from './work.ts';
import { behaviour } from './zones.ts';

/** A door people leave by. */
function isExitDoor(zone: ZonePlan): boolean {
  const { group, interior } = behaviour(zone);
  return group === 'entry' && !interior;
}

/**
 * A zone tripped during the exit delay. An exit door that opens again is somebody who forgot something: the delay
 * begins anew, once in an arming (exit restart). What is only found out late counts and restarts
 * nothing.
 */
export function exitTrip(work: Work, plan: PartitionPlan, zone: ZonePlan, late: { late?: boolean }): void {
  if (!isExitDoor(zone)) return;
  const { opened, restarted } = periodOf(work.state, plan.id).exit ?? { opened: 0, restarted: false };
  const restarts = plan.exitRestart && opened > 0 && !restarted && late.late !== true;
  setPeriod(work, plan.id, { exit: { opened: opened + 1, restarted: restarted || restarts } });
  if (!restarts) return;
  work.rules.add('exit restart');
  const exitEnds = after(work.at, plan.exitDelayMs);
  setPartition(work, plan.id, { exitEnds });
  setTimer(work, 'exit', plan.id, exitEnds);
}

/**
 * The mode the exit delay ends in. Auto-stay (CP-01 4.2.2.5): where somebody on the site armed away and
 * no exit door opened since, people are still inside, and it is home. Never for an arming from far or by the clock,
 * nor where the partition was armed before (C10).
 */
export function modeAfterExit(work: Work, plan: PartitionPlan, mode: ArmMode): ArmMode {
  const { source } = partitionOf(work, plan.id);
  const { exit, guard } = periodOf(work.state, plan.id);
  const isHere = source === 'lan' || source === 'cli';
  if (!plan.autoStay || mode !== 'away' || !isHere || guard !== undefined) return mode;
  const doors = work.plan.zones.filter((zone) => zone.partitions.includes(plan.id) && isExitDoor(zone));
  const closed = doors.every(({ number }) => own(work.state.zones, number)?.open === false);
  if (doors.length === 0 || !closed || (exit?.opened ?? 0) > 0) return mode;
  work.rules.add('auto-stay');
  return 'home';
}
