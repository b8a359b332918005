import type { Waiting } from './queue.ts';
import { volumeFor, waitAgain } from './queue.ts';
import { gapMs, isAlarm } from './rank.ts';
import type { Lane, LaneNext } from './types.ts';
import { clearTimer, partOf, playbackOf, setLane, setPart, setTimer, speakerPlan, type Work, write } from './work.ts';

/** What will sound next in a lane: made ready, written down, and begun together with the other speakers of its playback. */
export function prepare(work: Work, lane: string, { playback: { id }, part: { speaker } }: Waiting): void {
  work.runs += 1;
  const run = work.runs;
  const playback = playbackOf(work, id);
  const { message, repeat } = playback;
  // Written down before it may sound: a crash from here on ends it.
  setPart(work, id, { ...partOf(playback, speaker), begun: true });
  setLane(work, lane, {
    ...work.lanes.get(lane),
    next: { run, playback: id, speaker, write: write(work, id), durable: true, alone: false },
  });
  const volume = volumeFor(work, playback, speaker);
  const how = { volume, repeat, gapMs: gapMs(playback), urgent: isAlarm(playback) };
  work.effects.push({ kind: 'prepare', run, speaker, message, ...how });
  setTimer(work, { kind: 'prepare', of: `${run}` }, work.plan.limits.prepareMs);
  setTimer(work, { kind: 'journal', of: `${run}` }, work.plan.limits.journalMs);
}

/** The lane has no next one any more, and what was prepared is dropped. What becomes of its part is for the caller to say. */
export function takeNext(work: Work, lane: string): LaneNext | undefined {
  const next = clearNext(work, lane);
  if (next !== undefined) work.effects.push({ kind: 'drop', run: next.run });
  return next;
}

function clearNext(work: Work, lane: string): LaneNext | undefined {
  const { next, ...rest } = work.lanes.get(lane) ?? {};
  if (next === undefined) return undefined;
  for (const kind of ['prepare', 'journal'] as const) clearTimer(work, { kind, of: `${next.run}` });
  setLane(work, lane, rest);
  return next;
}

/** It waits again. */
export function putBack(work: Work, lane: string): void {
  const next = takeNext(work, lane);
  if (next !== undefined) waitAgain(work, next.playback, next.speaker);
}

export function changeNext(work: Work, lane: string, change: (next: LaneNext) => LaneNext): void {
  const { next, ...rest } = work.lanes.get(lane) ?? {};
  if (next !== undefined) setLane(work, lane, { ...rest, next: change(next) });
}

/** It need not wait for the journal any more. */
export function release(next: LaneNext, durable: boolean): LaneNext {
  const { write: _, ...rest } = next;
  return { ...rest, durable };
}

const isAble = ({ lengthMs, write }: LaneNext): boolean => lengthMs !== undefined && write === undefined;

/**
 * Those that are ready wait a moment for those of their playback whose lane is free, and whose sound is still being made. A
 * lane that is not free yet is not waited for.
 */
export function startTogether(work: Work, playback: string): void {
  const free = [...work.lanes].filter(
    (entry): entry is [string, Lane & { next: LaneNext }] =>
      entry[1].next?.playback === playback && entry[1].sound === undefined,
  );
  const able = free.filter(([, { next }]) => isAble(next));
  if (able.length === 0) return;
  const timer = { kind: 'together', of: playback } as const;
  if (able.length < free.length && !able.some(([, { next }]) => next.alone)) {
    if (!work.timers.has(`together:${playback}`)) setTimer(work, timer, work.plan.limits.togetherMs);
    return;
  }
  clearTimer(work, timer);
  for (const [lane] of able) start(work, lane);
}

function start(work: Work, lane: string): void {
  const next = clearNext(work, lane);
  if (next === undefined) return;
  const { run, playback, speaker, durable, lengthMs = 0 } = next;
  setLane(work, lane, { sound: { run, playback, speaker, durable, lengthMs, stage: 'starting' } });
  work.effects.push({ kind: 'start', run, speaker, durable });
  setTimer(work, { kind: 'start', of: `${run}` }, speakerPlan(work, speaker)?.startMs ?? 0);
}
