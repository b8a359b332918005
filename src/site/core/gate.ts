import type { Command, PartitionPlan, PartitionState } from '#site/model/index.ts';
import { alarming } from './alarm.ts';
import { isArmed } from './transition.ts';
import type { Failure } from './types.ts';
import { own, partitionOf, periodOf, type Work, without } from './work.ts';
import { covers } from './zones.ts';

const futureMs = 30_000;
const localSlackMs = 2_000;
const wrongCodes = 3;
const wrongCodesMs = 60_000;
const lockMs = 90_000;
const clientCap = 64;

/** Default and longest life of a command, milliseconds (C1). */
const life = {
  arm: { defaultMs: 600_000, maxMs: 600_000 },
  disarm: { defaultMs: 60_000, maxMs: 120_000 },
} as const;

export const refuse = (code: Failure['code'], more: Partial<Failure> = {}): Failure => ({
  outcome: 'refused',
  code,
  ...more,
});

/** The person or program may be heard at all: the command's age (C1), the wrong-code lock (C8), the code itself. */
export function admit(work: Work, command: Command): Failure | undefined {
  return checkAge(work, command) ?? checkLock(work, command) ?? checkCode(work, command);
}

function checkAge(work: Work, command: Command): Failure | undefined {
  // A clock in doubt cannot age a command: what comes over the LAN is as old as its receipt.
  if (work.at.clock === 'doubtful') return undefined;
  const { wall } = work.at;
  const { defaultMs, maxMs } = life[command.verb];
  const expires = Math.min(command.expiresAt ?? command.issuedAt + defaultMs, command.issuedAt + maxMs);
  if (command.issuedAt > wall + futureMs) return ruled(work, 'C1', refuse('FUTURE', { field: 'issued_at' }));
  if (wall > expires) return ruled(work, 'C1', { outcome: 'expired', code: 'EXPIRED' });
  return undefined;
}

/** Counted on the monotonic clock; a start of the machine begins a running lock anew (`started`). */
function checkLock(work: Work, { client }: Command): Failure | undefined {
  const wrong = own(work.state.wrongCodes, client) ?? [];
  const first = wrong[wrong.length - wrongCodes];
  const last = wrong[wrong.length - 1];
  if (first === undefined || last === undefined || last - first > wrongCodesMs) return undefined;
  const leftMs = last + lockMs - work.at.mono;
  if (leftMs <= 0) return undefined;
  return ruled(work, 'C8', refuse('LOCKED', { retryAfterS: Math.ceil(leftMs / 1000) }));
}

function checkCode(work: Work, { code, client }: Command): Failure | undefined {
  if (code === 'bad') {
    const earlier = (own(work.state.wrongCodes, client) ?? []).slice(1 - wrongCodes);
    const others = without(work.state.wrongCodes, client);
    const kept = Object.fromEntries(Object.entries(others).slice(1 - clientCap));
    work.state = { ...work.state, wrongCodes: { ...kept, [client]: [...earlier, work.at.mono] } };
    return ruled(work, 'C8', refuse('BAD_CODE', { field: 'code' }));
  }
  if (code !== 'none' && own(work.state.wrongCodes, client) !== undefined) {
    work.state = { ...work.state, wrongCodes: without(work.state.wrongCodes, client) };
  }
  return undefined;
}

/** Whether the command may act on one partition now. Undefined: it may. */
export function gate(work: Work, command: Command, plan: PartitionPlan): Failure | undefined {
  if (plan.authority === 'external' || work.plan.securityType === 4) return ruled(work, 'I3', refuse('NOT_CONTROLLED'));
  const partition = partitionOf(work, plan.id);
  return (
    checkExpected(work, command, partition) ??
    checkNewer(work, command, partition) ??
    (command.verb === 'disarm'
      ? disarmRights(work, command, plan, partition)
      : checkArm(work, command, plan, partition))
  );
}

function checkExpected(work: Work, { expected }: Command, partition: PartitionState): Failure | undefined {
  if (expected?.seq !== undefined && expected.seq !== partition.seq) {
    return ruled(work, 'C3', refuse('CONFLICT', { field: 'expected.seq' }));
  }
  if (expected?.state !== undefined && !expected.state.includes(partition.state)) {
    return ruled(work, 'C3', refuse('CONFLICT', { field: 'expected.state' }));
  }
  return undefined;
}

/** A command from far or from the clock never overrides what somebody did on the site after it was given (C3). */
function checkNewer(work: Work, command: Command, partition: PartitionState): Failure | undefined {
  if (command.source !== 'cloud' && command.source !== 'schedule') return undefined;
  const { localAt } = periodOf(work.state, partition.id);
  if (localAt === undefined || command.issuedAt >= localAt - localSlackMs) return undefined;
  return ruled(work, 'C3', { outcome: 'superseded', code: 'NEWER_LOCAL_CHANGE' });
}

function checkArm(work: Work, command: Command, plan: PartitionPlan, partition: PartitionState): Failure | undefined {
  const { state, mode } = partition;
  if (alarming(state)) return ruled(work, 'C11', refuse('NOT_ALLOWED'));
  const reduces = (isArmed(state) || state === 'arming') && mode !== null && !covers(command.mode ?? 'away', mode);
  if (!reduces || command.source === 'schedule') return undefined;
  return ruled(work, 'I13', disarmRights(work, command, plan, partition));
}

/** What a disarm needs, and a change to a mode that protects less (C10, C11, C12, I4, I13). */
function disarmRights(
  work: Work,
  command: Command,
  plan: PartitionPlan,
  { id, state }: PartitionState,
): Failure | undefined {
  const { source, code, actor } = command;
  // After a lost store only a person with a code may say that the site is disarmed.
  if (plan.authority === 'engine' && state === 'unknown' && code === 'none') {
    return ruled(work, 'I3', refuse('CODE_REQUIRED', { field: 'code' }));
  }
  if (source === 'lan' || source === 'cli') {
    if (!work.plan.disarmNeedsCode || code !== 'none') return undefined;
    return refuse('CODE_REQUIRED', { field: 'code' });
  }
  if (source === 'cloud') {
    if (work.at.clock === 'doubtful') return ruled(work, 'C1', refuse('CLOCK_DOUBTFUL'));
    const personal = command.expiresAt !== undefined && actor !== undefined;
    return alarming(state) && !personal ? ruled(work, 'C11', refuse('NOT_ALLOWED')) : undefined;
  }
  if (work.at.clock !== 'synced') return ruled(work, 'C12', refuse('CLOCK_DOUBTFUL'));
  if (alarming(state)) return ruled(work, 'C11', refuse('NOT_ALLOWED'));
  const { armedBy } = periodOf(work.state, id);
  const mine = armedBy?.source === 'schedule' && armedBy.actor === actor;
  return state === 'disarmed' || mine ? undefined : ruled(work, 'C12', refuse('NOT_ALLOWED'));
}

function ruled(work: Work, rule: string, failure: Failure | undefined): Failure | undefined {
  if (failure !== undefined) work.rules.add(rule);
  return failure;
}
