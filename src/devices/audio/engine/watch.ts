import { endAll, serve } from './lane.ts';
import { changeNext, startTogether, takeNext } from './next.ts';
import { endPart, waiting } from './queue.ts';
import { isAlarm } from './rank.ts';
import { nextOf, soundOf, tryAgain, withoutJournal } from './reports.ts';
import { killSound, notSilenced, settle, stopSound } from './sound.ts';
import { alarmKey } from './sounding.ts';
import { type Timer, type TimerKind, timerId } from './timers.ts';
import type { Ending, Sounding } from './types.ts';
import { playbackOf, speakerPlan, type Work } from './work.ts';

/** A timer has come to its end. One that does not run any more says nothing. */
export function timerFired(work: Work, timer: Timer): void {
  if (!work.timers.delete(timerId(timer))) return;
  due[timer.kind](work, timer.of);
}

/** An alarm has sounded for its longest time: all of it ends, what waits, too. */
export function soundedOut(work: Work, key: string, sounding: Sounding): void {
  work.alarms.set(key, { ...sounding, over: true });
  endAll(work, (playback) => alarmKey(playback) === key, { status: 'cancelled', reason: 'too_long' });
}

const timeout: Ending = { status: 'failed', reason: 'timeout' };
const shutdown: Ending = { status: 'failed', reason: 'shutdown' };

const due: Readonly<Record<TimerKind, (work: Work, of: string) => void>> = {
  prepare(work, of) {
    const [lane, next] = nextOf(work, Number(of)) ?? [];
    if (lane === undefined || next === undefined) return;
    takeNext(work, lane);
    endPart(work, next.playback, next.speaker, timeout);
    startTogether(work, next.playback);
    serve(work, lane);
  },
  journal: (work, of) => withoutJournal(work, Number(of)),
  start(work, of) {
    const [lane, sound] = soundOf(work, Number(of)) ?? [];
    if (lane === undefined || sound === undefined) return;
    if (sound.stage === 'busy') {
      settle(work, lane, { status: 'failed', reason: 'busy' });
      serve(work, lane);
    } else stopSound(work, lane, timeout);
  },
  busy: (work, of) => tryAgain(work, Number(of)),
  /** It should have ended long ago. */
  playing(work, of) {
    const [lane] = soundOf(work, Number(of)) ?? [];
    if (lane !== undefined) stopSound(work, lane, timeout);
  },
  stop(work, of) {
    const [lane, sound] = soundOf(work, Number(of)) ?? [];
    if (lane === undefined || sound === undefined) return;
    const { ending = timeout } = sound;
    killSound(work, lane, speakerPlan(work, sound.speaker)?.byOrder === true ? notSilenced(ending) : ending);
    serve(work, lane);
  },
  together(work, playback) {
    for (const [lane, { next }] of work.lanes)
      if (next?.playback === playback) changeNext(work, lane, (one) => ({ ...one, alone: true }));
    startTogether(work, playback);
  },
  expire(work, id) {
    for (const { part } of waiting(work, (_, playback) => playback.id === id))
      endPart(work, id, part.speaker, { status: 'failed', reason: 'expired' });
  },
  longest(work, key) {
    const sounding = work.alarms.get(key);
    if (sounding !== undefined) soundedOut(work, key, sounding);
  },
  close: (work) => stopAll(work, (id) => !isAlarm(playbackOf(work, id))),
  close_alarms: (work) => stopAll(work, () => true),
};

function stopAll(work: Work, isMeant: (playback: string) => boolean): void {
  for (const [lane, { sound }] of work.lanes)
    if (sound !== undefined && isMeant(sound.playback)) stopSound(work, lane, shutdown);
}
