import {
  agreed,
  beQuiet,
  complain,
  conflict,
  copiesRemain,
  type Draft,
  isThere,
  jittered,
  remember,
  set,
  throttleMs,
} from './draft.ts';
import { type Edge, isOldCopy, judge, mayBeCopy, type Read, type Verdict } from './judge.ts';
import type { CloudStatus, Sighting, SyncInput } from './types.ts';

type Polled = Extract<SyncInput, { kind: 'polled' }>;

/** The cloud's value was read: agreement, a command, a conflict, or only a cloud that is behind. */
export function polled(draft: Draft, input: Polled): void {
  const { state, at } = draft;
  const { flight } = state;
  if (flight?.kind !== 'get' || flight.request !== input.request) return;
  set(draft, { flight: null, readFailures: 0, looked: true });
  forgetEchoes(draft);
  nextRead(draft);
  const { value } = input;
  // Never a value, least of all disarmed (S-142). A write may still go: it needs no understanding.
  if (value === 'unknown') {
    complain(draft, 'unreadable');
    return;
  }
  if (!state.owed) set(draft, { complaint: null });
  const { version = null, writtenAt, answeredAt } = input;
  const ageMs = writtenAt === undefined || answeredAt === undefined ? null : answeredAt - writtenAt;
  const read: Read = { value, version, since: flight.since, until: at.mono, ageMs, writtenAt: writtenAt ?? null };
  if (draft.settings.external) mirror(draft, read);
  else if (isOldCopy(state, read)) notSeen(draft, read);
  else if (mayBeOldCopy(draft, read)) wait(draft, read);
  else follow(draft, read, input.id);
}

/** Long past, no window of an edge reaches back to it. */
function forgetEchoes(draft: Draft): void {
  const { state, at, timings } = draft;
  const isOld = ({ until }: { readonly until: number }) => at.mono > until + timings.echoMs;
  if (state.echoes.some(isOld)) set(draft, { echoes: state.echoes.filter((echo) => !isOld(echo)) });
}

/**
 * A read shows what the cloud held at most `lagMs` before it began. Until so much time has passed since the other value
 * was last seen, nobody can say which of the two is the newer one (C6).
 */
function mayBeOldCopy({ state, timings }: Draft, read: Read): boolean {
  const { value, since } = read;
  const { seen } = state;
  if (seen === null || seen.from === null || seen.value === value) return false;
  const isDisarm = value === 'disarmed' && !isThere(state, value);
  return since < seen.until + (isDisarm && mayBeCopy(state, read) ? timings.copyLagMs : timings.lagMs);
}

/**
 * A value that is over is no sight of the cloud, only no reason not to write. Where it stays, what the cloud was put back
 * to by hand, perhaps, the truth is written now and then.
 */
function notSeen(draft: Draft, read: Read): void {
  const { state, timings } = draft;
  const verdict = judge(state, read, timings);
  for (const rule of verdict.rules) draft.rules.add(rule);
  set(draft, { doubt: null });
  remember(draft, read);
  if (verdict.kind === 'conflict') {
    conflict(draft, verdict.reason, read.value);
  } else if (state.seen !== null && read.since - state.seen.until >= timings.refusedMs) {
    set(draft, { owed: state.local !== null && state.local.tellable !== null });
  }
}

/** Neither a write nor a command comes of it; a read soon after decides. */
function wait(draft: Draft, { since }: Read): void {
  const { at, timings, state } = draft;
  draft.rules.add('C6');
  set(draft, { doubt: { since }, due: Math.min(state.due, at.mono + jittered(draft, timings.fastMs)) });
}

function mirror(draft: Draft, read: Read): void {
  const changed = draft.state.seen?.value !== read.value;
  set(draft, { seen: sighting(draft, read), doubt: null });
  if (changed) draft.actions.push({ kind: 'mirrored', value: read.value });
}

/** What is known of the cloud after a read; the moment from which it is sure to have held the value never goes back. */
function sighting({ state, timings }: Draft, { value, version, writtenAt, since, until }: Read): Sighting {
  const { seen } = state;
  const from = since - timings.lagMs;
  const still = seen !== null && seen.from !== null && seen.value === value ? Math.max(seen.from, from) : from;
  return { value, version, writtenAt, confirmed: true, from: still, since, until };
}

function follow(draft: Draft, read: Read, id: string): void {
  const { state, timings } = draft;
  const verdict = judge(state, read, timings);
  const { value } = read;
  if (verdict.kind === 'conflict' && isBehind(draft, verdict)) {
    set(draft, { behind: draft.at.mono + 2 * timings.copyMs });
  }
  set(draft, { seen: sighting(draft, read), doubt: null, uncertain: null });
  remember(draft, read);
  if (value === 'disarmed') copiesRemain(draft, read.until);
  for (const rule of verdict.rules) draft.rules.add(rule);
  if (verdict.kind === 'agrees') agreed(draft, state.local?.seq ?? 0);
  else if (verdict.kind === 'behind') set(draft, { owed: state.local !== null && state.local.tellable !== null });
  else if (verdict.kind === 'conflict') conflict(draft, verdict.reason, value);
  else if (verdict.kind === 'command') command(draft, value, verdict, id);
}

/** Reads that go on not to show what was written tell how far the copies are behind. */
const isBehind = ({ state }: Draft, verdict: Extract<Verdict, { kind: 'conflict' }>): boolean =>
  verdict.reason === 'echo' && state.seen?.confirmed === false;

/**
 * The level value has neither a time nor a deadline of its own: it gets the earliest moment it can have been written,
 * an arming the latest where both are allowed, and lives from there (C1).
 */
function command(draft: Draft, value: CloudStatus, edge: Edge, id: string): void {
  const { at, timings } = draft;
  const issuedAt = Math.round(at.wall - (at.mono - edge.writtenAt));
  const verb = value === 'armed' ? 'arm' : 'disarm';
  draft.actions.push({ kind: 'command', verb, id, issuedAt, expiresAt: issuedAt + timings.lifeMs[value] });
  set(draft, { command: { id, value, since: at.mono }, owed: false, told: null });
}

/** A read failed. The baseline stays: how long ago it was taken decides whether the link was healthy (C4). */
export function pollFailed(draft: Draft, input: Extract<SyncInput, { kind: 'pollFailed' }>): void {
  const { state, at, timings } = draft;
  if (state.flight?.kind !== 'get' || state.flight.request !== input.request) return;
  const { readFailures } = state;
  set(draft, { flight: null, looked: false, readFailures: readFailures + 1 });
  if (input.why === 'unreachable') {
    const waitMs = Math.min(timings.pollMs, timings.retryMs * 2 ** Math.min(readFailures, 20));
    set(draft, { due: at.mono + jittered(draft, waitMs) });
  } else if (input.why === 'throttled') {
    beQuiet(draft, throttleMs(draft, input));
  } else {
    complain(draft, input.why);
    beQuiet(draft, jittered(draft, timings.refusedMs));
  }
}

/** 30 s, or 5 s for a while after a change on the site; a write that waits for its time is looked before again. */
export function nextRead(draft: Draft): void {
  const { state, at, timings } = draft;
  const due = at.mono + jittered(draft, at.mono < state.fastUntil ? timings.fastMs : timings.pollMs);
  set(draft, { due: state.owed && state.putAt > at.mono ? Math.min(due, state.putAt) : due });
}
