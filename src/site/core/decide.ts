import type { Signal } from '#site/model/index.ts';
import { detectionSignal } from './camera.ts';
import { command } from './command.ts';
import { panelRefusal } from './flight.ts';
import { linkSignal, release } from './link.ts';
import { observe } from './panel.ts';
import { started, timerFired } from './started.ts';
import { eventsLost, setTrouble, storageSignal } from './trouble.ts';
import type { Decide } from './types.ts';
import { begin, decision, type Work, zonePlan } from './work.ts';
import { zoneSignal } from './zone.ts';

/**
 * The arming engine and the mirror of panels: one input in, the next state and what is to be done about it out. Pure;
 * the same inputs give the same states. The plan must have been adopted (`initialState`, `adoptPlan`).
 */
export const decide: Decide = (plan, state, input) => {
  const work = begin(plan, state, input.at);
  switch (input.kind) {
    case 'signal':
      applySignal(work, input.signal);
      break;
    case 'command':
      command(work, input.command);
      break;
    case 'timer.fired':
      timerFired(work, input.timer);
      break;
    case 'started':
      started(work, input);
      break;
  }
  return decision(work);
};

function applySignal(work: Work, signal: Signal): void {
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
      if (signal.zone === undefined || zonePlan(work.plan, signal.zone) !== undefined) {
        setTrouble(work, { ...signal, kind: signal.trouble });
      }
      break;
    case 'storage':
      storageSignal(work, signal);
      break;
    case 'loss':
      eventsLost(work, signal);
      break;
    case 'refusal':
      panelRefusal(work, signal);
      break;
  }
}
