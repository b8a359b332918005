import {
  alarming,
  type Command,
  isArmed,
  type PartitionId,
  type PartitionPlan,
  type PartitionState,
  roles,
  type UserRight,
  unknownClient,
} from '#site/model/index.ts';
import { countCommand, lockMs, rateLockLeft } from './rate.ts';
import { shown } from './shown.ts';
import type { Failure } from './types.ts';
import { own, partitionOf, periodOf, type Work, without } from './work.ts';
import { covers } from './zones.ts';

const futureMs = 30_000;
const localSlackMs = 2_000;
const wrongCodes = 3;
const wrongCodesMs = 60_000;
const clientCap = 64;

/** Default and longest life of a command, milliseconds (C1). */
const life = {
  arm: { defaultMs: 600_000, maxMs: 600_000 },
  disarm: { defaultMs: 60_000, maxMs: 120_000 },
  postpone: { defaultMs: 60_000, maxMs: 120_000 },
  verify: { defaultMs: 60_000, maxMs: 120_000 },
  security_type: { defaultMs: 60_000, maxMs: 120_000 },
  snapshot: { defaultMs: 60_000, maxMs: 120_000 },
  play: { defaultMs: 60_000, maxMs: 120_000 },
  cancel: { defaultMs: 60_000, maxMs: 120_000 },
  dispatch: { defaultMs: 60_000, maxMs: 120_000 },
  watch: { defaultMs: 60_000, maxMs: 120_000 },
  silence: { defaultMs: 60_000, maxMs: 120_000 },
  bypass: { defaultMs: 60_000, maxMs: 60_000 },
  unbypass: { defaultMs: 60_000, maxMs: 60_000 },
  clear_memory: { defaultMs: 60_000, maxMs: 120_000 },
  test: { defaultMs: 60_000, maxMs: 120_000 },
  end_test: { defaultMs: 60_000, maxMs: 120_000 },
} as const;

export const refuse = (code: Failure['code'], more: Partial<Failure> = {}): Failure => ({
  outcome: 'refused',
  code,
  ...more,
});

/** The person or program may be heard at all: the command's age (C1), how many there were (C8), the code itself. */
export function admit(work: Work, command: Command): Failure | undefined {
  // First, and not counted: what a line delivers late must not lock out who gave it (I1), and what comes from the
  // future is answered alike whatever its code, or it would tell a right one from a wrong one at no risk.
  return (
    checkAge(work, command) ?? checkCode(work, command) ?? (isRequest(command) ? undefined : checkRate(work, command))
  );
}

/**
 * What another room does: pictures, sound, help from far. It needs no code and changes no arming, so that no lock for what was done to
 * arming holds it; one that has a code is judged by it like any other.
 */
export const isRequest = ({ verb }: Command): boolean => requests.has(verb);
const requests: ReadonlySet<Command['verb']> = new Set(['snapshot', 'play', 'cancel', 'dispatch', 'watch']);

/** Somebody on the site whose code is good, under duress or not. */
export const isPerson = ({ source, code }: Command): boolean =>
  (source === 'lan' || source === 'cli') && (code === 'ok' || code === 'duress');

/**
 * Counted on the monotonic clock, also when nothing comes of the command. Whoever has a good code is never slowed
 * down (I14): against guessing there is the lock for wrong codes.
 */
export function checkRate(work: Work, command: Command): Failure | undefined {
  if (isPerson(command) || !countCommand(work, command)) return undefined;
  return ruled(work, 'C8', refuse('RATE_LIMITED', { retryAfterS: lockMs / 1000 }));
}

/**
 * Whether the client is locked: for its wrong codes, or for giving too many commands (C8). Changes nothing. A code is
 * judged before the rate, so that a wrong one is counted where a right one would act.
 */
export function locked(work: Work, command: Command): Failure | undefined {
  if (isRequest(command) && command.code === 'none') return undefined;
  const lock = checkLock(work, command);
  if (lock !== undefined) return lock;
  const leftMs = isPerson(command) || command.code === 'bad' ? 0 : rateLockLeft(work, command.client);
  return leftMs > 0 ? ruled(work, 'C8', refuse('RATE_LIMITED', { retryAfterS: Math.ceil(leftMs / 1000) })) : undefined;
}

function checkAge(work: Work, command: Command): Failure | undefined {
  // A clock in doubt cannot age a command: what comes over the LAN is as old as its receipt.
  if (work.at.clock === 'doubtful') return undefined;
  const { wall } = work.at;
  const { defaultMs, maxMs } = life[command.verb];
  const expires = Math.min(command.expiresAt ?? command.issuedAt + defaultMs, command.issuedAt + maxMs);
  if (command.issuedAt > wall + futureMs) return ruled(work, 'C1', refuse('FUTURE', { field: 'issued_at' }));
  if (wall > expires) return ruled(work, 'C1', { outcome: 'expired', code: 'EXPIRED' });
  if (mayBeForgotten(work, command)) return ruled(work, 'C2', { outcome: 'expired', code: 'EXPIRED' });
  return undefined;
}

/**
 * Whether the command may have been done and forgotten: it is older than one that gave way in the memory of answers.
 * With 1,000 answers kept that is at hand only where more than 1,000 commands had an effect within ten minutes. The id
 * of a scheduled one is fixed by its slot, which is done once by itself.
 */
function mayBeForgotten({ state: { forgotten }, at }: Work, { issuedAt, source }: Command): boolean {
  return forgotten !== undefined && forgotten <= at.wall && issuedAt <= forgotten && source !== 'schedule';
}

/**
 * Who has tried the code. Where the broker tells of nobody who it is, all have one name: whoever may ask for nothing but a sound must not
 * lock the keypad's disarm, nor the guard's silence, by wrong codes with what it asks for. No client has a name with a slash.
 */
const guesser = (command: Command): string =>
  command.client === unknownClient && isRequest(command) ? `${unknownClient}/requests` : command.client;

/** Counted on the monotonic clock; a start of the machine begins a running lock anew (`started`). */
function checkLock(work: Work, command: Command): Failure | undefined {
  const wrong = own(work.state.wrongCodes, guesser(command)) ?? [];
  const first = wrong[wrong.length - wrongCodes];
  const last = wrong[wrong.length - 1];
  if (first === undefined || last === undefined || last - first > wrongCodesMs) return undefined;
  const leftMs = last + lockMs - work.at.mono;
  if (leftMs <= 0) return undefined;
  return ruled(work, 'C8', refuse('LOCKED', { retryAfterS: Math.ceil(leftMs / 1000) }));
}

/**
 * Counts a wrong code. A good one forgets only what counts no more: whoever has a code of their own must not be able to
 * try those of others between two uses of it.
 */
export function checkCode(work: Work, command: Command): Failure | undefined {
  const { code, role } = command;
  const client = guesser(command);
  const { mono } = work.at;
  const known = own(work.state.wrongCodes, client);
  if (code === 'bad') {
    const others = without(work.state.wrongCodes, client);
    const kept = Object.fromEntries(Object.entries(others).slice(1 - clientCap));
    const times = [...(known ?? []).slice(1 - wrongCodes), mono];
    work.state = { ...work.state, wrongCodes: { ...kept, [client]: times } };
    return ruled(work, 'C8', refuse('BAD_CODE', { field: 'code' }));
  }
  // The account of a guard is good without a code, and proves none.
  if (role === undefined || known === undefined) return undefined;
  const recent = known.filter((at) => mono - at <= wrongCodesMs);
  if (recent.length === known.length) return undefined;
  const others = without(work.state.wrongCodes, client);
  work.state = { ...work.state, wrongCodes: recent.length === 0 ? others : { ...others, [client]: recent } };
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

export function checkExpected(work: Work, { expected }: Command, partition: PartitionState): Failure | undefined {
  if (expected?.seq !== undefined && expected.seq !== partition.seq) {
    return ruled(work, 'C3', refuse('CONFLICT', { field: 'expected.seq' }));
  }
  const words = [partition.state, shown(partition).state];
  if (expected?.state !== undefined && !expected.state.some((word) => words.includes(word))) {
    return ruled(work, 'C3', refuse('CONFLICT', { field: 'expected.state' }));
  }
  return undefined;
}

/**
 * A command from far or from the clock never overrides what somebody did on the site after it was given (C3). Where no
 * clock can tell which came first, the safer reading counts: an arm acts, a disarm does not.
 */
function checkNewer(work: Work, command: Command, partition: PartitionState): Failure | undefined {
  if (command.source !== 'cloud' && command.source !== 'schedule') return undefined;
  const overtaken = isOvertaken(work, command, partition.id);
  if (overtaken === 'unknown' && command.verb === 'disarm' && work.at.clock === 'doubtful')
    return ruled(work, 'C1', refuse('CLOCK_DOUBTFUL'));
  if (overtaken === false || (overtaken === 'unknown' && command.verb === 'arm')) return undefined;
  return ruled(work, 'C3', { outcome: 'superseded', code: 'NEWER_LOCAL_CHANGE' });
}

/**
 * Compares ages, never two readings of a clock that may have been set between them: the command's by the wall clock of
 * now, that of the change on the site by the monotonic clock. A change before this start of the machine is at least as
 * old as the monotonic clock says, and as old as both wall clocks say if neither is in doubt.
 */
function isOvertaken(work: Work, { issuedAt }: Command, id: PartitionId): boolean | 'unknown' {
  const { at } = work;
  const { local, localAt } = periodOf(work.state, id);
  if (local === undefined && localAt === undefined) return false;
  if (at.clock === 'doubtful') return 'unknown';
  const ageMs = at.wall - issuedAt - localSlackMs;
  if (local === undefined) return ageMs > at.wall - (localAt ?? 0);
  if (local.boot === at.boot) return ageMs > at.mono - local.mono;
  if (ageMs <= at.mono) return false;
  return local.clock === 'doubtful' ? 'unknown' : ageMs > at.wall - local.wall;
}

function checkArm(work: Work, command: Command, plan: PartitionPlan, partition: PartitionState): Failure | undefined {
  const { state, mode } = partition;
  if (!mayDo(command, 'arm')) return refuse('NOT_ALLOWED', { field: 'code' });
  if (alarming(state)) return ruled(work, 'C11', refuse('NOT_ALLOWED'));
  const isHere = command.source === 'lan' || command.source === 'cli';
  // Whatever burglar signal comes while nobody knows goes up; only who may be asked makes it less.
  if (isHere && plan.authority === 'engine' && state === 'unknown' && command.code === 'none') {
    return ruled(work, 'I3', refuse('CODE_REQUIRED', { field: 'code' }));
  }
  const leavesOut = command.force === true || (command.bypass ?? []).length > 0;
  if (leavesOut && !mayDo(command, 'bypass')) return refuse('NOT_ALLOWED', { field: 'code' });
  const wanted = command.mode ?? 'away';
  const isOn = (isArmed(state) || state === 'arming') && mode !== null;
  // Otherwise who comes first without a code leaves everything out, and the owner finds the partition armed already.
  if (leavesOut && isHere && !isOn) return mayChange(work, command, 'bypass');
  // What is armed in this mode stays as it is, whatever the command leaves out.
  const reduces = isOn && wanted !== mode && (leavesOut || !covers(wanted, mode));
  if (!reduces || command.source === 'schedule') return undefined;
  return ruled(work, 'I13', disarmRights(work, command, plan, partition));
}

/** A change that lets something be watched less: it takes a code where disarming does, and the right. */
export function mayChange(work: Work, command: Command, right: UserRight): Failure | undefined {
  if (!mayDo(command, right)) return refuse('NOT_ALLOWED', { field: 'code' });
  if (!work.plan.disarmNeedsCode || command.code !== 'none') return undefined;
  return refuse('CODE_REQUIRED', { field: 'code' });
}

/** Whether the code is that of an installer, who may leave out what users may not. */
export const mayServe = ({ role }: Command): boolean => role !== undefined && roles[role].level >= 3;

/** Of a person whose code told a role; what comes without one is judged by its source. */
export const mayDo = ({ role }: Command, right: UserRight): boolean =>
  role === undefined || roles[role].may.includes(right);

/** What a disarm needs, and a change of what is armed to less, by its mode or by what it leaves out (C10, C11, C12, I4, I13). */
function disarmRights(
  work: Work,
  command: Command,
  plan: PartitionPlan,
  { id, state }: PartitionState,
): Failure | undefined {
  const { source, code, actor } = command;
  if (!mayDo(command, 'disarm')) return refuse('NOT_ALLOWED', { field: 'code' });
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
