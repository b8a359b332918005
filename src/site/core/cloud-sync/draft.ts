import type {
  CloudStatus,
  ConflictReason,
  SyncAction,
  SyncMoment,
  SyncSettings,
  SyncState,
  SyncStep,
  SyncTimings,
} from './types.ts';

/** One step under way, with a state of its own. */
export interface Draft {
  readonly at: SyncMoment;
  readonly settings: SyncSettings;
  readonly timings: SyncTimings;
  readonly state: Mutable<SyncState>;
  readonly actions: SyncAction[];
  readonly rules: Set<string>;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export function begin(settings: SyncSettings, state: SyncState, at: SyncMoment): Draft {
  return { at, settings, timings: settings.timings, state: { ...state }, actions: [], rules: new Set() };
}

export function set(draft: Draft, changes: Partial<SyncState>): void {
  Object.assign(draft.state, changes);
}

export function finished({ state, actions, rules, at, timings }: Draft): SyncStep {
  return { state, actions, rules: [...rules], wakeInMs: Math.max(0, wakeAt(state, timings) - at.mono) };
}

function wakeAt(state: SyncState, { requestMs, commandMs }: SyncTimings): number {
  const { flight, command, due, putAt, quietUntil } = state;
  const request = Math.max(quietUntil, wantsWrite(state) ? Math.min(due, putAt) : due);
  const next = flight === null ? request : flight.since + requestMs;
  return command === null ? next : Math.min(next, command.since + commandMs);
}

/** A write waits for nothing but its time. */
export function wantsWrite({ owed, looked, doubt, command, rejected, local }: SyncState): boolean {
  if (!owed || !looked || doubt !== null || command !== null) return false;
  return local !== null && local.tellable !== null && local.tellable !== rejected;
}

/** The wait with its random share, to either side. */
export const jittered = ({ at, timings }: Draft, ms: number): number =>
  ms * (1 - timings.jitter + 2 * timings.jitter * at.random);

/** Told once, until it ends. */
export function complain(draft: Draft, what: NonNullable<SyncState['complaint']>): void {
  if (draft.state.complaint !== what) draft.actions.push({ kind: 'refused', what });
  set(draft, { complaint: what });
}

/** No request for a while, whatever happens on the site: the cloud said so. */
export function beQuiet(draft: Draft, ms: number): void {
  const until = draft.at.mono + ms;
  set(draft, { due: until, quietUntil: until });
}

/** What the cloud asks for, within an hour: nothing on the line may silence this bridge for ever. */
export const throttleMs = (draft: Draft, { retryAfterMs }: { readonly retryAfterMs?: number }): number =>
  Math.max(Math.min(retryAfterMs ?? 0, longestQuietMs), jittered(draft, 2 * draft.timings.pollMs));

const longestQuietMs = 3_600_000;

/** The write of the local truth is due, and a look at the cloud before it, now. */
export function owe(draft: Draft): void {
  set(draft, { owed: true, looked: false, due: draft.at.mono });
}

/**
 * Tells an operator that the cloud's value is not done, and writes the truth back (C9). Once until a read agrees: a
 * cloud may stamp its value anew at each read, and take no write.
 */
export function conflict(draft: Draft, reason: ConflictReason, cloud: CloudStatus, code?: string): void {
  const { local, told } = draft.state;
  if (local === null) return;
  set(draft, { owed: local.tellable !== null, told: cloud });
  if (told === cloud) return;
  const { status, seq } = local;
  const about = { cloud, local: status, seq, at: draft.at.wall };
  draft.actions.push({ kind: 'conflict', reason, ...about, ...(code === undefined ? {} : { code }) });
}

/** Keeps a version that the cloud held, so that it is never taken for a new one; the oldest give way (C6). */
export function remember(draft: Draft, held: { readonly value: CloudStatus; readonly version: string | null }): void {
  if (held.version === null) return;
  const { versions } = draft.state;
  const key = versionKey(held);
  if (versions.at(-1) !== key)
    set(draft, { versions: [...versions.filter((one) => one !== key), key].slice(-versionCap) });
}

const versionCap = 32;

/** How a version is remembered. The value is part of it: a cloud may stamp two writes alike. */
export const versionKey = ({
  value,
  version,
}: {
  readonly value: CloudStatus;
  readonly version: string | null;
}): string => `${value} ${version}`;

/** Until long after this moment a copy may still show what the cloud held before. */
export function copiesRemain(draft: Draft, from: number): void {
  set(draft, { copies: Math.max(draft.state.copies, from + draft.timings.copyMs) });
}

/** The cloud is known to hold the local status. */
export function agreed(draft: Draft, seq: number): void {
  set(draft, { acked: Math.max(draft.state.acked, seq), owed: false, told: null, putFailures: 0, putAt: 0 });
}

/** Whether the site is where the value wants it, or on its way there. */
export function isThere({ local }: SyncState, value: CloudStatus): boolean {
  if (local === null) return false;
  if (value === 'armed' && local.status === 'arming') return true;
  return local.status === value;
}
