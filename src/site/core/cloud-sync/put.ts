import { agreed, beQuiet, complain, copiesRemain, type Draft, jittered, remember, set, throttleMs } from './draft.ts';
import { nextRead } from './poll.ts';
import type { SyncInput, SyncTimings } from './types.ts';

/** A write was acknowledged: that is a sight of the cloud's value too (C4). */
export function putAnswered(draft: Draft, input: Extract<SyncInput, { kind: 'putAnswered' }>): void {
  const { state, at, timings } = draft;
  const { flight, told } = state;
  if (flight?.kind !== 'put' || flight.request !== input.request) return;
  set(draft, { flight: null, looked: false });
  if (input.value !== undefined && input.value !== flight.status) {
    // It says that something else holds now: read once more, and let that decide.
    set(draft, { uncertain: { status: flight.status, seq: flight.seq }, due: at.mono });
    backOff(draft);
    return;
  }
  set(draft, {
    // The cloud itself held it within the request, whatever its copies show.
    seen: {
      value: flight.status,
      version: input.version ?? null,
      writtenAt: writtenAt(input, timings),
      confirmed: false,
      from: flight.since,
      since: flight.since,
      until: at.mono,
    },
    doubt: null,
    uncertain: null,
    complaint: null,
  });
  remember(draft, { value: flight.status, version: input.version ?? null });
  copiesRemain(draft, at.mono);
  const { local } = draft.state;
  if (local?.tellable === flight.status) {
    agreed(draft, local.seq);
    // What copies go on to show was told already; the next read that agrees ends that.
    set(draft, { told });
    nextRead(draft);
  } else {
    set(draft, { acked: Math.max(draft.state.acked, flight.seq), due: at.mono });
  }
}

/** The cloud's own time of the write, or the one at its answer. */
function writtenAt(
  { writtenAt: said, answeredAt }: Extract<SyncInput, { kind: 'putAnswered' }>,
  { placeMs }: SyncTimings,
): number | null {
  return said ?? (answeredAt === undefined ? null : answeredAt - placeMs);
}

/** A write failed. What may have been done, or may still be done, is remembered as such (C4, C6). */
export function putFailed(draft: Draft, input: Extract<SyncInput, { kind: 'putFailed' }>): void {
  const { state, at, timings } = draft;
  const { flight, echoes } = state;
  if (flight?.kind !== 'put' || flight.request !== input.request) return;
  set(draft, { flight: null, looked: false });
  const { status, seq } = flight;
  const { why } = input;
  if (why === 'lost') {
    const others = echoes.filter((echo) => echo.status !== status);
    const echo = { status, until: at.mono + timings.echoMs };
    set(draft, { uncertain: { status, seq }, echoes: [...others, echo] });
    copiesRemain(draft, echo.until);
  }
  if (why === 'lost' || why === 'unsent' || why === 'changed') {
    set(draft, { due: why === 'unsent' ? at.mono + jittered(draft, timings.retryMs) : at.mono });
    backOff(draft);
    return;
  }
  if (why === 'body') set(draft, { rejected: status });
  if (why === 'throttled') beQuiet(draft, throttleMs(draft, input));
  else complain(draft, why);
  if (why === 'gone' || why === 'refused') beQuiet(draft, jittered(draft, timings.refusedMs));
}

/** The first repeat goes at once, later ones wait up to 1 s, doubled up to the cap, with full jitter: the cloud comes back to many bridges at once. */
function backOff(draft: Draft): void {
  const { state, at, timings } = draft;
  const waitMs = state.putFailures === 0 ? 0 : Math.min(timings.putCapMs, 1000 * 2 ** Math.min(state.putFailures, 20));
  set(draft, { putFailures: state.putFailures + 1, putAt: at.mono + waitMs * at.random });
}
