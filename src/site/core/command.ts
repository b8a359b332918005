import {
  type ArmMode,
  type Command,
  type CommandResult,
  isArmed,
  type PartitionPlan,
  type Undone,
  type ZoneNumber,
} from '#site/model/index.ts';
import { auditAnswer } from './audit.ts';
import { bypassCommand } from './bypass.ts';
import { bypassEvent } from './bypass-event.ts';
import { callForHelp } from './duress.ts';
import { answer, conclude, keep, seenOf, settle, undoneOf } from './flight.ts';
import { admit, checkCode, checkRate, gate, isPerson, isRequest, locked, refuse } from './gate.ts';
import { deviceUp } from './link.ts';
import { noteGiven, outranks, overruled } from './meeting.ts';
import { clearMemoryCommand } from './memory.ts';
import { endCalled } from './panic.ts';
import { arm, disarm } from './partition.ts';
import { postponeArming } from './postponing.ts';
import { leaveOut } from './ready.ts';
import { silenceCommand } from './silence.ts';
import { after, setTimer } from './timers.ts';
import type { Done, Failure, InFlight } from './types.ts';
import { seenTo } from './unarmed.ts';
import { testCommand } from './walk-test.ts';
import { namedZone, own, partitionOf, partitionPlan, periodOf, setPartition, type Work, zonePlan } from './work.ts';
import { behaviour } from './zones.ts';

/** Zones an answer names at most: answers are kept with the state (C2). */
const namedCap = 64;

type Step = 'done' | 'already' | 'waiting' | Failure;

/** A command enters. A call for help depends on nothing that becomes of it: no lockout, deadline or clock (safety 1). */
export function command(work: Work, given: Command): void {
  const command = aimed(work, given);
  judge(work, command);
  if (command.code === 'duress') callForHelp(work, { ...command, target: command.partition, commandId: command.id });
}

/** Answered from memory (C2), refused at the gate, done by the engine, or forwarded to a panel. */
function judge(work: Work, command: Command): void {
  const seen = seenOf(work.state, command.id);
  if (seen?.result !== undefined && seen.bodyHash === command.bodyHash) {
    work.rules.add('C2');
    work.effects.push({ kind: 'reply', result: seen.result, client: command.client });
    return;
  }
  const lock = locked(work, command);
  if (lock !== undefined) refuseLocked(work, command, lock);
  else if (seen === undefined) enter(work, command);
  else conflict(work, command);
}

/** Changes nothing, not even the memory of answers and the audit log: the refusal that began the lock stands there (C8). */
function refuseLocked(work: Work, command: Command, failure: Failure): void {
  work.rules.add('C9');
  const result = conclude(work, command, { changed: false, failure });
  work.effects.push({ kind: 'reply', result, client: command.client });
}

function enter(work: Work, command: Command): void {
  const refused = admit(work, command);
  if (refused === undefined && command.verb === 'postpone') {
    putOff(work, command);
    return;
  }
  if (refused === undefined && (command.verb === 'verify' || command.verb === 'security_type')) {
    heard(work, command);
    return;
  }
  if (refused === undefined && isRequest(command)) {
    pass(work, command);
    return;
  }
  const targets = refused ?? targetsOf(work, command);
  if ('code' in targets) finish(work, command, { changed: false, failure: targets });
  else if (command.verb === 'arm' || command.verb === 'disarm') perform(work, command, targets);
  else {
    const done = serve(work, command, targets);
    // A panel was asked, and its word for the zone answers.
    if (done === 'waiting') return;
    if ('code' in done) finish(work, command, { changed: false, failure: done });
    else finish(work, command, done);
  }
}

/** What is no arming; it acts as a whole or not at all. */
function serve(work: Work, command: Command, targets: readonly PartitionPlan[]): Done | Failure | 'waiting' {
  switch (command.verb) {
    case 'bypass':
    case 'unbypass':
      return bypassCommand(work, command);
    case 'silence':
      return silenceCommand(work, command, targets);
    case 'clear_memory':
      return clearMemoryCommand(work, command, targets);
    case 'test':
    case 'end_test':
      return testCommand(work, command, targets);
    default:
      return refuse('UNKNOWN_VERB');
  }
}

/** A command about a zone is one to the zone's partition. */
function aimed(work: Work, command: Command): Command {
  const partition = command.zone === undefined ? undefined : zonePlan(work.plan, command.zone)?.partitions[0];
  return partition === undefined ? command : { ...command, partition };
}

/** Its age, its code and its client are good. What comes of it is audited by whoever acts on it. */
function heard(work: Work, command: Command): void {
  const result = conclude(work, command, { changed: true });
  keep(work, { id: command.id, bodyHash: command.bodyHash, at: work.at.wall, result });
  work.effects.push({ kind: 'reply', result, client: command.client });
}

/** The same of a request, which its room remembers by itself. */
function pass(work: Work, command: Command): void {
  work.effects.push({ kind: 'reply', result: conclude(work, command, { changed: true }), client: command.client });
}

/** Another command under an id that is taken: the answer to the first one stays. */
function conflict(work: Work, command: Command): void {
  work.rules.add('C2');
  const failure = checkCode(work, command) ?? checkRate(work, command) ?? refuse('ID_CONFLICT');
  const result = conclude(work, command, { changed: false, failure });
  auditAnswer(work, command, result);
  work.effects.push({ kind: 'reply', result, client: command.client });
}

function targetsOf(work: Work, { partition, verb }: Command): readonly PartitionPlan[] | Failure {
  if (partition !== 'all') {
    const plan = partitionPlan(work, partition);
    return plan === undefined ? refuse('UNKNOWN_TARGET', { field: 'partition' }) : [plan];
  }
  if (verb === 'clear_memory') return work.plan.partitions;
  const owned = work.plan.partitions.filter((plan) => plan.authority !== 'external');
  return owned.length === 0 || work.plan.securityType === 4 ? refuse('NOT_CONTROLLED') : owned;
}

function perform(work: Work, command: Command, targets: readonly PartitionPlan[]): void {
  let changed = false;
  let failure: Failure | undefined;
  const leftOut = new Set<ZoneNumber>();
  const waiting: PartitionPlan[] = [];
  const undone: Undone[] = [];
  for (const plan of targets) {
    const step = one(work, command, plan);
    if (step === 'done') {
      changed = true;
      if (command.verb === 'arm') for (const zone of periodOf(work.state, plan.id).bypassed) leftOut.add(zone);
    } else if (step === 'waiting') waiting.push(plan);
    else if (step !== 'already') {
      failure ??= step;
      undone.push(undoneOf(plan.id, step));
    }
  }
  if (waiting.length === 0)
    finish(work, command, { changed, failure, undone, leftOut: [...leftOut].slice(0, namedCap) });
  else launch(work, command, waiting, { changed, failure, undone });
}

/** The next arming of a schedule, later (safety 7). */
function putOff(work: Work, command: Command): void {
  const put = postponeArming(work, command);
  const failure = 'code' in put ? put : undefined;
  if (failure !== undefined) work.rules.add('C9');
  const result = conclude(work, command, { changed: failure === undefined, failure });
  const told = 'code' in put ? result : { ...result, postponed: put };
  answer(work, command, { bodyHash: command.bodyHash, result: told });
}

function finish(work: Work, command: Command, outcome: Done & { readonly leftOut?: readonly ZoneNumber[] }): void {
  if (outcome.failure !== undefined) work.rules.add('C9');
  const { tests, leftOut = [] } = outcome;
  const result = {
    ...conclude(work, command, outcome),
    ...(tests !== undefined && { tests }),
    ...(leftOut.length > 0 && { leftOut }),
  };
  answer(work, command, { bodyHash: command.bodyHash, result });
}

function one(work: Work, command: Command, plan: PartitionPlan): Step {
  const refusal = gate(work, command, plan) ?? overruled(work, command, plan.id);
  if (refusal !== undefined) return refusal;
  const isDisarmed = command.verb === 'disarm' && isThere(work, command, plan);
  const step = plan.authority === 'panel' ? forPanel(work, command, plan) : forEngine(work, command, plan);
  // What a rule plays there sounds also where nothing is armed (safety 9).
  if (isDisarmed && (step === 'already' || step === 'done')) work.effects.push({ kind: 'silence', partition: plan.id });
  if (typeof step === 'string') noteGiven(work, command, plan.id);
  // Who disarms what is disarmed has seen that it was not armed.
  if (step === 'already' && (command.source === 'lan' || command.source === 'cli')) seenTo(work, plan.id);
  return step;
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
  if (isThere(work, command, plan)) return command.verb === 'disarm' && endCalled(work, plan.id) ? 'done' : 'already';
  if (command.verb === 'disarm') {
    work.rules.add('I4');
    disarm(work, plan.id, command);
    return 'done';
  }
  const mode = modeOf(command);
  const bypass = bypassOf(work, command, plan);
  if ('code' in bypass) return bypass;
  const { zones, blocking } = leaveOut(work, plan.id, { mode, bypass: bypass.zones, force: command.force === true });
  // With `field`, leaving out helps nobody: one of them always watches.
  if (blocking.length > 0)
    return refuse('NOT_READY', {
      zones: blocking,
      ...(blocking.some((zone) => isFixed(work, zone)) && { field: 'bypass' }),
    });
  arm(work, plan, { mode, leftOut: zones, skipExitDelay: command.skipExitDelay === true, by: command });
  for (const number of zones) {
    const zone = zonePlan(work.plan, number);
    bypassEvent(work, { zone, partition: plan.id, active: true, source: command.source, actor: command.actor });
  }
  return 'done';
}

function bypassOf(work: Work, command: Command, plan: PartitionPlan): Failure | { zones: readonly ZoneNumber[] } {
  const zones = [...new Set(command.bypass ?? [])];
  const known = (number: ZoneNumber) => namedZone(work.plan, number)?.partitions.includes(plan.id) === true;
  const foreign = zones.filter((number) => namedZone(work.plan, number) === undefined);
  if (foreign.length > 0 || (command.partition !== 'all' && !zones.every(known))) {
    const unknown = zones.filter((number) => !known(number));
    return refuse('UNKNOWN_TARGET', { field: 'bypass', zones: unknown });
  }
  const mine = zones.filter(known);
  const fixed = mine.filter((number) => isFixed(work, number));
  return fixed.length > 0 ? refuse('NOT_ALLOWED', { field: 'bypass', zones: fixed }) : { zones: mine };
}

/** Neither `bypass` nor `force` leaves it out of an arming (safety 1). */
function isFixed(work: Work, number: ZoneNumber): boolean {
  const zone = zonePlan(work.plan, number);
  return zone !== undefined && !behaviour(zone).bypassable;
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
    if (flight !== undefined && !outranks(command, flight)) return refuse('BUSY');
    work.rules.add('safety 5');
    settle(work, plan.id, request.commandId, { outcome: 'superseded', code: 'NEWER_LOCAL_CHANGE' });
    return 'waiting';
  }
  if (stale) return 'waiting';
  if (isThere(work, command, plan)) return 'already';
  return plan.changeMode === false && changesMode(work, command, plan)
    ? refuse('NOT_ALLOWED', { field: 'mode' })
    : 'waiting';
}

/** Armed, or on the way to it, in a mode that is known to be another. */
function changesMode(work: Work, command: Command, plan: PartitionPlan): boolean {
  const { state, mode } = partitionOf(work, plan.id);
  return command.verb === 'arm' && mode !== null && (isArmed(state) || state === 'arming');
}

function launch(
  work: Work,
  command: Command,
  waiting: readonly PartitionPlan[],
  so: { readonly changed: boolean; readonly failure?: Failure | undefined; readonly undone: readonly Undone[] },
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
    ...(target === 'all' && so.undone.length > 0 && { undone: so.undone }),
  };
  work.state = { ...work.state, inFlight: { ...work.state.inFlight, [commandId]: flight } };
  const accepted: CommandResult = { commandId, outcome: 'accepted', partition: target, at: work.at.wall, final: false };
  answer(work, command, { bodyHash: command.bodyHash, result: accepted });
  const action = verb === 'disarm' ? 'disarm' : (`arm_${modeOf(command)}` as const);
  for (const plan of waiting) {
    const deadline = after(work.at, plan.confirmMs ?? work.plan.confirmMs);
    setPartition(work, plan.id, {
      request: { commandId, target: verb === 'disarm' ? 'disarmed' : modeOf(command), deadline },
    });
    setTimer(work, 'panel_answer', plan.id, deadline);
    if (plan.panel !== undefined) {
      work.effects.push({ kind: 'panel', panel: plan.panel, partition: plan.id, action, commandId });
    }
  }
}
