import type { CommandResult, PanicCall, PanicKind, PartitionId } from '#site/model/index.ts';
import { raise } from './alarm.ts';
import { audit } from './audit.ts';
import { reportCut, showIndependent } from './partition.ts';
import { runningLifeAlarm } from './running.ts';
import type { Evidence, SiteState } from './types.ts';
import { change, own, partitionOf, periodOf, setPartition, setPeriod, type Work } from './work.ts';
import type { ZoneGroup } from './zones.ts';

/** Calls that are remembered, so that a repeat calls once. At the cap the oldest is forgotten: rather told twice than lost. */
const callCap = 256;
/** A call that was longer on its way is told as late, as are retained ones. */
const lateMs = 60_000;

/** The alarm of a zone of the same meaning. */
const alarms: Readonly<Record<PanicKind, { readonly kind: string; readonly group: ZoneGroup }>> = {
  audible: { kind: 'panic', group: 'holdup' },
  silent: { kind: 'panic_silent', group: 'holdup' },
  medical: { kind: 'medical', group: 'life' },
  fire: { kind: 'fire', group: 'life' },
};

/** A call for help. Nothing refuses it: no code, age, clock, lock or count, nor a partition the site does not have (safety 1). */
export function panic(work: Work, call: PanicCall): void {
  work.rules.add('safety 1');
  if (isKnown(work.state, call)) work.rules.add('C2');
  else callOut(work, call);
  const { id, client } = call;
  const partition = targetOf(work, call);
  // Nothing of the state is in it: the answer to a silent call looks like any other (safety 4).
  const result: CommandResult = {
    commandId: id,
    outcome: 'done',
    ...(partition !== undefined && { partition }),
    at: work.at.wall,
    final: true,
  };
  work.effects.push({ kind: 'reply', result, client, call: callKey(call) });
}

function callOut(work: Work, call: PanicCall): void {
  const { id, source, client, actor } = call;
  const { kind, group } = alarms[call.kind];
  const silent = call.kind === 'silent';
  const target = targetOf(work, call);
  const partitions = target === undefined || target === 'all' ? allOf(work) : [target];
  const [only, more] = partitions;
  const partition = more === undefined || silent ? only : undefined;
  const late = isLate(work, call) ? { late: true } : {};
  const cut = silent ? [] : showIndependent(work, { partitions, kind, group });
  raise(work, { kind, partition, source, actor, silent, evidence: evidenceOf(work, call), ...late });
  reportCut(work, cut, late);
  remember(work, call);
  audit(work, {
    kind: 'command',
    source,
    actor_ref: actor,
    client_id: client,
    command_id: id,
    target: target ?? 'all',
    action: kind,
    outcome: 'done',
    visibility: silent ? 'auditor' : undefined,
  });
}

const allOf = (work: Work): readonly PartitionId[] => work.plan.partitions.map(({ id }) => id);

/** Somebody opens what is open already: a call for a doctor or by fire shows no longer. The station keeps what it was told. */
export function endCalled(work: Work, id: PartitionId): boolean {
  const { called } = periodOf(work.state, id);
  if (called === undefined) return false;
  setPeriod(work, id, { called: undefined });
  if (partitionOf(work, id).alarm?.zone === undefined)
    setPartition(work, id, { alarm: runningLifeAlarm(work, id), incident: undefined });
  return true;
}

/** As far as the site has it. */
function targetOf(work: Work, { partition }: PanicCall): PartitionId | 'all' | undefined {
  if (partition === undefined || partition === 'all') return partition;
  return own(work.state.partitions, partition) === undefined ? undefined : partition;
}

/** A clock in doubt cannot age a call: what comes over the LAN is as old as its receipt. */
function isLate({ at }: Work, { issuedAt, expiresAt, retained }: PanicCall): boolean {
  if (retained === true) return true;
  if (at.clock === 'doubtful') return false;
  return (issuedAt !== undefined && at.wall - issuedAt > lateMs) || (expiresAt !== undefined && at.wall > expiresAt);
}

function evidenceOf(work: Work, call: PanicCall): readonly Evidence[] {
  const { client, issuedAt } = call;
  const seconds = issuedAt === undefined ? 0 : Math.round((work.at.wall - issuedAt) / 1000);
  const isOld = isLate(work, call) && work.at.clock !== 'doubtful' && seconds > 0;
  return [{ type: 'caller', client }, ...(isOld ? [{ type: 'call_delayed', seconds }] : [])];
}

type CallName = Pick<PanicCall, 'kind' | 'id' | 'client'>;

/** Calls of a kind under an id, by one client: another one's are told, whatever their id. Clients that have proven nothing are one. */
export const callKey = ({ kind, id, client }: CallName): string => `${kind} ${id} ${client}`;

/** An earlier version kept no client. */
function isKnown({ panics = [], calls = [] }: SiteState, call: PanicCall): boolean {
  const known = call.kind === 'silent' ? calls : panics;
  return known.includes(callKey(call)) || known.includes(`${call.kind} ${call.id}`);
}

/** Silent ones apart from what everybody may know (safety 4). */
function remember(work: Work, call: PanicCall): void {
  const list = call.kind === 'silent' ? 'calls' : 'panics';
  const known = work.state[list] ?? [];
  work.state = { ...work.state, [list]: [...known.slice(1 - callCap), callKey(call)] };
}

/** The state as if these calls had not come: what is not on disk must come again after a crash, not be taken for known. */
export function withoutCalls(state: SiteState, keys: ReadonlySet<string>): SiteState {
  if (keys.size === 0) return state;
  const rest = (known: readonly string[] | undefined) => known?.filter((key) => !keys.has(key));
  return change(state, { panics: rest(state.panics), calls: rest(state.calls) });
}
