import type { KeptSync, SyncMoment, SyncState, SyncTimings } from './types.ts';

export const syncTimings: SyncTimings = {
  pollMs: 30_000,
  fastMs: 5_000,
  fastForMs: 120_000,
  jitter: 0.2,
  healthyMs: 72_000,
  echoMs: 108_000,
  lagMs: 15_000,
  copyMs: 660_000,
  copyLagMs: 60_000,
  retryMs: 1_000,
  putCapMs: 300_000,
  refusedMs: 300_000,
  requestMs: 20_000,
  commandMs: 30_000,
  lifeMs: { armed: 600_000, disarmed: 120_000 },
  placeMs: 2_000,
};

/**
 * The state where none was kept. A write of a former run may still be on its way: a disarm seen in the first intervals
 * could be its echo, so it is none.
 */
export function startSync(at: SyncMoment, { echoMs, lagMs, copyMs }: SyncTimings, external = false): SyncState {
  return {
    local: null,
    acked: 0,
    owed: false,
    looked: false,
    seen: null,
    doubt: null,
    uncertain: null,
    echoes: [{ status: 'disarmed', until: at.mono + echoMs }],
    versions: [],
    copies: at.mono + copyMs,
    behind: at.mono,
    flight: null,
    command: null,
    told: null,
    rejected: null,
    external,
    requests: 0,
    due: at.mono,
    putAt: 0,
    quietUntil: 0,
    fastUntil: at.mono + 2 * lagMs,
    readFailures: 0,
    putFailures: 0,
    complaint: null,
  };
}

/** What must outlive the process: the rest is of one session. It is to be on disk before each write leaves. */
export function keptOf(state: SyncState): KeptSync {
  const { local, acked, owed, seen, uncertain, echoes, flight, told, rejected, external } = state;
  const { versions, behind } = state;
  // Each read that shows "disarmed" moves it on, every half minute on a site at rest: a start counts from itself, which is never
  // sooner, and the disk is left alone.
  const copies = seen?.value === 'disarmed' ? null : state.copies;
  const underWay = flight?.kind === 'put' ? [{ status: flight.status, until: null }] : [];
  const others = echoes.filter(({ status }) => status !== underWay[0]?.status);
  return {
    local: local === null ? null : { status: local.status, tellable: local.tellable, seq: local.seq },
    acked,
    owed,
    seen: seen === null ? null : { value: seen.value, version: seen.version, writtenAt: seen.writtenAt },
    ...{ versions, copies, behind },
    uncertain: flight?.kind === 'put' ? { status: flight.status, seq: flight.seq } : uncertain,
    arriving: [...underWay, ...others],
    told,
    rejected,
    external,
  };
}

/**
 * The state after a start: what was seen is no ground for an edge, what was under way may still arrive, and a command
 * that had no answer is not given again. The first read reconciles (C4), and comes after every change before the start.
 * `sameBoot`: the monotonic clock goes on, so that what can no longer arrive is known.
 */
export function resumeSync(
  kept: KeptSync,
  at: SyncMoment,
  timings: SyncTimings,
  { sameBoot }: { readonly sameBoot: boolean },
): SyncState {
  const { local, seen, uncertain, arriving, external, acked, owed, told, rejected, versions } = kept;
  const latest = at.mono + timings.echoMs;
  const moment = (until: number | null, lastsMs: number) =>
    sameBoot && until !== null ? Math.min(until, at.mono + lastsMs) : at.mono + lastsMs;
  return {
    ...startSync(at, timings, external),
    ...{ acked, owed, uncertain, told, rejected, versions },
    copies: moment(kept.copies, timings.copyMs),
    behind: kept.behind === null ? at.mono : moment(kept.behind, 2 * timings.copyMs),
    local: local === null ? null : { ...local, changedAt: at.mono, byPerson: true },
    seen: seen === null ? null : { ...seen, confirmed: false, from: null, since: at.mono, until: at.mono },
    echoes: arriving.map(({ status, until }) => ({
      status,
      until: sameBoot && until !== null ? Math.min(until, latest) : latest,
    })),
  };
}
