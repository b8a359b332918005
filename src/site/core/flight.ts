import type { CommandResult, PanelRefusal, PartitionId, ReplyCode, Signal } from '#site/model/index.ts';
import { clearTimer } from './timers.ts';
import type { Failure, InFlight, SeenCommand } from './types.ts';
import { own, partitionOf, setPartition, type Work, without } from './work.ts';

/** Results of past commands that are kept (C2). */
const commandCap = 1000;

export type Settled = 'done' | 'already' | Failure;

/** One partition of a command has its outcome; the last one answers the command. */
export function settle(work: Work, partition: PartitionId, commandId: string, settled: Settled): void {
  setPartition(work, partition, { request: undefined });
  clearTimer(work, 'confirm', partition);
  const flight = own(work.state.inFlight, commandId);
  if (flight === undefined) return;
  const failure = flight.failure ?? (typeof settled === 'object' ? settled : undefined);
  const next: InFlight = {
    ...flight,
    waiting: flight.waiting.filter((id) => id !== partition),
    changed: flight.changed || settled === 'done',
    ...(failure === undefined ? {} : { failure }),
  };
  if (next.waiting.length > 0) {
    work.state = { ...work.state, inFlight: { ...work.state.inFlight, [commandId]: next } };
    return;
  }
  work.state = { ...work.state, inFlight: without(work.state.inFlight, commandId) };
  const seen = own(work.state.commands, commandId);
  const result = conclude(work, { id: commandId, partition: next.target }, next);
  answer(work, next.client, { bodyHash: seen?.bodyHash ?? '', result });
}

/** The final word on a command. Where a part of "all" has changed already, a failure is `failed`, not `refused` (I7). */
export function conclude(
  work: Work,
  command: { readonly id: string; readonly partition: PartitionId | 'all' },
  { changed, failure }: { readonly changed: boolean; readonly failure?: Failure | undefined },
): CommandResult {
  const partition = command.partition === 'all' ? undefined : own(work.state.partitions, command.partition);
  const outcome = failure === undefined ? (changed ? 'done' : 'already') : changed ? 'failed' : failure.outcome;
  return {
    commandId: command.id,
    outcome,
    ...(failure === undefined ? {} : { error: errorOf(failure) }),
    partition: command.partition,
    ...(partition === undefined ? {} : { state: partition.state, seq: partition.seq }),
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
export function answer(work: Work, client: string, command: { bodyHash: string; result: CommandResult }): void {
  const { bodyHash, result } = command;
  keep(work, result.commandId, { bodyHash, at: work.at.wall, result });
  work.effects.push({ kind: 'reply', result, client });
}

/**
 * Insertion order is age: a later answer to the same command keeps its place. Filled member by member, because
 * spreading a record of 1,000 ids takes twenty times as long; without a prototype, so that every id is a member.
 */
function keep(work: Work, id: string, seen: SeenCommand): void {
  const before = work.state.commands;
  const ids = Object.keys(before);
  const isFull = ids.length >= commandCap && own(before, id) === undefined;
  const oldest = isFull ? ids.find((old) => own(work.state.inFlight, old) === undefined) : undefined;
  const commands: Record<string, SeenCommand> = Object.create(null);
  for (const known of ids) {
    const entry = before[known];
    if (known !== oldest && entry !== undefined) commands[known] = entry;
  }
  commands[id] = seen;
  work.state = { ...work.state, commands };
}

const refusals: Readonly<Record<PanelRefusal, ReplyCode>> = {
  not_ready: 'NOT_READY',
  wrong_code: 'BAD_CODE',
  lockout: 'LOCKED',
  other: 'NOT_ALLOWED',
};

/** The panel says that it did not do what it was asked. Without a partition it means all that wait for it. */
export function panelRefusal(work: Work, signal: Extract<Signal, { kind: 'refusal' }>): void {
  for (const plan of work.plan.partitions) {
    if (plan.authority !== 'panel' || signal.source.kind !== 'panel' || plan.panel !== signal.source.id) continue;
    if (signal.partition !== undefined && signal.partition !== plan.id) continue;
    const { request } = partitionOf(work, plan.id);
    if (request === undefined) continue;
    const code = refusals[signal.reason];
    const zones = code === 'NOT_READY' ? openZones(work, plan.id) : undefined;
    const failure: Failure = { outcome: 'refused', code, ...(zones === undefined ? {} : { zones }) };
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
  settle(work, partition, request.commandId, { outcome: 'unconfirmed', code: 'UNCONFIRMED' });
}
