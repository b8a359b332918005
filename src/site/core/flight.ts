import type {
  Command,
  CommandResult,
  PanelRefusal,
  PartitionId,
  ReplyCode,
  SignalOf,
  Undone,
  ZoneNumber,
} from '#site/model/index.ts';
import { auditAnswer } from './audit.ts';
import { scheduleAnswered } from './schedule-report.ts';
import { shown } from './shown.ts';
import { clearTimer } from './timers.ts';
import type { Failure, InFlight, SeenCommand, SiteState } from './types.ts';
import { own, partitionOf, setPartition, type Work, without } from './work.ts';

/** Results of past commands that are kept (C2). */
const commandCap = 1000;

export type Settled = 'done' | 'already' | Failure;

/** One partition of a command has its outcome; the last one answers the command. */
export function settle(work: Work, partition: PartitionId, commandId: string, settled: Settled): void {
  setPartition(work, partition, { request: undefined });
  clearTimer(work, 'panel_answer', partition);
  const flight = own(work.state.inFlight, commandId);
  if (flight === undefined) return;
  const failure = flight.failure ?? (typeof settled === 'object' ? settled : undefined);
  const next: InFlight = {
    ...flight,
    waiting: flight.waiting.filter((id) => id !== partition),
    changed: flight.changed || settled === 'done',
    ...(failure === undefined ? {} : { failure }),
    ...(typeof settled === 'object' && { undone: [...(flight.undone ?? []), undoneOf(partition, settled)] }),
  };
  if (next.waiting.length > 0) {
    work.state = { ...work.state, inFlight: { ...work.state.inFlight, [commandId]: next } };
    return;
  }
  land(work, commandId, next);
}

function land(work: Work, commandId: string, flight: InFlight): void {
  work.state = { ...work.state, inFlight: without(work.state.inFlight, commandId) };
  const seen = seenOf(work.state, commandId);
  const result = conclude(work, { id: commandId, partition: flight.target }, flight);
  answer(work, flight, { bodyHash: seen?.bodyHash ?? '', result });
}

/** The command that asks a panel to leave this zone out, or to take it back. */
export function askedOf(
  { inFlight }: SiteState,
  number: ZoneNumber,
): { readonly commandId: string; readonly flight: InFlight } | undefined {
  const found = Object.entries(inFlight).find(([, { zone }]) => zone === number);
  return found && { commandId: found[0], flight: found[1] };
}

/** Such a command has its outcome. */
export function settleZone(work: Work, zone: ZoneNumber, settled: 'done' | Failure): void {
  const asked = askedOf(work.state, zone);
  if (asked === undefined) return;
  const { commandId, flight } = asked;
  for (const partition of flight.waiting) clearTimer(work, 'panel_answer', { partition, zone });
  const so = settled === 'done' ? { changed: true } : { failure: settled };
  land(work, commandId, { ...flight, waiting: [], ...so });
}

/** What of a failure belongs to its partition. */
export const undoneOf = (partition: PartitionId, { code, field, zones }: Failure): Undone => ({
  partition,
  code,
  ...(field === undefined ? {} : { field }),
  ...(zones === undefined ? {} : { zones }),
});

/** The final word on a command. Where a part of "all" has changed already, a failure is `failed`, not `refused` (I7). */
export function conclude(
  work: Work,
  command: { readonly id: string; readonly partition: PartitionId | 'all' },
  {
    changed,
    failure,
    undone = [],
  }: { readonly changed: boolean; readonly failure?: Failure | undefined; readonly undone?: readonly Undone[] },
): CommandResult {
  const partition = command.partition === 'all' ? undefined : own(work.state.partitions, command.partition);
  const outcome = failure === undefined ? (changed ? 'done' : 'already') : changed ? 'failed' : failure.outcome;
  return {
    commandId: command.id,
    outcome,
    ...(failure === undefined ? {} : { error: errorOf(failure) }),
    partition: command.partition,
    ...(command.partition === 'all' && undone.length > 0 && { undone }),
    // The word of its state topic: `triggered` while a fire lasts, whatever was done to the arming beneath it.
    ...(partition === undefined ? {} : { state: shown(partition).state, seq: partition.seq }),
    at: work.at.wall,
    final: true,
  };
}

function errorOf({ code, field, zones, retryAfterS }: Failure): NonNullable<CommandResult['error']> {
  return {
    code,
    ...(field === undefined ? {} : { field }),
    ...(zones === undefined ? {} : { zones }),
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
  };
}

/** Answers a command and keeps the answer for a repeat of it. */
export function answer(
  work: Work,
  command: Pick<Command, 'client' | 'source' | 'verb'> & { readonly actor?: string | undefined },
  { bodyHash, result }: { readonly bodyHash: string; readonly result: CommandResult },
): void {
  auditAnswer(work, command, result);
  if (command.source === 'schedule' && result.final) scheduleAnswered(work, command, result);
  keep(work, { id: result.commandId, bodyHash, at: work.at.wall, result });
  work.effects.push({ kind: 'reply', result, client: command.client });
}

/** The kept answer to a command, if there is one. */
export const seenOf = ({ commands }: SiteState, id: string): SeenCommand | undefined =>
  commands.find((one) => one.id === id);

/**
 * Keeps an answer. The order is age: a later answer to the same command keeps its place. At the cap the oldest one
 * without an effect gives way, so that no flood of refused or expired commands pushes out what was done; where there
 * is none, a new one without an effect is not kept.
 */
export function keep(work: Work, seen: SeenCommand): void {
  const { commands, inFlight } = work.state;
  const place = commands.findIndex(({ id }) => id === seen.id);
  if (place !== -1) {
    work.state = { ...work.state, commands: commands.with(place, seen) };
    return;
  }
  const isFull = commands.length >= commandCap;
  const idle = isFull ? commands.find(hadNoEffect) : undefined;
  if (isFull && idle === undefined && hadNoEffect(seen)) return;
  const gone = isFull ? (idle ?? commands.find(({ id }) => own(inFlight, id) === undefined)) : undefined;
  if (gone !== undefined && gone !== idle) forget(work, gone);
  work.state = { ...work.state, commands: [...commands.filter((one) => one !== gone), seen] };
}

/** From now on what was given before this one was answered may be a repeat of it: see `admit`. */
function forget(work: Work, gone: SeenCommand): void {
  const { forgotten = gone.at } = work.state;
  // A moment ahead is one of a clock that was wrong; what comes from there is refused as such (C1).
  const latest = forgotten > work.at.wall ? gone.at : Math.max(forgotten, gone.at);
  work.state = { ...work.state, forgotten: latest };
}

const hadNoEffect = ({ result }: SeenCommand): boolean =>
  result?.outcome === 'expired' || result?.outcome === 'refused';

/** `field` tells a panel's own NOT_ALLOWED from those of the rules, which ask for something else. */
const refusals: Readonly<Record<PanelRefusal, { readonly code: ReplyCode; readonly field?: string }>> = {
  not_ready: { code: 'NOT_READY' },
  wrong_code: { code: 'BAD_CODE' },
  lockout: { code: 'LOCKED' },
  no_command: { code: 'NOT_ALLOWED', field: 'profile' },
  other: { code: 'NOT_ALLOWED', field: 'panel' },
};

/** The panel says that it did not do what it was asked. Without a partition it means all that wait for it. */
export function panelRefusal(work: Work, signal: SignalOf<'refusal'>): void {
  if (signal.zone !== undefined) {
    settleZone(work, signal.zone, { outcome: 'refused', ...refusals[signal.reason] });
    return;
  }
  for (const plan of work.plan.partitions) {
    if (plan.authority !== 'panel' || signal.source.kind !== 'panel' || plan.panel !== signal.source.id) continue;
    if (signal.partition !== undefined && signal.partition !== plan.id) continue;
    const { request } = partitionOf(work, plan.id);
    if (request === undefined) continue;
    const refusal = refusals[signal.reason];
    const zones = refusal.code === 'NOT_READY' ? openZones(work, plan.id) : undefined;
    const failure: Failure = { outcome: 'refused', ...refusal, ...(zones === undefined ? {} : { zones }) };
    settle(work, plan.id, request.commandId, failure);
  }
}

const openZones = (work: Work, id: PartitionId): readonly string[] =>
  work.plan.zones
    .filter((zone) => zone.partitions.includes(id) && own(work.state.zones, zone.number)?.open === true)
    .map((zone) => zone.number);

/** The panel did not show the wanted state in time. What it does later is mirrored like anything else. */
export function unconfirmed(work: Work, partition: PartitionId): void {
  const { request } = partitionOf(work, partition);
  if (request === undefined) return;
  settle(work, partition, request.commandId, silence);
}

/** The same of a zone. */
export const zoneUnconfirmed = (work: Work, zone: ZoneNumber): void => settleZone(work, zone, silence);

const silence: Failure = { outcome: 'unconfirmed', code: 'UNCONFIRMED' };
