import { isAlarm, isLifeSafety } from './rank.ts';
import type { Playback, PlayRequest } from './types.ts';
import { clearTimer, setTimer, type Work } from './work.ts';

/**
 * Safety 9: an alarm has a longest time to sound, all of its messages and speakers together. It counts from the first sample
 * on, and anew after a rest, so that a second intrusion in the same night is heard.
 */
const soundingCap = 64;

/** One that belongs to no alarm of the site counts for itself. */
export function alarmKey(playback: Playback | PlayRequest): string | undefined {
  if (!isAlarm(playback)) return undefined;
  const { alarm, id } = playback;
  if (alarm === undefined) return `playback ${id}`;
  const of = alarm.cause === 'burglary' || alarm.of === undefined ? '' : ` ${alarm.of}`;
  return `${alarm.cause} ${alarm.id}${of}`;
}

export function longestMs(work: Work, lifeSafety: boolean): number {
  const { longestAlarmMs, longestLifeSafetyMs } = work.plan.limits;
  return lifeSafety ? longestLifeSafetyMs : longestAlarmMs;
}

const hasRested = (work: Work, quietSince: number | undefined): boolean =>
  quietSince !== undefined && work.at.mono - quietSince >= work.plan.limits.restMs;

/** It has sounded for its longest time, and not rested yet. */
export function hasSoundedOut(work: Work, request: PlayRequest): boolean {
  const sounding = work.alarms.get(alarmKey(request) ?? '');
  return sounding?.over === true && !hasRested(work, sounding.quietSince);
}

/** One of its sounds begins. */
export function noteSound(work: Work, playback: Playback): void {
  const key = alarmKey(playback);
  if (key === undefined) return;
  const known = work.alarms.get(key);
  if (known !== undefined && !hasRested(work, known.quietSince)) {
    const { quietSince: _, ...sounds } = known;
    work.alarms.set(key, sounds);
    return;
  }
  forgetRested(work);
  const lifeSafety = isLifeSafety(playback);
  work.alarms.set(key, { lifeSafety, since: work.at.mono, over: false });
  setTimer(work, { kind: 'longest', of: key }, longestMs(work, lifeSafety));
}

/** One of its sounds has ended; the lane is free already. */
export function noteQuiet(work: Work, playback: Playback): void {
  const key = alarmKey(playback);
  const known = key === undefined ? undefined : work.alarms.get(key);
  if (key === undefined || known === undefined) return;
  for (const { sound } of work.lanes.values()) {
    if (sound?.soundedAt === undefined) continue;
    const other = work.playbacks.get(sound.playback);
    if (other !== undefined && alarmKey(other) === key) return;
  }
  work.alarms.set(key, { ...known, quietSince: work.at.mono });
}

/** What sounds is never forgotten, and there is one at most in each lane. */
function forgetRested(work: Work): void {
  const quiet = [...work.alarms].filter(([, { quietSince }]) => quietSince !== undefined);
  quiet.sort(([, one], [, other]) => (one.quietSince ?? 0) - (other.quietSince ?? 0));
  const surplus = work.alarms.size + 1 - soundingCap;
  for (const [at, [key, { quietSince }]] of quiet.entries()) {
    if (at >= surplus && !hasRested(work, quietSince)) continue;
    work.alarms.delete(key);
    clearTimer(work, { kind: 'longest', of: key });
  }
}
