import type { EventDraft, Signal, Waited } from '#site/model/index.ts';
import { tellAbandoned } from './alarm.ts';
import { armingConflict } from './arming-conflict.ts';
import { askForType, planInForce, settleAuthority } from './authority.ts';
import { detectionSignal, isOwnClock } from './camera.ts';
import { command } from './command.ts';
import { callForHelp } from './duress.ts';
import { panelRefusal } from './flight.ts';
import { linkSignal, release } from './link.ts';
import { observe } from './panel.ts';
import { panelAlarm } from './panel-alarm.ts';
import { panelTest } from './panel-test.ts';
import { panic } from './panic.ts';
import { handOverAll } from './plan.ts';
import { tellReported, troubleSignal } from './reported.ts';
import { tick } from './schedules.ts';
import { started, timerFired } from './started.ts';
import { endOrphans } from './supervision.ts';
import { before } from './timers.ts';
import { eventsLost, storageChanged } from './trouble.ts';
import type { Decide } from './types.ts';
import { begin, decision, type Work, zonePlan } from './work.ts';
import { zoneSignal } from './zone.ts';

/**
 * The arming engine and the mirror of panels: one input in, the next state and what is to be done about it out. Pure;
 * the same inputs give the same states. The plan must have been adopted (`initialState`, `adoptPlan`).
 */
export const decide: Decide = (plan, state, input) => {
  const work = begin(planInForce(plan, state), state, input.at);
  tellAbandoned(work);
  switch (input.kind) {
    case 'signal':
      applySignal(work, input.signal);
      break;
    case 'command':
      command(work, input.command);
      break;
    case 'panic':
      panic(work, input.call);
      break;
    case 'timer.fired':
      timerFired(work, input.timer);
      break;
    case 'tick':
      tick(work);
      break;
    case 'started':
      started(work, input);
      break;
    case 'storage':
      storageChanged(work, input.condition);
      break;
    case 'duress':
      callForHelp(work, input);
      break;
    case 'loss':
      eventsLost(work, input);
      break;
    case 'arming.conflict':
      armingConflict(work, input);
      break;
    case 'security_type':
      askForType(work, input);
      break;
    case 'replanned':
      endOrphans(work);
      break;
    default:
      input satisfies never;
  }
  settleAuthority(work);
  if (work.state.authority?.securityType !== state.authority?.securityType) {
    work.state = handOverAll(planInForce(plan, work.state), work.state, input.at);
    tellAbandoned(work);
  }
  return decision(work);
};

function applySignal(work: Work, signal: Signal): void {
  const from = work.effects.length;
  actOn(work, signal);
  tellReported(work, from, signal);
  if ('waited' in signal && signal.waited !== undefined) tellBounds(work, from, signal.waited);
  if ('ageMs' in signal && signal.ageMs !== undefined) datedBack(work, from, signal.ageMs);
  if (signal.kind === 'detection' && signal.deviceTime !== undefined) {
    const { deviceTime } = signal;
    changeEvents(work, from, (event) => ({ ...event, deviceTime }));
  }
}

/** What a message that waited in a broker has caused has no time of its own. */
function tellBounds(work: Work, from: number, waited: Waited): void {
  changeEvents(work, from, (event) => ({ ...event, late: true, waited }));
}

/** What a report out of a panel's memory has caused happened when the panel says. */
function datedBack(work: Work, from: number, ageMs: number): void {
  const at = before(work.at, ageMs);
  changeEvents(work, from, (event) => ({ ...event, late: true, at }));
}

/** Changes the events without a time of their own that were made since `from`. */
function changeEvents(work: Work, from: number, change: (event: EventDraft) => EventDraft): void {
  for (const [index, effect] of work.effects.entries()) {
    if (index < from || effect.kind !== 'event' || effect.event.at !== undefined) continue;
    work.effects[index] = { ...effect, event: change(effect.event) };
  }
}

function actOn(work: Work, signal: Signal): void {
  switch (signal.kind) {
    case 'zone':
      zoneSignal(work, signal);
      break;
    case 'partition':
      observe(work, signal);
      break;
    case 'detection':
      detectionSignal(work, signal);
      break;
    case 'link':
      linkSignal(work, signal);
      for (const held of release(work, signal.source)) applySignal(work, held);
      break;
    case 'trouble':
      if (isOwnClock(work, signal)) break;
      if (signal.zone === undefined || zonePlan(work.plan, signal.zone) !== undefined) {
        troubleSignal(work, signal);
      }
      break;
    case 'refusal':
      panelRefusal(work, signal);
      break;
    case 'alarm':
      panelAlarm(work, signal);
      break;
    case 'test':
      panelTest(work, signal);
      break;
    default:
      signal satisfies never;
  }
}
