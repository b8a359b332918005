import { isThere, versionKey } from './draft.ts';
import type { CloudStatus, ConflictReason, SyncState, SyncTimings } from './types.ts';

/** A good read of the cloud, between two monotonic moments. */
export interface Read {
  readonly value: CloudStatus;
  readonly version: string | null;
  /** From the start of the request to its answer. */
  readonly since: number;
  readonly until: number;
  /** How long ago the value was written, by the cloud's own clock; null where it does not say. */
  readonly ageMs: number | null;
  /** The moment itself, by the cloud's clock. */
  readonly writtenAt: number | null;
}

/** Monotonic moment at which the value counts as given. */
export interface Edge {
  readonly writtenAt: number;
}

export type Verdict = { readonly rules: readonly string[] } & (
  | { readonly kind: 'agrees' }
  /** The cloud holds an old state: it is to be told, and nobody is refused anything. */
  | { readonly kind: 'behind' }
  /** Known to be over: it says nothing of the present. */
  | { readonly kind: 'old' }
  | { readonly kind: 'wait' }
  | { readonly kind: 'conflict'; readonly reason: ConflictReason }
  | ({ readonly kind: 'command' } & Edge)
);

/** What a read of the cloud means. The only place where a command can come from. */
export function judge(state: SyncState, read: Read, timings: SyncTimings): Verdict {
  const { local, seen, doubt, command } = state;
  if (local === null) return { kind: 'wait', rules: [] };
  if (isOldCopy(state, read)) return old(state, read);
  if (isThere(state, read.value)) return { kind: 'agrees', rules: [] };
  const changed = seen !== null && seen.value !== read.value;
  if (changed && seen.from !== null) {
    // A read in between that decided nothing was a good one, too.
    const lastGood = doubt === null ? seen.since : Math.max(seen.since, doubt.since);
    const healthy = read.until - lastGood <= timings.healthyMs && state.uncertain === null;
    if (healthy) return edge(state, read, seen.from, timings);
  }
  if (local.tellable === read.value && seen?.value === read.value) return { kind: 'agrees', rules: [] };
  if (command !== null) return { kind: 'wait', rules: [] };
  // Another value was read and never decided on before the line went: that one waited, too.
  const undecided = doubt !== null && read.until - doubt.since > timings.healthyMs;
  return reconcile(state, read, changed || undecided);
}

/** The cloud says when it wrote the two values, so that it is sure which of them is the newer one. */
const isOrdered = ({ seen }: SyncState, read: Read): boolean =>
  seen !== null && seen.writtenAt !== null && read.writtenAt !== null;

/** A version that gave way to another one, or was written before what the cloud was last known to hold (C6). */
export function isOldCopy(state: SyncState, read: Read): boolean {
  const { seen, versions } = state;
  if (seen === null) return false;
  const isKnown = read.version !== null && read.version !== seen.version && versions.includes(versionKey(read));
  return isKnown || (isOrdered(state, read) && (read.writtenAt ?? 0) < (seen.writtenAt ?? 0));
}

/** One that was never seen may be what an operator pressed: it is told, once, as its version is remembered then. */
function old(state: SyncState, read: Read): Verdict {
  const isKnown = state.versions.includes(versionKey(read));
  const isNews = !isKnown && state.local?.tellable !== null && !isThere(state, read.value);
  return isNews ? { kind: 'conflict', reason: 'waited', rules: ['C6', 'I3'] } : { kind: 'old', rules: ['C6'] };
}

/**
 * Whether nothing tells a changed value from a copy of what was before our last write (C6): the cloud does not say when
 * it was written, and so little time has passed that a copy may still show it.
 */
export function mayBeCopy(state: SyncState, read: Read): boolean {
  return read.until < Math.max(state.copies, state.behind) && !isOrdered(state, read);
}

/** No edge: the local truth goes up, and what waited in the cloud is told, never done (C4, C5). */
function reconcile({ seen, uncertain, local }: SyncState, read: Read, changed: boolean): Verdict {
  const rules = ['C5', 'I3'];
  if (local?.status === 'unknown' && !changed) return { kind: 'wait', rules };
  const versions = seen !== null && seen.version !== null && read.version !== null;
  const sameVersion = versions && seen.version === read.version;
  const rewritten = versions && !sameVersion;
  if (uncertain !== null) {
    const ours = uncertain.status === read.value || (sameVersion && !changed);
    return ours ? { kind: 'behind', rules: ['C4'] } : { kind: 'conflict', reason: 'answer_lost', rules: ['C4', 'I3'] };
  }
  if (seen === null || changed || rewritten) return { kind: 'conflict', reason: 'waited', rules };
  return { kind: 'behind', rules };
}

/**
 * The value changed between two healthy reads, `from` or later; whose change is it, and is it newer than the site's own
 * last one?
 */
function edge(state: SyncState, read: Read, from: number, timings: SyncTimings): Verdict {
  const { value } = read;
  if (state.echoes.some((echo) => echo.status === value && from < echo.until)) {
    return { kind: 'conflict', reason: 'echo', rules: ['C6'] };
  }
  if (mayBeCopy(state, read)) {
    const isBehind = value === 'disarmed' && read.until < state.behind;
    // No read has shown what we wrote: this one may be from before it.
    if (state.seen?.confirmed !== true || isBehind) return { kind: 'conflict', reason: 'echo', rules: ['C6'] };
  }
  const window = place(read, from, timings);
  if (window === null) return { kind: 'conflict', reason: 'waited', rules: ['C4', 'I3'] };
  const changedAt = state.local?.changedAt ?? Number.POSITIVE_INFINITY;
  if (changedAt <= window.from) {
    return { kind: 'command', writtenAt: window.from, rules: ['C4'] };
  }
  // The two met. The safer one wins, unless a person on the site decided (safety 5).
  const safer = value === 'armed' && state.local?.byPerson === false && changedAt <= window.until;
  if (safer) return { kind: 'command', writtenAt: window.until, rules: ['C4', 'safety 5'] };
  return { kind: 'conflict', reason: 'newer_local_change', rules: ['C3'] };
}

/**
 * When the value was written: after the last read that showed another one, and, where the cloud says how old it is, at
 * that age. What answers may be a copy, and the age is that at its making, up to `lagMs` before the request (C6). Null
 * where that contradicts what was read: then the value is older than the other one, or nobody can tell.
 */
function place(read: Read, from: number, { lagMs, placeMs }: SyncTimings): { from: number; until: number } | null {
  const seen = { from, until: read.until };
  if (read.ageMs === null) return seen;
  const earliest = read.since - read.ageMs - placeMs - lagMs;
  const latest = read.until - read.ageMs + placeMs;
  if (latest < from || earliest > read.until) return null;
  return { from: Math.max(from, earliest), until: Math.min(read.until, latest) };
}
