import type { AuditDraft, Command, CommandResult, PartitionState, ZoneNumber } from '#site/model/index.ts';
import { change, type Work } from './work.ts';

/** Refusals told one by one within a minute; more are counted, so that no flood can push the past out of the log. */
const refusalCap = 60;
const windowMs = 60_000;

type Told = { readonly [K in keyof AuditDraft]: AuditDraft[K] | undefined };

export function audit(
  work: Work,
  told: Partial<Told> & Pick<AuditDraft, 'kind' | 'source' | 'target' | 'action'>,
): void {
  work.effects.push({ kind: 'audit', entry: change<AuditDraft>(told as AuditDraft, told as Told) });
}

/** Zone numbers that are named. */
const namedCap = 24;

/** A partition's state in one word, with the mode it goes to and, where it is set, the zones it is set without. */
export function standing({ state, mode }: PartitionState, leftOut: readonly ZoneNumber[] = []): string {
  const word = mode === null ? state : `${state} ${mode}`;
  if (leftOut.length === 0 || mode === null) return word;
  const more = leftOut.length > namedCap ? ` and ${leftOut.length - namedCap} more` : '';
  return `${word} without ${leftOut.slice(0, namedCap).join(' ')}${more}`;
}

/** The answer to a command: done, on its way, refused, or overtaken by something newer. */
export function auditAnswer(
  work: Work,
  command: Pick<Command, 'client' | 'source' | 'verb' | 'schedule' | 'zone'> & { readonly actor?: string | undefined },
  result: CommandResult,
): void {
  const { error, outcome } = result;
  const omitted = error === undefined ? 0 : refusalsBefore(work);
  if (omitted === undefined) return;
  const overtaken = outcome === 'superseded' || error?.code === 'CONFLICT';
  audit(work, {
    kind: error === undefined ? 'command' : overtaken ? 'conflict' : 'refusal',
    source: command.source,
    actor_ref: command.actor,
    client_id: command.client,
    command_id: result.commandId,
    target: targetOf(work, command, result),
    action: command.verb,
    outcome,
    reason: error?.code,
    after: result.state,
    seq: result.seq,
    omitted: omitted === 0 ? undefined : omitted,
  });
}

/** What no plan has is not repeated: somebody may have typed a code in its place (I10). */
function targetOf(
  { plan }: Work,
  { schedule, zone }: Pick<Command, 'schedule' | 'zone'>,
  { partition }: CommandResult,
): string {
  const named = (kind: string, name: string, isKnown: boolean | undefined) =>
    `${kind}:${isKnown === true ? name : '?'}`;
  if (schedule !== undefined)
    return named(
      'schedule',
      schedule,
      plan.schedules?.schedules.some(({ id }) => id === schedule),
    );
  if (zone !== undefined)
    return named(
      'zone',
      zone,
      plan.zones.some(({ number }) => number === zone),
    );
  return partition ?? 'all';
}

/** How many refusals went untold since the last one that was; undefined when this one is only counted. */
function refusalsBefore(work: Work): number | undefined {
  const { mono } = work.at;
  const { from, told, omitted } = work.state.refusals ?? { from: mono, told: 0, omitted: 0 };
  // A clock that runs backwards is that of another boot.
  const isOver = mono - from >= windowMs || mono < from;
  if (!isOver && told >= refusalCap) {
    work.state = { ...work.state, refusals: { from, told, omitted: omitted + 1 } };
    return undefined;
  }
  const refusals = isOver ? { from: mono, told: 1, omitted: 0 } : { from, told: told + 1, omitted: 0 };
  work.state = { ...work.state, refusals };
  return omitted;
}
