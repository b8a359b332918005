import { hasEnded, type PlaybackReason } from '#site/model/index.ts';
import { endAll, serveAll } from './lane.ts';
import { putBack } from './next.ts';
import { endPart, waiting, waitLeftMs } from './queue.ts';
import { isAlarm, isLifeSafety } from './rank.ts';
import { isOver } from './shown.ts';
import { killSound, settle, stopSound } from './sound.ts';
import { alarmKey, longestMs } from './sounding.ts';
import type { Part, Playback, Sounding } from './types.ts';
import { soundedOut } from './watch.ts';
import { ageMs, placeOf, playbackOf, setPlayback, setTimer, show, speakerPlan, type Work } from './work.ts';

/** Starts, stops, other plans, other clocks. */

/** A clock that jumps further no longer tells how long something has waited. */
const jumpMs = 60_000;

/** After a crash nothing is played again by itself: what had begun has failed, what waited waits on. */
export function recover(work: Work, rows: readonly Playback[]): void {
  const open: string[] = [];
  for (const row of rows) {
    if (work.playbacks.has(row.id)) continue;
    setPlayback(work, isOver(row) ? row : { ...row, seq: row.seq + aheadOf(work, row) });
    if (!isOver(row)) open.push(row.id);
  }
  for (const id of open) {
    const playback = playbackOf(work, id);
    show(work, id);
    const leftMs = waitLeftMs(work, playback);
    const isLate = leftMs <= 0 || (!isAlarm(playback) && ageMs(work.at, playback.createdAt) < -jumpMs);
    if (!isLate) setTimer(work, { kind: 'expire', of: id }, leftMs);
    for (const part of playback.parts) if (!hasEnded(part)) resume(work, id, part, isLate);
  }
  remember(work, rows);
  serveAll(work);
}

/** What showed last before a crash need not have come to disk: there are fewer changes than milliseconds. */
const aheadOf = (work: Work, { createdAt }: Playback): number => Math.max(1_000, Math.ceil(agoMs(work, createdAt)));

function resume(work: Work, id: string, part: Part, isLate: boolean): void {
  const { speaker } = part;
  const fail = (reason: PlaybackReason) => endPart(work, id, speaker, { status: 'failed', reason });
  const isKnown = speakerPlan(work, speaker) !== undefined;
  if (part.begun === true || part.status === 'playing') {
    if (isKnown) work.effects.push({ kind: 'release', speaker });
    fail('interrupted');
  } else if (!isKnown) fail('not_found');
  else if (isLate) fail('expired');
}

/** What alarms have sounded of their longest time already. */
function remember(work: Work, rows: readonly Playback[]): void {
  const spans = rows.flatMap((playback) => {
    const key = alarmKey(playback);
    if (key === undefined) return [];
    const lifeSafety = isLifeSafety(playback);
    return playback.parts.flatMap(({ startedAt, endedAt }) => {
      if (startedAt === undefined) return [];
      const from = agoMs(work, startedAt);
      // Of one that was interrupted nobody knows when; later than this it was silent in any case.
      const atLast = Math.max(0, from - longestMs(work, lifeSafety));
      return [{ key, lifeSafety, from, to: endedAt === undefined ? atLast : agoMs(work, endedAt) }];
    });
  });
  // The longest ago first.
  for (const { key, lifeSafety, from, to } of spans.sort((one, other) => other.from - one.from)) {
    const { mono } = work.at;
    const known = work.alarms.get(key);
    const isSame = known?.quietSince !== undefined && mono - from - known.quietSince < work.plan.limits.restMs;
    const since = isSame ? known.since : mono - from;
    const quietSince = isSame ? Math.max(known.quietSince, mono - to) : mono - to;
    work.alarms.set(key, { lifeSafety, since, quietSince, over: false });
  }
  for (const [key, sounding] of work.alarms) takeUp(work, key, sounding);
}

const agoMs = (work: Work, then: Playback['createdAt']): number => Math.max(0, ageMs(work.at, then));

function takeUp(work: Work, key: string, sounding: Sounding): void {
  const { mono } = work.at;
  const leftMs = longestMs(work, sounding.lifeSafety) - (mono - sounding.since);
  if (mono - (sounding.quietSince ?? mono) >= work.plan.limits.restMs) work.alarms.delete(key);
  else if (leftMs > 0) setTimer(work, { kind: 'longest', of: key }, leftMs);
  else soundedOut(work, key, sounding);
}

/** By other settings: speakers may be gone, or on another lane. */
export function replanned(work: Work): void {
  for (const [lane, { sound, next }] of [...work.lanes]) {
    if (next !== undefined && speakerPlan(work, next.speaker)?.lane !== lane) putBack(work, lane);
    if (sound === undefined) continue;
    const now = speakerPlan(work, sound.speaker)?.lane;
    if (now === undefined) stopSound(work, lane, { status: 'failed', reason: 'not_found' });
    // At once: the other lane takes no notice of what is here.
    else if (now !== lane) killSound(work, lane, { status: 'failed', reason: 'interrupted' });
  }
  for (const { playback, part } of waiting(work, ({ speaker }) => speakerPlan(work, speaker) === undefined))
    endPart(work, playback.id, part.speaker, { status: 'failed', reason: 'not_found' });
  for (const speaker of work.failures.keys())
    if (speakerPlan(work, speaker) === undefined) work.failures.delete(speaker);
  serveAll(work);
}

/** What waits has waited for nobody knows how long: alarms alone are still played. */
export function clockJumped(work: Work, byMs: number): void {
  if (Math.abs(byMs) <= jumpMs) return;
  const isWaiting = (playback: Playback, { speaker }: Part) => placeOf(work, playback.id, speaker)?.as !== 'sound';
  endAll(work, (playback, part) => !isAlarm(playback) && isWaiting(playback, part), {
    status: 'failed',
    reason: 'expired',
  });
}

/** Nothing new begins. What waits stays in the journal for the next start; what sounds may come to its end, for a time. */
export function close(work: Work): void {
  if (work.closing !== undefined) return;
  work.closing = 'waits';
  for (const [lane, { sound }] of [...work.lanes]) {
    putBack(work, lane);
    if (sound?.stage === 'busy') settle(work, lane, { status: 'cancelled', reason: 'preempted' });
  }
  setTimer(work, { kind: 'close', of: '' }, work.plan.limits.closeMs);
  setTimer(work, { kind: 'close_alarms', of: '' }, work.plan.limits.closeAlarmMs);
}
