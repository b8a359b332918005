import type { DeviceId, PlaybackReason } from '#site/model/index.ts';
import { driverFailures } from '../driver.ts';
import { endPart, waitAgain, waiting } from './queue.ts';
import { beginsAgain, isTried } from './rank.ts';
import { noteQuiet, noteSound } from './sounding.ts';
import type { Ending, LaneSound, Part } from './types.ts';
import {
  clearTimer,
  isUnhealthy,
  partOf,
  playbackOf,
  setLane,
  setPart,
  setTimer,
  speakerPlan,
  type Work,
} from './work.ts';

export const soundIn = (work: Work, lane: string): LaneSound | undefined => work.lanes.get(lane)?.sound;

export function changeSound(work: Work, lane: string, changes: Partial<LaneSound>): void {
  const { sound, ...rest } = work.lanes.get(lane) ?? {};
  if (sound !== undefined) setLane(work, lane, { ...rest, sound: { ...sound, ...changes } });
}

/** The first sample was handed over; also of one that is to stop already. */
export function begins(work: Work, lane: string, sound: LaneSound): void {
  const { run, playback, speaker, lengthMs, stage } = sound;
  const isStopping = stage === 'stopping';
  changeSound(work, lane, { soundedAt: work.at.mono, stage: isStopping ? stage : 'playing' });
  const { reason: _, ...part } = partOf(playbackOf(work, playback), speaker);
  setPart(work, playback, { ...part, status: 'playing', startedAt: work.at });
  noteSound(work, playbackOf(work, playback));
  clearTimer(work, { kind: 'start', of: `${run}` });
  if (isStopping) return;
  setTimer(work, { kind: 'playing', of: `${run}` }, lengthMs * 1.1 + work.plan.limits.slackMs);
}

/**
 * Orders silence, within the time of the driver or less. Of several orders the shortest time counts; one to make way gives
 * way to any other reason.
 */
export function stopSound(work: Work, lane: string, ending: Ending, withinMs = Number.POSITIVE_INFINITY): void {
  const sound = soundIn(work, lane);
  if (sound === undefined) return;
  if (sound.stage === 'busy') {
    settle(work, lane, ending);
    return;
  }
  const { run } = sound;
  const { stopMs: its = work.plan.limits.silenceMs, byOrder } = speakerPlan(work, sound.speaker) ?? {};
  const stopMs = byOrder === true ? its : Math.min(its, withinMs);
  const keeps = sound.ending !== undefined && sound.ending.reason !== 'preempted';
  changeSound(work, lane, { stage: 'stopping', ending: keeps ? sound.ending : ending });
  for (const kind of ['start', 'busy', 'playing'] as const) clearTimer(work, { kind, of: `${run}` });
  const due = work.timers.get(`stop:${run}`);
  if (due !== undefined && due - work.at.mono <= stopMs) return;
  work.effects.push({ kind: 'stop', run, withinMs: stopMs });
  setTimer(work, { kind: 'stop', of: `${run}` }, stopMs);
}

/** What may sound on was not ended, whoever wanted it so (safety 9). One that was to make way is replaced by what it made way for. */
export const notSilenced = (ending: Ending): Ending =>
  ending.reason === 'preempted' ? ending : { status: 'failed', reason: 'timeout' };

/** It did not answer in time: it ends now, and counts as silent. */
export function killSound(work: Work, lane: string, ending: Ending): void {
  const sound = soundIn(work, lane);
  if (sound === undefined) return;
  if (sound.stage !== 'busy') work.effects.push({ kind: 'kill', run: sound.run });
  const { soundedAt } = sound;
  settle(work, lane, ending, soundedAt === undefined ? {} : { playedMs: work.at.mono - soundedAt });
}

/** The lane is silent, and free. */
export function settle(work: Work, lane: string, how: Ending | 'completed', more: Partial<Part> = {}): void {
  const { sound, ...rest } = work.lanes.get(lane) ?? {};
  if (sound === undefined) return;
  const { run, playback: id, speaker } = sound;
  for (const kind of ['start', 'busy', 'playing', 'stop'] as const) clearTimer(work, { kind, of: `${run}` });
  if (sound.stage === 'busy') work.effects.push({ kind: 'drop', run });
  setLane(work, lane, rest);
  const playback = playbackOf(work, id);
  const hasSounded = sound.soundedAt !== undefined;
  if (hasSounded) noteQuiet(work, playback);
  if (how === 'completed') noteWell(work, speaker);
  else noteFailure(work, speaker, how.reason);
  const playedMs = Math.round(Math.max(0, Math.min(more.playedMs ?? 0, sound.lengthMs)));
  const part = hasSounded ? { ...more, playedMs } : {};
  const isCut = how !== 'completed' && how.reason === 'preempted';
  const { cuts } = partOf(playback, speaker);
  if (isCut && !hasSounded) waitAgain(work, id, speaker);
  else if (isCut && beginsAgain(playback, cuts)) waitAgain(work, id, speaker, true);
  else endPart(work, id, speaker, how, part);
}

const ofDevice: readonly PlaybackReason[] = driverFailures;

function noteFailure(work: Work, speaker: DeviceId, reason: PlaybackReason): void {
  if (ofDevice.includes(reason)) noteIll(work, speaker);
}

/** A failure of the device. So many in a row make it unhealthy: what waits for it ends, alarms and tests alone are still tried. */
export function noteIll(work: Work, speaker: DeviceId): void {
  const was = isUnhealthy(work, speaker);
  work.failures.set(speaker, Math.min((work.failures.get(speaker) ?? 0) + 1, work.plan.limits.failures));
  if (was || !isUnhealthy(work, speaker)) return;
  work.effects.push({ kind: 'health', speaker, healthy: false });
  for (const { playback } of waiting(work, (part, one) => part.speaker === speaker && !isTried(one)))
    endPart(work, playback.id, speaker, { status: 'failed', reason: 'unhealthy' });
}

export function noteWell(work: Work, speaker: DeviceId): void {
  const was = isUnhealthy(work, speaker);
  work.failures.delete(speaker);
  if (was) work.effects.push({ kind: 'health', speaker, healthy: true });
}
