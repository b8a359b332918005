import { type Command, type CommandResult, isSet, type PartitionPlan, type ZonePlan } from '#site/model/index.ts';
import { bypassEvent } from './bypass-event.ts';
import { answer, askedOf, settleZone } from './flight.ts';
import { isPerson, refuse } from './gate.ts';
import { deviceUp } from './link.ts';
import { after, setTimer } from './timers.ts';
import type { Done, Failure, InFlight } from './types.ts';
import { own, partitionOf, type Work } from './work.ts';

/**
 * A panel leaves out its zones itself: it is asked, and only its own word for the zone says that it did (I6). One command for a
 * zone at a time. How long it lasts is the panel's affair.
 */
export function askPanel(
  work: Work,
  command: Command,
  zone: ZonePlan,
  plans: readonly PartitionPlan[],
): Failure | Done | 'waiting' {
  const [plan] = plans;
  if (plan?.panel === undefined || deviceUp(work, zone.source) !== true) return refuse('PANEL_OFFLINE');
  if (command.minutes !== undefined) return refuse('NOT_ALLOWED', { field: 'minutes' });
  if (command.until === 'cleared') return refuse('NOT_ALLOWED', { field: 'until' });
  if (askedOf(work.state, zone.number) !== undefined) return refuse('BUSY');
  const partitions = plans.map(({ id }) => partitionOf(work, id));
  // It is about to be armed or disarmed, and what it does with a zone meanwhile nobody knows.
  if (partitions.some(({ request }) => request !== undefined)) return refuse('BUSY');
  const state = own(work.state.zones, zone.number);
  // That a zone is left out somebody has said; that it is not, nobody has before it was heard.
  const isTold = state !== undefined && (state.bypassed || state.open !== null);
  const isKnown = isTold && partitions.every(({ stale }) => !stale);
  if (isKnown && state.bypassed === (command.verb === 'bypass')) return { changed: false };
  const isArmed = partitions.some(({ state: word, stale }) => !stale && isSet(word));
  if (isArmed && plans.some(({ bypassArmed }) => bypassArmed === false))
    return refuse('NOT_ALLOWED', { field: 'state' });
  send(work, command, zone, { ...plan, panel: plan.panel });
  return 'waiting';
}

function send(
  work: Work,
  command: Command,
  { number }: ZonePlan,
  { id, panel, confirmMs }: PartitionPlan & { readonly panel: string },
): void {
  const { id: commandId, client, verb, source, actor, reason, partition: target } = command;
  const flight: InFlight = {
    ...{ client, target, verb, source, person: isPerson(command), waiting: [id], zone: number, changed: false },
    ...(actor === undefined ? {} : { actor }),
    ...(reason === undefined ? {} : { reason }),
  };
  work.state = { ...work.state, inFlight: { ...work.state.inFlight, [commandId]: flight } };
  const accepted: CommandResult = { commandId, outcome: 'accepted', partition: target, at: work.at.wall, final: false };
  answer(work, command, { bodyHash: command.bodyHash, result: accepted });
  setTimer(work, 'panel_answer', { partition: id, zone: number }, after(work.at, confirmMs ?? work.plan.confirmMs));
  const action = verb === 'bypass' ? verb : 'unbypass';
  work.effects.push({ kind: 'panel', panel, partition: id, zone: number, action, commandId });
}

/** What the panel says it leaves out answers the command that asked for it. */
export function bypassTold(work: Work, zone: ZonePlan, bypassed: boolean): void {
  const asked = askedOf(work.state, zone.number);
  if (asked === undefined || (asked.flight.verb === 'bypass') !== bypassed) return;
  const { source, actor, reason } = asked.flight;
  work.rules.add('I6');
  bypassEvent(work, { zone, partition: zone.partitions[0], active: bypassed, source, actor, reason });
  settleZone(work, zone.number, 'done');
}
