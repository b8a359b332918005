import { bridgeItself, type PartitionPlan } from '#site/model/index.ts';
import { deviceName, troubleEvent } from './events.ts';
import { unconfirmed } from './flight.ts';
import { markStale } from './link.ts';
import { entryEnded, exitEnded, partitionPlan } from './partition.ts';
import { after, left, setTimer } from './timers.ts';
import { isSet } from './transition.ts';
import type { TimerState } from './types.ts';
import { own, partitionOf, setPartition, setZones, type Work, without } from './work.ts';

const settleMs = 60_000;

/** A timer of the controller has come to its end. A stale or early one changes nothing (I12). */
export function timerFired(work: Work, id: string): void {
  const timer = own(work.state.timers, id);
  if (timer === undefined) return;
  if (left(work.at, timer.due) > 0) {
    work.effects.push({ kind: 'timer.set', timer });
    return;
  }
  work.state = { ...work.state, timers: without(work.state.timers, id) };
  end(work, timer, false);
}

function end(work: Work, timer: TimerState, late: boolean): void {
  const plan = partitionPlan(work, timer.partition);
  if (plan === undefined) return;
  const { state } = partitionOf(work, timer.partition);
  if (timer.kind === 'confirm') unconfirmed(work, timer.partition);
  else if (timer.kind === 'exit' && state === 'arming') exitEnded(work, plan);
  else if (timer.kind === 'entry' && state === 'pending') entryEnded(work, timer.partition, late ? { late } : {});
}

/**
 * The first input of each run (arming-sync 6). Armed states stay; what was heard over links is open again until the
 * devices speak. No transition to disarmed comes from here (I3).
 */
export function started(work: Work, how: { readonly sameBoot: boolean; readonly storeLost: boolean }): void {
  work.rules.add('I3');
  forgetLinks(work);
  if (!how.sameBoot) afterBoot(work);
  for (const timer of Object.values(work.state.timers)) resume(work, timer, how.sameBoot);
  if (how.storeLost) {
    work.rules.add('safety 2');
    troubleEvent(work, { kind: 'system', active: true, source: deviceName(bridgeItself), detail: 'store_lost' });
  }
}

function forgetLinks(work: Work): void {
  work.state = { ...work.state, links: {}, held: {}, seeing: {} };
  for (const plan of work.plan.partitions) if (plan.panel !== undefined) markStale(work, plan.panel);
  setZones(
    work,
    work.plan.zones.flatMap((zone) => {
      const state = own(work.state.zones, zone.number);
      const camera = zone.source.kind === 'camera' || zone.source.kind === 'nvr';
      return camera && state !== undefined && state.open !== null ? [{ ...state, open: null }] : [];
    }),
  );
}

/** The machine itself started: detectors get power at the same moment and need to settle (safety 3). */
function afterBoot(work: Work): void {
  const locks = Object.entries(work.state.wrongCodes).map(([client, times]) => [client, times.map(() => work.at.mono)]);
  work.state = { ...work.state, wrongCodes: Object.fromEntries(locks) };
  if (Object.values(work.state.partitions).some(({ state }) => isSet(state) || state === 'unknown')) {
    work.rules.add('safety 3');
    work.state = { ...work.state, settleUntil: after(work.at, settleMs) };
  }
}

/** Delays go on where they were; where nobody can tell how much has passed, the safe reading counts. */
function resume(work: Work, timer: TimerState, sameBoot: boolean): void {
  const plan = partitionPlan(work, timer.partition);
  if (plan === undefined) return;
  const leftMs =
    sameBoot && timer.due.boot === work.at.boot ? left(work.at, timer.due) : leftAfterBoot(work, timer, plan);
  if (leftMs > 0) {
    const due = after(work.at, leftMs);
    if (timer.kind === 'exit') setPartition(work, plan.id, { exitEnds: due });
    if (timer.kind === 'entry') setPartition(work, plan.id, { entryEnds: due });
    setTimer(work, timer.kind, plan.id, due);
    return;
  }
  work.state = { ...work.state, timers: without(work.state.timers, timer.id) };
  end(work, timer, true);
}

function leftAfterBoot(work: Work, timer: TimerState, plan: PartitionPlan): number {
  if (timer.kind === 'confirm') return 0;
  const { exitDelayMs, entryDelayMs } = plan;
  if (work.at.clock !== 'synced') return timer.kind === 'exit' ? exitDelayMs : 0;
  // A clock that was set back must not make a delay longer than it is.
  return Math.min(timer.due.wall - work.at.wall, timer.kind === 'exit' ? exitDelayMs : entryDelayMs);
}
