import type { DeviceId, Stamp } from '#site/model/index.ts';
import { isOver, shown } from './shown.ts';
import { type Timer, timerId } from './timers.ts';
import type {
  EngineEffect,
  EngineInput,
  EnginePlan,
  EngineState,
  EngineStep,
  Lane,
  Part,
  Playback,
  Sounding,
  SpeakerPlan,
} from './types.ts';

/** One step under way: copies of what it may change, and what it tells. */
export interface Work extends Mutable<Omit<EngineState, 'playbacks' | 'lanes' | 'failures' | 'alarms' | 'timers'>> {
  readonly plan: EnginePlan;
  readonly at: Stamp;
  readonly effects: EngineEffect[];
  /** Copied with its first change, see `setPlayback`. */
  playbacks: ReadonlyMap<string, Playback>;
  copy?: Map<string, Playback>;
  readonly lanes: Map<string, Lane>;
  readonly failures: Map<DeviceId, number>;
  readonly alarms: Map<string, Sounding>;
  readonly timers: Map<string, number>;
  /** Playbacks to be written at the end of the step, with the number of that write. */
  readonly dirty: Map<string, number>;
  /** Of these, those of which something shows. */
  readonly visible: Set<string>;
  /** Greatest volumes of quiet hours, once they are known. */
  readonly caps: Map<DeviceId, number | undefined>;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export function begin(plan: EnginePlan, state: EngineState, { at }: EngineInput): Work {
  return {
    ...state,
    plan,
    at,
    effects: [],
    lanes: new Map(state.lanes),
    failures: new Map(state.failures),
    alarms: new Map(state.alarms),
    timers: new Map(state.timers),
    dirty: new Map(),
    visible: new Set(),
    caps: new Map(),
  };
}

/** Rows and what shows come last, one of each for a playback, however often it changed. */
export function finish(work: Work): Omit<EngineStep, 'answer' | 'cancelled'> {
  for (const [id, write] of work.dirty) {
    const playback = playbackOf(work, id);
    const isShown = work.visible.has(id);
    const row = isShown ? { ...playback, seq: playback.seq + 1 } : playback;
    setPlayback(work, row);
    work.effects.push({ kind: 'journal', write, row });
    if (isShown) work.effects.push({ kind: 'changed', playback: shown(row) });
  }
  if (work.copy !== undefined) forgetOld(work);
  const sounds = [...work.lanes.values()].some(({ sound }) => sound !== undefined);
  if (work.closing === 'waits' && !sounds) {
    work.closing = 'idle';
    for (const kind of ['close', 'close_alarms'] as const) clearTimer(work, { kind, of: '' });
    work.effects.push({ kind: 'idle' });
  }
  const { playbacks, lanes, failures, alarms, timers, runs, writes, closing } = work;
  return {
    state: {
      ...{ playbacks, lanes, failures, alarms, timers, runs, writes },
      ...(closing === undefined ? {} : { closing }),
    },
    effects: work.effects,
  };
}

function forgetOld(work: Work): void {
  const ended = [...work.playbacks.values()].filter(isOver);
  for (const { id } of ended.slice(0, Math.max(0, ended.length - work.plan.limits.kept))) {
    copied(work).delete(id);
    work.effects.push({ kind: 'forget', playback: id });
  }
}

/** There are many of them, and most steps change none. */
function copied(work: Work): Map<string, Playback> {
  if (work.copy === undefined) {
    work.copy = new Map(work.playbacks);
    work.playbacks = work.copy;
  }
  return work.copy;
}

export function setPlayback(work: Work, playback: Playback): void {
  copied(work).set(playback.id, playback);
}

/** The playback is written at the end of this step, under the number that comes back. */
export function write(work: Work, id: string): number {
  const known = work.dirty.get(id);
  if (known !== undefined) return known;
  work.writes += 1;
  work.dirty.set(id, work.writes);
  return work.writes;
}

/** Such as after a change that people see. */
export function show(work: Work, id: string): void {
  write(work, id);
  work.visible.add(id);
}

export function playbackOf(work: Pick<Work, 'playbacks'>, id: string): Playback {
  const playback = work.playbacks.get(id);
  if (playback === undefined) throw new TypeError(`playback ${id} is in a lane and not in the state`);
  return playback;
}

export function partOf(playback: Playback, speaker: DeviceId): Part {
  const part = playback.parts.find((one) => one.speaker === speaker);
  if (part === undefined) throw new TypeError(`playback ${playback.id} has no part for speaker ${speaker}`);
  return part;
}

/** Replaces a part. What people see of it is told where it changed. */
export function setPart(work: Work, id: string, part: Part): void {
  const playback = playbackOf(work, id);
  const before = partOf(playback, part.speaker);
  const parts = playback.parts.map((one) => (one === before ? part : one));
  setPlayback(work, { ...playback, parts });
  if (before.status !== part.status || before.reason !== part.reason) show(work, id);
  else write(work, id);
}

export const speakerPlan = (work: Pick<Work, 'plan'>, id: DeviceId): SpeakerPlan | undefined =>
  work.plan.speakers.find((speaker) => speaker.id === id);

export const isUnhealthy = (work: Pick<Work, 'failures' | 'plan'>, speaker: DeviceId): boolean =>
  (work.failures.get(speaker) ?? 0) >= work.plan.limits.failures;

/** Where a part is taken up, if it is: made ready, or with the order to sound. */
export function placeOf(
  work: Pick<Work, 'lanes'>,
  playback: string,
  speaker: DeviceId,
): { readonly lane: string; readonly as: 'next' | 'sound' } | undefined {
  for (const [lane, runs] of work.lanes)
    for (const as of ['next', 'sound'] as const)
      if (runs[as]?.playback === playback && runs[as].speaker === speaker) return { lane, as };
  return undefined;
}

export function setLane(work: Work, id: string, lane: Lane): void {
  if (lane.sound === undefined && lane.next === undefined) work.lanes.delete(id);
  else work.lanes.set(id, lane);
}

export function setTimer(work: Work, timer: Timer, afterMs: number): void {
  work.timers.set(timerId(timer), work.at.mono + afterMs);
  work.effects.push({ kind: 'timer.set', timer, afterMs });
}

export function clearTimer(work: Work, timer: Timer): void {
  if (!work.timers.delete(timerId(timer))) return;
  work.effects.push({ kind: 'timer.clear', timer });
}

/**
 * Milliseconds since a moment: on the monotonic clock within one boot, else on the wall clock, which may say that it is
 * still to come.
 */
export const ageMs = (at: Stamp, since: Stamp): number =>
  at.boot === since.boot ? at.mono - since.mono : at.wall - since.wall;
