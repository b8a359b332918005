import type { ArmMode, Command, CommandResult, PartitionPlan, ZoneNumber } from '#site/model/index.ts';
import { raise } from './alarm.ts';
import { localEvent, place } from './events.ts';
import { answer, conclude, settle } from './flight.ts';
import { admit, gate, refuse } from './gate.ts';
import { deviceUp } from './link.ts';
import { arm, disarm, partitionPlan } from './partition.ts';
import { leaveOut } from './ready.ts';
import { after, setTimer } from './timers.ts';
import { isArmed } from './transition.ts';
import type { Failure, InFlight } from './types.ts';
import { own, partitionOf, setPartition, type Work, zonePlan } from './work.ts';
import { behaviour } from './zones.ts';

type Step = 'done' | 'already' | 'waiting' | Failure;

/** A command enters: answered from memory (C2), refused at the gate, done by the engine, or forwarded to a panel. */
export function command(work: Work, command: Command): void {
  if (own(work.state.commands, command.id) !== undefined) {
    repeat(work, command);
    return;
  }
  const refused = admit(work, command);
  const targets = refused ?? targetsOf(work, command);
  if ('code' in targets) finish(work, command, { changed: false, failure: targets });
  else perform(work, command, targets);
  // Also when the command was refused: a call for help depends on no lockout, deadline or clock (safety 1).
  if (command.code === 'duress') duress(work, command);
}

/** Same id and same body: the same answer, and no second effect. */
function repeat(work: Work, command: Command): void {
  work.rules.add('C2');
  const seen = own(work.state.commands, command.id);
  const same = seen?.bodyHash === command.bodyHash ? seen.result : undefined;
  const result = same ?? conclude(work, command, { changed: false, failure: refuse('ID_CONFLICT') });
  work.effects.push({ kind: 'reply', result, client: command.client });
}

function targetsOf(work: Work, { partition }: Command): readonly PartitionPlan[] | Failure {
  if (partition !== 'all') {
    const plan = partitionPlan(work, partition);
    return plan === undefined ? refuse('UNKNOWN_TARGET', { field: 'partition' }) : [plan];
  }
  const owned = work.plan.partitions.filter((plan) => plan.authority !== 'external');
  return owned.length === 0 || work.plan.securityType === 4 ? refuse('NOT_CONTROLLED') : owned;
}

function perform(work: Work, command: Command, targets: readonly PartitionPlan[]): void {
  let changed = false;
  let failure: Failure | undefined;
  const waiting: PartitionPlan[] = [];
  for (const plan of targets) {
    const step = one(work, command, plan);
    if (step === 'done') changed = true;
    else if (step === 'waiting') waiting.push(plan);
    else if (step !== 'already') failure ??= step;
  }
  if (waiting.length === 0) finish(work, command, { changed, failure });
  else launch(work, command, waiting, { changed, failure });
}

function finish(
  work: Work,
  command: Command,
  outcome: { readonly changed: boolean; readonly failure?: Failure | undefined },
): void {
  if (outcome.failure !== undefined) work.rules.add('C9');
  answer(work, command.client, { bodyHash: command.bodyHash, result: conclude(work, command, outcome) });
}

function one(work: Work, command: Command, plan: PartitionPlan): Step {
  const refusal = gate(work, command, plan);
  if (refusal !== undefined) return refusal;
  return plan.authority === 'panel' ? forPanel(work, command, plan) : forEngine(work, command, plan);
}

const modeOf = (command: Command): ArmMode => command.mode ?? 'away';

function isThere(work: Work, command: Command, plan: PartitionPlan): boolean {
  const { state, mode } = partitionOf(work, plan.id);
  if (command.verb === 'disarm') return state === 'disarmed';
  if (!isArmed(state) && state !== 'arming') return false;
  // A schedule arms what is not armed; it never changes what somebody has chosen (C12).
  return mode === modeOf(command) || command.source === 'schedule';
}

function forEngine(work: Work, command: Command, plan: PartitionPlan): Step {
  if (isThere(work, command, plan)) return 'already';
  if (command.verb === 'disarm') {
    work.rules.add('I4');
    disarm(work, plan.id, command);
    return 'done';
  }
  const mode = modeOf(command);
  const bypass = bypassOf(work, command, plan);
  if ('code' in bypass) return bypass;
  const { zones, blocking } = leaveOut(work, plan.id, { mode, bypass: bypass.zones, force: command.force === true });
  if (blocking.length > 0) return refuse('NOT_READY', { zones: blocking });
  arm(work, plan, { mode, leftOut: zones, skipExitDelay: command.skipExitDelay === true, by: command });
  for (const number of zones) bypassEvent(work, command, plan, number);
  return 'done';
}

function bypassOf(work: Work, command: Command, plan: PartitionPlan): Failure | { zones: readonly ZoneNumber[] } {
  const zones = [...new Set(command.bypass ?? [])];
  const known = (number: ZoneNumber) => zonePlan(work.plan, number)?.partitions.includes(plan.id) === true;
  const foreign = zones.filter((number) => zonePlan(work.plan, number) === undefined);
  if (foreign.length > 0 || (command.partition !== 'all' && !zones.every(known))) {
    const unknown = zones.filter((number) => !known(number));
    return refuse('UNKNOWN_TARGET', { field: 'bypass', zones: unknown });
  }
  const mine = zones.filter(known);
  const fixed = mine.filter((number) => {
    const zone = zonePlan(work.plan, number);
    return zone !== undefined && !behaviour(zone).bypassable;
  });
  return fixed.length > 0 ? refuse('NOT_ALLOWED', { field: 'bypass', zones: fixed }) : { zones: mine };
}

/** For the site's own record; the station learns of it from the arming. */
function bypassEvent(work: Work, command: Command, { id }: PartitionPlan, number: ZoneNumber): void {
  localEvent(work, {
    class: 'bypass',
    kind: 'zone_bypassed',
    ...place(work, { partition: id, zone: zonePlan(work.plan, number) }),
    contactId: '573',
    sia: 'BB',
    source: command.source,
    ...(command.actor === undefined ? {} : { actor: command.actor }),
  });
}

/** A panel decides by itself; the command waits until its own state shows what was wanted. One at a time. */
function forPanel(work: Work, command: Command, plan: PartitionPlan): Step {
  if (plan.panel === undefined || deviceUp(work, { kind: 'panel', id: plan.panel }) !== true) {
    return refuse('PANEL_OFFLINE');
  }
  if ((command.bypass ?? []).length > 0) return refuse('NOT_ALLOWED', { field: 'bypass' });
  const { request, stale } = partitionOf(work, plan.id);
  if (request !== undefined) {
    const flight = own(work.state.inFlight, request.commandId);
    if (flight !== undefined && !beats(command, flight)) return refuse('BUSY');
    work.rules.add('safety 5');
    settle(work, plan.id, request.commandId, { outcome: 'superseded', code: 'NEWER_LOCAL_CHANGE' });
    return 'waiting';
  }
  return !stale && isThere(work, command, plan) ? 'already' : 'waiting';
}

const isPerson = ({ source, code }: Command): boolean =>
  (source === 'lan' || source === 'cli') && (code === 'ok' || code === 'duress');

/** A person on site with a code beats what has none; else the safer one, arm, wins (safety 5). */
function beats(command: Command, flight: InFlight): boolean {
  if (flight.person) return false;
  return isPerson(command) || (command.verb === 'arm' && flight.verb === 'disarm');
}

function launch(
  work: Work,
  command: Command,
  waiting: readonly PartitionPlan[],
  so: { readonly changed: boolean; readonly failure?: Failure | undefined },
): void {
  const { id: commandId, client, verb, source, actor, partition: target } = command;
  const flight: InFlight = {
    client,
    target,
    verb,
    source,
    ...(actor === undefined ? {} : { actor }),
    person: isPerson(command),
    waiting: waiting.map(({ id }) => id),
    changed: so.changed,
    ...(so.failure === undefined ? {} : { failure: so.failure }),
  };
  work.state = { ...work.state, inFlight: { ...work.state.inFlight, [commandId]: flight } };
  const accepted: CommandResult = { commandId, outcome: 'accepted', partition: target, at: work.at.wall, final: false };
  answer(work, client, { bodyHash: command.bodyHash, result: accepted });
  const action = verb === 'disarm' ? 'disarm' : (`arm_${modeOf(command)}` as const);
  for (const plan of waiting) {
    const deadline = after(work.at, work.plan.confirmMs);
    setPartition(work, plan.id, {
      request: { commandId, target: verb === 'disarm' ? 'disarmed' : modeOf(command), deadline },
    });
    setTimer(work, 'confirm', plan.id, deadline);
    if (plan.panel !== undefined) {
      work.effects.push({ kind: 'panel', panel: plan.panel, partition: plan.id, action, commandId });
    }
  }
}

/** The command went its way like any other; only the station learns that it was forced (safety 4, I11). */
function duress(work: Work, { partition, source, actor }: Command): void {
  const about = partition === 'all' ? work.plan.partitions[0]?.id : partition;
  raise(work, { kind: 'duress', partition: about, source, actor, silent: true });
}
