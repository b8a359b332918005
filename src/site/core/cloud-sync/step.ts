import { agreed, begin, conflict, type Draft, finished, isThere, owe, set, wantsWrite } from './draft.ts';
import { polled, pollFailed } from './poll.ts';
import { putAnswered, putFailed } from './put.ts';
import type { LocalArming, SyncInput, SyncSettings, SyncState, SyncStep } from './types.ts';

/**
 * One input of the two-way sync of the arming status (C3 to C6). Pure: no clock, no
 * random number, no I/O. At most one request is under way; each write carries the newest local state (I8); only a
 * change of the cloud's value between two healthy reads becomes a command, and nothing else ever does (I3).
 */
export function syncStep(settings: SyncSettings, state: SyncState, input: SyncInput): SyncStep {
  const draft = begin(settings, state, input.at);
  if (state.external !== settings.external) changeAuthority(draft);
  take(draft, input);
  giveUp(draft);
  request(draft);
  return finished(draft);
}

function take(draft: Draft, input: SyncInput): void {
  if (input.kind === 'local') local(draft, input);
  else if (input.kind === 'polled') polled(draft, input);
  else if (input.kind === 'pollFailed') pollFailed(draft, input);
  else if (input.kind === 'putAnswered') putAnswered(draft, input);
  else if (input.kind === 'putFailed') putFailed(draft, input);
  else if (input.kind === 'commanded') commanded(draft, input);
}

/** Under another authority what was seen before is no ground for an edge. */
function changeAuthority(draft: Draft): void {
  const { seen } = draft.state;
  set(draft, {
    external: draft.settings.external,
    seen: seen === null ? null : { ...seen, from: null },
    doubt: null,
    command: null,
    owed: false,
  });
}

const onSite: ReadonlySet<string> = new Set(['panel', 'lan', 'cli', 'schedule']);

function local(draft: Draft, { status, seq, source }: Extract<SyncInput, { kind: 'local' }>): void {
  const { state, at, timings } = draft;
  const before = state.local;
  if (before !== null && seq <= before.seq) return;
  const tellable = status === 'armed' || status === 'disarmed' ? status : (before?.tellable ?? null);
  const here = onSite.has(source);
  const next: LocalArming = {
    status,
    tellable: status === 'unknown' ? null : tellable,
    seq,
    // What changed before the start is not known, so it was a moment ago.
    changedAt: here || before === null ? at.mono : before.changedAt,
    byPerson: here ? source !== 'schedule' : (before?.byPerson ?? true),
  };
  set(draft, { local: next, rejected: state.rejected === next.tellable ? state.rejected : null });
  if (draft.settings.external) return;
  if (next.tellable !== (before?.tellable ?? null)) {
    const fastUntil = at.mono + timings.fastForMs;
    set(draft, { fastUntil });
    if (!settled(draft)) owe(draft);
  } else if (!settled(draft) && draft.state.command === null) {
    owe(draft);
  }
}

/** The cloud is known to hold what is true now, with no write under way that could change it. */
function settled(draft: Draft): boolean {
  const { local, seen, flight, uncertain, owed } = draft.state;
  if (local === null || local.tellable === null) return true;
  if (seen === null || uncertain !== null || flight?.kind === 'put') return false;
  if (owed || !(seen.value === local.tellable || isThere(draft.state, seen.value))) return false;
  agreed(draft, local.seq);
  return true;
}

function commanded(draft: Draft, { id, outcome, code }: Extract<SyncInput, { kind: 'commanded' }>): void {
  const { command } = draft.state;
  if (command?.id !== id || outcome === 'accepted') return;
  set(draft, { command: null });
  if (outcome === 'done' || outcome === 'already') {
    if (!settled(draft)) owe(draft);
    return;
  }
  draft.rules.add('C9');
  conflict(draft, 'refused', command.value, code);
  owe(draft);
}

/** Bounds every wait: an answer that never comes is a lost one. The sums are those of the wake-up: a difference rounds. */
function giveUp(draft: Draft): void {
  const { at, timings } = draft;
  const { flight, command } = draft.state;
  if (flight !== null && at.mono >= flight.since + timings.requestMs) {
    const lost = { at, request: flight.request } as const;
    if (flight.kind === 'get') pollFailed(draft, { ...lost, kind: 'pollFailed', why: 'unreachable' });
    else putFailed(draft, { ...lost, kind: 'putFailed', why: 'lost' });
  }
  if (command !== null && at.mono >= command.since + timings.commandMs) {
    set(draft, { command: null });
    conflict(draft, 'unanswered', command.value);
    owe(draft);
  }
}

/** The next request, if it is time: one at a time, and a look before each write (C4). */
function request(draft: Draft): void {
  const { state, at, timings } = draft;
  const { flight, quietUntil, due, putAt, local } = state;
  if (flight !== null || at.mono < quietUntil) return;
  if (local === null && !draft.settings.external) {
    // Without the local truth a read could only hide what waits in the cloud.
    set(draft, { due: at.mono + timings.pollMs });
    return;
  }
  const next = { request: state.requests + 1, since: at.mono };
  if (at.mono >= due) {
    set(draft, { requests: next.request, flight: { ...next, kind: 'get' } });
    draft.actions.push({ kind: 'get', request: next.request });
  } else if (wantsWrite(state) && at.mono >= putAt && local !== null && local.tellable !== null) {
    const { tellable: status, seq } = local;
    set(draft, { requests: next.request, flight: { ...next, kind: 'put', status, seq } });
    draft.actions.push({ kind: 'put', request: next.request, status, seq });
  }
}
