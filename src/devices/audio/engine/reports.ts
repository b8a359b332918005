import type { DriverFailure } from '../driver.ts';
import { serve } from './lane.ts';
import { changeNext, release, startTogether, takeNext } from './next.ts';
import { endPart } from './queue.ts';
import { begins, changeSound, noteIll, notSilenced, settle } from './sound.ts';
import type { EngineInput, LaneNext, LaneSound } from './types.ts';
import { clearTimer, setTimer, type Work } from './work.ts';

/** What the player and the journal report. A run that is not, or no longer, in a lane is none of ours any more. */

/** Sound that is over sooner than this part of its length was not played, whatever the device says. */
const leastPart = 0.9;

type Report<K extends EngineInput['kind']> = Extract<EngineInput, { kind: K }>;

export const nextOf = (work: Work, run: number): readonly [string, LaneNext] | undefined => {
  for (const [lane, { next }] of work.lanes) if (next?.run === run) return [lane, next];
  return undefined;
};

export const soundOf = (work: Work, run: number): readonly [string, LaneSound] | undefined => {
  for (const [lane, { sound }] of work.lanes) if (sound?.run === run) return [lane, sound];
  return undefined;
};

export function journalled(work: Work, upTo: number): void {
  const waited = [...work.lanes].filter(([, { next }]) => next?.write !== undefined && next.write <= upTo);
  for (const [lane, { next }] of waited) if (next !== undefined) clearGate(work, lane, next, true);
  for (const playback of new Set(waited.flatMap(([, { next }]) => next?.playback ?? []))) startTogether(work, playback);
}

function clearGate(work: Work, lane: string, { run }: LaneNext, durable: boolean): void {
  clearTimer(work, { kind: 'journal', of: `${run}` });
  changeNext(work, lane, (next) => release(next, durable));
}

/** The journal had no answer in time. */
export function withoutJournal(work: Work, run: number): void {
  const [lane, next] = nextOf(work, run) ?? [];
  if (lane === undefined || next === undefined) return;
  clearGate(work, lane, next, false);
  startTogether(work, next.playback);
}

export function prepared(work: Work, { run, lengthMs }: Report<'prepared'>): void {
  const [lane, next] = nextOf(work, run) ?? [];
  if (lane === undefined || next === undefined) return;
  clearTimer(work, { kind: 'prepare', of: `${run}` });
  changeNext(work, lane, (one) => ({ ...one, lengthMs: Math.max(0, lengthMs) }));
  startTogether(work, next.playback);
}

export function unprepared(work: Work, run: number, reason: DriverFailure | 'message_gone'): void {
  const [lane, next] = nextOf(work, run) ?? [];
  if (lane === undefined || next === undefined) return;
  takeNext(work, lane);
  if (reason !== 'message_gone') noteIll(work, next.speaker);
  endPart(work, next.playback, next.speaker, { status: 'failed', reason });
  startTogether(work, next.playback);
  serve(work, lane);
}

export function firstSample(work: Work, run: number): void {
  const [lane, sound] = soundOf(work, run) ?? [];
  if (lane === undefined || sound === undefined || sound.soundedAt !== undefined || sound.stage === 'busy') return;
  begins(work, lane, sound);
}

/** Played to its end: what ends well before its time has failed. */
export function ended(work: Work, { run, playedMs, delivered }: Report<'ended'>): void {
  const [lane, sound] = soundOf(work, run) ?? [];
  if (lane === undefined || sound === undefined) return;
  const { soundedAt = Number.POSITIVE_INFINITY, lengthMs, ending } = sound;
  const isWhole = work.at.mono - soundedAt >= lengthMs * leastPart;
  // One that was to stop and came to its end before that is whole; a stuck one has failed.
  if (isWhole && ending?.reason !== 'timeout') settle(work, lane, 'completed', { playedMs, delivered });
  else settle(work, lane, ending ?? { status: 'failed', reason: 'device_error' }, { playedMs });
  serve(work, lane);
}

export function failed(work: Work, { run, playedMs, reason }: Report<'failed'>): void {
  const [lane, sound] = soundOf(work, run) ?? [];
  if (lane === undefined || sound === undefined) return;
  const mayTryAgain = sound.ending === undefined && startLeftMs(work, run) > work.plan.limits.busyMs;
  if (reason === 'busy') changeSound(work, lane, { stage: 'busy' });
  if (reason === 'busy' && mayTryAgain) setTimer(work, { kind: 'busy', of: `${run}` }, work.plan.limits.busyMs);
  else settle(work, lane, sound.ending ?? { status: 'failed', reason }, { playedMs });
  serve(work, lane);
}

const startLeftMs = (work: Work, run: number): number => (work.timers.get(`start:${run}`) ?? 0) - work.at.mono;

/** A device that was busy is asked again. */
export function tryAgain(work: Work, run: number): void {
  const [lane, sound] = soundOf(work, run) ?? [];
  if (lane === undefined || sound?.stage !== 'busy') return;
  changeSound(work, lane, { stage: 'starting' });
  work.effects.push({ kind: 'start', run, speaker: sound.speaker, durable: sound.durable });
}

export function silent(work: Work, { run, playedMs, soundsOn }: Report<'silent'>): void {
  const [lane, sound] = soundOf(work, run) ?? [];
  if (lane === undefined || sound === undefined) return;
  // Nobody told it to stop: something else ended it.
  const { ending = { status: 'failed', reason: 'device_error' } } = sound;
  settle(work, lane, soundsOn === true ? notSilenced(ending) : ending, { playedMs });
  serve(work, lane);
}
