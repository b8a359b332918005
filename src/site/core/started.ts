import { bridgeItself, type Deadline, isSet, type PartitionId, type PartitionPlan } from '#site/model/index.ts';
import { abortEnded } from './alarm.ts';
import { bypassEnded, bypassMs } from './bypass.ts';
import { calmMs } from './calm.ts';
import { confirmationEnded } from './confirmation.ts';
import { crossEnded, longestCrossingMs } from './crossing.ts';
import { deviceName, troubleEvent } from './events.ts';
import { unconfirmed, zoneUnconfirmed } from './flight.ts';
import { keepSeen, markStale, unheardZone } from './link.ts';
import { entryEnded, exitEnded } from './partition.ts';
import { renewRates } from './rate.ts';
import { noteStart } from './schedules.ts';
import { endOrphans, longestWatchMs, watchLeftMs, watchTimerEnded } from './supervision.ts';
import { releaseSwinger, swingerReleaseMs } from './swinger.ts';
import { after, left, runTimer } from './timers.ts';
import { calmed, settled } from './trip.ts';
import type { TimerState } from './types.ts';
import { endTest, testMinutes } from './walk-test.ts';
import { own, partitionOf, partitionPlan, setPartition, setZones, type Work, without } from './work.ts';
import { behaviour } from './zones.ts';

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
  if (timer.trouble !== undefined) {
    watchTimerEnded(work, timer);
    return;
  }
  if (timer.kind === 'calm') {
    calmed(work, timer.zone);
    return;
  }
  const plan = timer.partition === undefined ? undefined : partitionPlan(work, timer.partition);
  if (plan === undefined) return;
  if (timer.zone === undefined) endOfPartition(work, timer.kind, plan, late ? { late } : {});
  else if (timer.kind === 'panel_answer') zoneUnconfirmed(work, timer.zone);
  else if (timer.kind === 'swinger') releaseSwinger(work, plan.id, timer.zone);
  else if (timer.kind === 'cross') crossEnded(work, plan.id, timer.zone);
  else if (timer.kind === 'bypass') bypassEnded(work, plan.id, timer.zone);
  else if (timer.kind === 'settle') settled(work, plan.id, timer.zone);
}

function endOfPartition(work: Work, kind: TimerState['kind'], plan: PartitionPlan, late: { late?: boolean }): void {
  const { id } = plan;
  const { state } = partitionOf(work, id);
  if (kind === 'panel_answer') unconfirmed(work, id);
  else if (kind === 'exit' && state === 'arming') exitEnded(work, plan);
  else if (kind === 'entry' && state === 'pending') entryEnded(work, id, late);
  else if (kind === 'abort') abortEnded(work, id, late);
  else if (kind === 'confirmation') confirmationEnded(work, id);
  else if (kind === 'test') endTest(work, id, { source: 'engine', detail: 'time' });
}

/**
 * The first input of each run. Armed states stay; what was heard over links is open again until the
 * devices speak. No transition to disarmed comes from here (I3).
 */
export function started(work: Work, how: { readonly sameBoot: boolean; readonly storeLost: boolean }): void {
  work.rules.add('I3');
  forgetLinks(work);
  if (!how.sameBoot) afterBoot(work);
  for (const timer of Object.values(work.state.timers)) resume(work, timer, how.sameBoot);
  noteStart(work);
  endOrphans(work);
  if (how.storeLost) {
    work.rules.add('safety 2');
    troubleEvent(work, { kind: 'system', active: true, source: deviceName(bridgeItself), detail: 'store_lost' });
  }
}

function forgetLinks(work: Work): void {
  keepSeen(work, [...work.plan.cameras.map(({ id }) => id), ...(work.plan.nvrs ?? [])]);
  work.state = { ...work.state, links: {}, held: {}, seeing: {} };
  for (const plan of work.plan.partitions) if (plan.panel !== undefined) markStale(work, plan.panel);
  setZones(
    work,
    work.plan.zones.flatMap((zone) => {
      const state = own(work.state.zones, zone.number);
      const { group, silent } = behaviour(zone);
      const isAnew = zone.source.kind === 'camera' || zone.source.kind === 'nvr' || group === 'key';
      if (!isAnew || silent || state === undefined || (state.open === null && state.heard === undefined)) return [];
      return [unheardZone(state)];
    }),
  );
}

/** The machine itself started: detectors get power at the same moment and need to settle (safety 3). */
function afterBoot(work: Work): void {
  const locks = Object.entries(work.state.wrongCodes).map(([client, times]) => [client, times.map(() => work.at.mono)]);
  work.state = { ...work.state, wrongCodes: Object.fromEntries(locks) };
  renewRates(work);
  if (Object.values(work.state.partitions).some(({ state }) => isSet(state) || state === 'unknown')) {
    work.rules.add('safety 3');
    work.state = { ...work.state, settleUntil: after(work.at, settleMs) };
  }
}

/** Delays go on where they were; where nobody can tell how much has passed, the safe reading counts. */
function resume(work: Work, timer: TimerState, sameBoot: boolean): void {
  const exact = sameBoot && timer.due.boot === work.at.boot;
  const leftMs = watchLeftMs(work, timer, exact ? left(work.at, timer.due) : leftAfterBoot(work, timer));
  if (leftMs > 0) {
    const due = after(work.at, leftMs);
    if (timer.partition !== undefined) showDelay(work, timer.kind, timer.partition, due);
    runTimer(work, { ...timer, due });
    return;
  }
  work.state = { ...work.state, timers: without(work.state.timers, timer.id) };
  end(work, timer, true);
}

function showDelay(work: Work, kind: TimerState['kind'], id: PartitionId, due: Deadline): void {
  if (partitionPlan(work, id) === undefined) return;
  if (kind === 'exit') setPartition(work, id, { exitEnds: due });
  if (kind === 'entry') setPartition(work, id, { entryEnds: due });
}

/** A clock that was set back must not make a delay longer than it is; where nobody knows, the safe reading counts. */
function leftAfterBoot(work: Work, timer: TimerState): number {
  // This start is one more to settle after.
  if (timer.kind === 'settle') return settleMs;
  const { longestMs, unknownMs } = resumption(work, timer);
  return work.at.clock === 'synced' ? Math.min(timer.due.wall - work.at.wall, longestMs) : unknownMs;
}

/** The whole length of a delay, and how much of it counts as left when no clock can tell; milliseconds. */
function resumption(work: Work, timer: TimerState): { readonly longestMs: number; readonly unknownMs: number } {
  const plan = timer.partition === undefined ? undefined : partitionPlan(work, timer.partition);
  switch (timer.kind) {
    case 'exit':
      return { longestMs: plan?.exitDelayMs ?? 0, unknownMs: plan?.exitDelayMs ?? 0 };
    case 'entry':
      return { longestMs: plan?.entryDelayMs ?? 0, unknownMs: 0 };
    case 'abort':
      return { longestMs: plan?.abortDelayMs ?? 0, unknownMs: 0 };
    case 'panel_answer':
      return { longestMs: 0, unknownMs: 0 };
    case 'swinger':
      return { longestMs: swingerReleaseMs, unknownMs: 0 };
    // Whoever waits for a second detector waits on: its alarm must not be taken for a first one.
    case 'cross': {
      const windowMs = timer.zone === undefined ? 0 : longestCrossingMs(work, timer.zone);
      return { longestMs: windowMs, unknownMs: windowMs };
    }
    // Less is watched while they run: where no clock can tell, they are over.
    case 'bypass':
      return { longestMs: bypassMs, unknownMs: 0 };
    case 'test':
      return { longestMs: testMinutes.most * 60_000, unknownMs: 0 };
    case 'settle':
      return { longestMs: settleMs, unknownMs: settleMs };
    case 'calm':
      return { longestMs: calmMs, unknownMs: 0 };
    case 'lost':
    case 'steady': {
      const ms = longestWatchMs(work, timer);
      return { longestMs: ms, unknownMs: ms };
    }
    case 'confirmation':
      return { longestMs: plan?.confirmationMs ?? 0, unknownMs: plan?.confirmationMs ?? 0 };
  }
}
